//! Algorithms are loaded into the running kernel and unloaded; what cannot be done is refused in one line.

use cwnd_algorithms::{Algorithm, all, find};
use cwnd_kernel::{Error, Host, load, loaded, status, unload};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The kernel is one; tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// The machine, if algorithms can be loaded there.
fn host() -> Option<(Host, MutexGuard<'static, ()>)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let host = Host::this();
    match host.check() {
        Ok(()) => Some((host, turn)),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn load_default(host: &Host, algorithm: &Algorithm, name: &str) -> Result<(), Error> {
    load(host, algorithm, &algorithm.defaults(), name, false, true)
}

/// Unloads an algorithm even if the test fails.
struct UnloadAtEnd<'a>(&'a Host, String);

impl Drop for UnloadAtEnd<'_> {
    fn drop(&mut self) {
        let _ = unload(self.0, &self.1);
    }
}

fn refusal<T>(outcome: Result<T, Error>) -> String {
    let text = outcome.err().expect("it must be refused").to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn reno() -> Algorithm {
    find("reno").unwrap()
}

#[test]
fn every_algorithm_loads_under_a_name_of_ours_and_is_unloaded_again() {
    let Some((host, _turn)) = host() else { return };
    let before = loaded(&host);
    let algorithms = all();
    let name = |number: usize| format!("cwnd_t{number}");
    let _out: Vec<UnloadAtEnd> =
        (0..algorithms.len()).map(|number| UnloadAtEnd(&host, name(number))).collect();
    for (number, algorithm) in algorithms.iter().enumerate() {
        load_default(&host, algorithm, &name(number))
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", algorithm.name, error.log));
    }
    let known = status(&host).unwrap();
    for (number, algorithm) in algorithms.iter().enumerate() {
        let name = name(number);
        let found = known.iter().find(|found| found.name == name).unwrap();
        assert_eq!((found.algorithm.as_ref(), found.users, found.default), (Some(&algorithm.name), 0, false));
        let mut params = algorithm.show(&algorithm.defaults());
        // A kernel reports no single losses.
        params
            .iter_mut()
            .filter(|(param, _)| *param == "samples")
            .for_each(|(_, value)| *value = "mainline".to_owned());
        let shown: Vec<(&str, String)> =
            found.params.iter().map(|(param, value)| (param.as_str(), value.clone())).collect();
        assert_eq!(shown, params);
        assert!(found.hooks.iter().any(|hook| hook.name == "undo_cwnd"), "{name}");
        assert!(found.hooks.iter().all(|hook| hook.verified_insns > 0 && hook.verified_insns < 1_000_000));
        assert!(host.available().contains(&name));
        unload(&host, &name).unwrap();
        assert!(!host.available().contains(&name));
    }
    assert_eq!(loaded(&host), before);
}

#[test]
fn parameters_and_taken_names_are_reported() {
    let Some((host, _turn)) = host() else { return };
    let elastic = find("elastic").unwrap();
    let mut params = elastic.defaults();
    elastic.set(&mut params, "beta", "0.5").unwrap();
    let _out = UnloadAtEnd(&host, "cwnd_half".into());
    load(&host, &elastic, &params, "cwnd_half", false, true).unwrap();
    let found = status(&host).unwrap().into_iter().find(|found| found.name == "cwnd_half").unwrap();
    assert!(found.params.contains(&("beta".into(), "0.5".into())));
    let text = refusal(load_default(&host, &reno(), "cwnd_half"));
    assert!(text.contains("is loaded already") && text.contains("cwnd kernel unload cwnd_half"), "{text}");
    unload(&host, "cwnd_half").unwrap();
    let text = refusal(load_default(&host, &reno(), "reno"));
    assert!(text.contains("the kernel has a 'reno' already") && text.contains("--as"), "{text}");
    let text = refusal(unload(&host, "cwnd_half"));
    assert!(text.contains("'cwnd_half' is not loaded"), "{text}");
}

#[test]
fn without_links_the_registration_is_kept_and_removed() {
    let Some((host, _turn)) = host() else { return };
    let host = Host { links: false, ..host };
    let _out = UnloadAtEnd(&host, "cwnd_old".into());
    load_default(&host, &reno(), "cwnd_old").unwrap();
    assert!(host.available().iter().any(|name| name == "cwnd_old"));
    assert_eq!(status(&host).unwrap().iter().find(|found| found.name == "cwnd_old").unwrap().users, 0);
    unload(&host, "cwnd_old").unwrap();
    assert!(!host.available().iter().any(|name| name == "cwnd_old"));
}

/// A folder that is removed with all it holds.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("cwnd-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_a_killed_load_left_is_reported_and_removed_while_others_stay() {
    let Some((host, _turn)) = host() else { return };
    let pins = host.bpffs.join("cwnd");
    let names = ["cwnd_empty", "cwnd_unlinked", "cwnd_well", "cwnd_params"];
    let _out = names.map(|name| UnloadAtEnd(&host, name.into()));
    for name in &names[1..] {
        load_default(&host, &reno(), name).unwrap();
    }
    // As kills between two steps leave it; the last folder is damaged otherwise.
    fs::create_dir(pins.join("cwnd_empty")).unwrap();
    fs::remove_file(pins.join("cwnd_unlinked/link")).unwrap();
    fs::remove_file(pins.join("cwnd_params/params")).unwrap();
    let faults = |host: &Host| -> Vec<(String, String)> {
        let known = status(host).unwrap().into_iter().filter(|one| names.contains(&&*one.name));
        known.map(|one| (one.name, one.fault.unwrap_or_default())).collect()
    };
    let killed = "left by a load or unload that was killed";
    let found = faults(&host);
    let expected = ["cwnd_empty", "cwnd_params", "cwnd_unlinked", "cwnd_well"];
    assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected);
    assert_eq!((&*found[0].1, &*found[2].1, &*found[3].1), (killed, killed, ""));
    assert!(found[1].1.contains("cwnd/cwnd_params: No such file"), "{}", found[1].1);
    // A remainder does not keep its name from a new load.
    load_default(&host, &reno(), "cwnd_empty").unwrap();
    assert_eq!(faults(&host)[0].1, "");
    for name in names {
        unload(&host, name).unwrap();
        assert!(!pins.join(name).exists() && !host.available().iter().any(|known| known == name));
    }
}

