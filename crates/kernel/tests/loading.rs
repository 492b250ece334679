//! Algorithms go into the running kernel and come out again, and what cannot be done is refused in one line.

use cwnd_algorithms::{Algorithm, all, find};
use cwnd_kernel::{Error, Host, load, loaded, status, unload};
use std::path::PathBuf;
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

fn take_in(host: &Host, algorithm: &Algorithm, name: &str) -> Result<(), Error> {
    load(host, algorithm, &algorithm.defaults(), name, false)
}

/// Comes out again even if a test fails.
struct Out<'a>(&'a Host, String);

impl Drop for Out<'_> {
    fn drop(&mut self) {
        let _ = unload(self.0, &self.1);
    }
}

fn refusal(outcome: Result<(), Error>) -> String {
    let text = outcome.expect_err("it must be refused").to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

fn reno() -> Algorithm {
    find("reno").unwrap()
}

#[test]
fn every_algorithm_loads_under_a_name_of_ours_and_comes_out_again() {
    let Some((host, _turn)) = host() else { return };
    let before = loaded(&host);
    let algorithms = all();
    let name = |number: usize| format!("cwnd_t{number}");
    let _out: Vec<Out> = (0..algorithms.len()).map(|number| Out(&host, name(number))).collect();
    for (number, algorithm) in algorithms.iter().enumerate() {
        take_in(&host, algorithm, &name(number))
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", algorithm.name, error.log));
    }
    let known = status(&host).unwrap();
    for (number, algorithm) in algorithms.iter().enumerate() {
        let name = name(number);
        let told = known.iter().find(|told| told.name == name).unwrap();
        assert_eq!((&told.algorithm, told.users, told.default), (&algorithm.name, 0, false));
        let params = algorithm.show(&algorithm.defaults());
        let shown: Vec<(&str, String)> =
            told.params.iter().map(|(param, value)| (param.as_str(), value.clone())).collect();
        assert_eq!(shown, params);
        assert!(told.hooks.iter().any(|hook| hook.name == "undo_cwnd"), "{name}");
        assert!(told.hooks.iter().all(|hook| hook.verified_insns > 0 && hook.verified_insns < 1_000_000));
        assert!(host.available().contains(&name));
        unload(&host, &name).unwrap();
        assert!(!host.available().contains(&name));
    }
    assert_eq!(loaded(&host), before);
}

#[test]
fn parameters_and_a_name_taken_are_told() {
    let Some((host, _turn)) = host() else { return };
    let elastic = find("elastic").unwrap();
    let mut params = elastic.defaults();
    elastic.set(&mut params, "beta", "0.5").unwrap();
    let _out = Out(&host, "cwnd_half".into());
    load(&host, &elastic, &params, "cwnd_half", false).unwrap();
    let told = status(&host).unwrap().into_iter().find(|told| told.name == "cwnd_half").unwrap();
    assert!(told.params.contains(&("beta".into(), "0.5".into())));
    let text = refusal(take_in(&host, &reno(), "cwnd_half"));
    assert!(text.contains("is loaded already") && text.contains("cwnd kernel unload cwnd_half"), "{text}");
    unload(&host, "cwnd_half").unwrap();
    let text = refusal(take_in(&host, &reno(), "reno"));
    assert!(text.contains("the kernel has a 'reno' already") && text.contains("--as"), "{text}");
    let text = refusal(unload(&host, "cwnd_half"));
    assert!(text.contains("'cwnd_half' is not loaded"), "{text}");
}

#[test]
fn without_links_the_registration_is_kept_and_removed() {
    let Some((host, _turn)) = host() else { return };
    let host = Host { links: false, ..host };
    let _out = Out(&host, "cwnd_old".into());
    take_in(&host, &reno(), "cwnd_old").unwrap();
    assert!(host.available().iter().any(|name| name == "cwnd_old"));
    assert_eq!(status(&host).unwrap().iter().find(|told| told.name == "cwnd_old").unwrap().users, 0);
    unload(&host, "cwnd_old").unwrap();
    assert!(!host.available().iter().any(|name| name == "cwnd_old"));
}

#[test]
fn names_that_the_kernel_would_not_take_are_refused() {
    for name in ["", "with-dash", "a/b", "..", "sixteen_letters_", "ä", "a b", "a\n"] {
        let text = refusal(take_in(&Host::this(), &reno(), name));
        assert!(text.contains("1 to 15 letters, digits and '_'"), "{text}");
    }
}

#[test]
fn what_a_machine_lacks_is_said_in_words() {
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
        let text = refusal(take_in(&host, &reno(), "cwnd_not"));
        assert!(missing.iter().any(|found| text.contains(found)), "{text}");
    }
}