#[test]
fn defaults_unloaded_in_any_order_leave_the_one_that_was_there() {
    let Some((host, _turn)) = host() else { return };
    let settings = Scratch::new("defaults");
    let default = settings.0.join("tcp_congestion_control");
    let host = Host { settings: settings.0.clone(), ..host };
    let names = ["cwnd_a", "cwnd_b", "cwnd_c"];
    let _out = names.map(|name| UnloadAtEnd(&host, name.into()));
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        fs::write(&default, "vegas").unwrap();
        for name in names {
            load(&host, &reno(), &reno().defaults(), name, true, true).unwrap();
            assert_eq!(host.default(), name);
        }
        let mut left = vec![0, 1, 2];
        for out in order {
            let was = host.default();
            let restored = unload(&host, names[out]).unwrap();
            left.retain(|&one| one != out);
            // The latest of those that are left.
            let expected = left.last().map_or("vegas", |&latest| names[latest]);
            assert_eq!(host.default(), expected, "{order:?}");
            assert_eq!(restored.as_deref(), (was == names[out]).then_some(expected));
        }
    }
}

#[test]
fn a_default_that_the_kernel_no_longer_has_gives_way_to_reno() {
    let Some((host, _turn)) = host() else { return };
    let real = host.default();
    let settings = Scratch::new("gone");
    let faked = Host { settings: settings.0.clone(), ..host.clone() };
    fs::write(settings.0.join("tcp_congestion_control"), "cwnd_gone").unwrap();
    let _out = UnloadAtEnd(&host, "cwnd_last".into());
    load_default(&faked, &reno(), "cwnd_last").unwrap();
    host.set_default("cwnd_last").unwrap();
    let restored = unload(&host, "cwnd_last");
    let left = host.default();
    host.set_default(&real).unwrap();
    assert_eq!((restored.unwrap().as_deref(), &*left), (Some("reno"), "reno"));
}

/// The kernel's types with `from` called `to`, which has as many letters.
fn renamed(scratch: &Path, from: &str, to: &str) -> PathBuf {
    let mut types = fs::read(Host::this().btf).unwrap();
    let from = format!("\0{from}\0");
    let found: Vec<usize> =
        (0..types.len() - from.len()).filter(|&at| types[at..].starts_with(from.as_bytes())).collect();
    for at in found {
        types[at + 1..][..to.len()].copy_from_slice(to.as_bytes());
    }
    let file = scratch.join(to);
    fs::write(&file, types).unwrap();
    file
}

#[test]
fn a_kernel_that_leaves_hooks_out_is_refused_unless_forced() {
    let Some((host, _turn)) = host() else { return };
    let scratch = Scratch::new("types");
    // Members of struct bpf_prog_aux: what such kernels have, and what all have.
    let sound = Host { btf: renamed(&scratch.0, "init_owned", "init_other"), ..host.clone() };
    let quirky = Host { btf: renamed(&scratch.0, "attach_btf", "init_owned"), ..host };
    let load = |host: &Host, force| load(host, &reno(), &reno().defaults(), "cwnd_quirk", false, force);
    let _out = UnloadAtEnd(&sound, "cwnd_quirk".into());
    let hooks = |host: &Host| host.checks().into_iter().find(|check| check.what == "hooks").unwrap();
    assert!(hooks(&sound).ok && !hooks(&quirky).ok);
    load(&sound, false).unwrap();
    unload(&sound, "cwnd_quirk").unwrap();
    let text = refusal(load(&quirky, false));
    assert!(text.contains("hooks: this kernel skips them") && text.contains("--force"), "{text}");
    assert!(!loaded(&quirky).contains(&"cwnd_quirk".to_owned()));
    load(&quirky, true).unwrap();
    // What is loaded in such a kernel can be shown and unloaded.
    assert!(status(&quirky).unwrap().iter().any(|one| one.name == "cwnd_quirk"));
    unload(&quirky, "cwnd_quirk").unwrap();
}

#[test]
fn an_algorithm_is_refused_whose_marks_the_kernel_does_not_give_unless_forced() {
    let Some((host, _turn)) = host() else { return };
    let prague = find("prague").unwrap();
    let load = |force| load(&host, &prague, &prague.defaults(), "cwnd_marks", false, force);
    let _out = UnloadAtEnd(&host, "cwnd_marks".into());
    let text = refusal(load(false));
    assert!(text.contains("ECT(1)") && text.contains("--force"), "{text}");
    load(true).unwrap();
}

#[test]
fn names_that_the_kernel_would_not_take_are_refused() {
    for name in ["", "with-dash", "a/b", "..", "sixteen_letters_", "ä", "a b", "a\n"] {
        let text = refusal(load_default(&Host::this(), &reno(), name));
        assert!(text.contains("1 to 15 letters, digits and '_'"), "{text}");
    }
}

#[test]
fn what_a_machine_lacks_is_put_in_words() {
    let nowhere = PathBuf::from("/nowhere");
    let able = Host { release: "6.8.0-45-generic".into(), capabilities: !0, ..Host::this() };
    let lockdown = std::env::temp_dir().join("cwnd-lockdown");
    std::fs::write(&lockdown, "none integrity [confidentiality]\n").unwrap();
    let lacking = [
        (
            Host { release: "5.15.0-91-generic".into(), ..able.clone() },
            "Linux 5.15.0-91-generic; 6.1 or newer",
        ),
        (Host { release: "6.0.19".into(), ..able.clone() }, "Linux 6.0.19; 6.1 or newer is needed"),
        (Host { btf: nowhere.clone(), ..able.clone() }, "no /nowhere; the kernel has to be built with"),
        (Host { btf: "/proc/version".into(), ..able.clone() }, "not for TCP"),
        (Host { capabilities: 0, ..able.clone() }, "no CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF; be root"),
        (Host { capabilities: 1 << 21, ..able.clone() }, "no CAP_NET_ADMIN; be root"),
        (Host { lockdown, ..able.clone() }, "confidentiality; boot with"),
        (Host { bpffs: nowhere, ..able }, "mount -t bpf bpf /sys/fs/bpf"),
    ];
    for (host, said) in lacking {
        let missing: Vec<String> =
            host.checks().into_iter().filter(|check| !check.ok).map(|check| check.found).collect();
        assert!(missing.iter().any(|found| found.contains(said)), "{said}: {missing:?}");
        let text = refusal(load_default(&host, &reno(), "cwnd_not"));
        assert!(missing.iter().any(|found| text.contains(found)), "{text}");
    }
}
