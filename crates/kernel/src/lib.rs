//! The algorithms in the running kernel: loads and unloads them as eBPF programs for `struct tcp_congestion_ops`.
//!
//! A loaded algorithm outlives this process: `/sys/fs/bpf/cwnd/NAME` holds its registration and its parameters.

mod btf;
mod host;
mod loader;
mod object;
mod sys;
pub mod testing;
mod trace;

pub use host::{Check, Host};
pub use sys::Call;
pub use trace::{Connection, ConnectionTrace, Filter, TraceSamples};

use btf::Btf;
use cwnd_algorithms::{Algorithm, Params};
use loader::{LINK, MAP, Ops};
use serde::Serialize;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, fs, io, thread};

/// An object for each algorithm, by its name; empty if there was no compiler for BPF.
const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/ops.rs"));

/// Longest name of an algorithm in the kernel.
const NAME_BYTES_MAX: usize = 15;

/// Why something was refused: one line, with what to do.
#[derive(Clone, Debug)]
pub struct Error {
    text: String,
    /// The end of the verifier's log, if the verifier refused.
    pub log: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

fn refuse(text: impl Into<String>) -> Error {
    Error { text: text.into(), log: String::new() }
}

/// A loaded algorithm, or the remains of a load or unload that was killed.
#[derive(Debug, Default, Serialize)]
pub struct Status {
    /// Its name for sockets.
    pub name: String,
    /// None if there is a fault.
    pub algorithm: Option<String>,
    pub params: Vec<(String, String)>,
    /// Sockets that use it, plus namespaces whose default it is.
    pub users: u32,
    /// True if sockets that do not choose an algorithm use this one.
    pub default: bool,
    /// If it is the default: the algorithm that becomes the default when it is unloaded.
    pub former_default: Option<String>,
    pub hooks: Vec<HookStatus>,
    /// Why nothing more is known; unloading removes the remains.
    pub fault: Option<String>,
}

/// A hook of a loaded algorithm.
#[derive(Debug, Serialize)]
pub struct HookStatus {
    pub name: String,
    pub program_id: u32,
    pub insns: u32,
    /// Instructions that the verifier walked.
    pub verified_insns: u32,
    /// Calls, counted while `kernel.bpf_stats_enabled` is 1.
    pub calls: u64,
    pub total_ns: u64,
}

/// Loads `algorithm` as `name`, which stays until it is unloaded or the machine stops. `force`: even into a
/// kernel that does not always run the hooks, or does not give the algorithm the marks that it needs.
pub fn load(
    host: &Host,
    algorithm: &Algorithm,
    params: &Params,
    name: &str,
    default: bool,
    force: bool,
) -> Result<(), Error> {
    check_name(name)?;
    if force {
        host.check()?
    } else {
        check_marks(algorithm)?;
        host.check_all()?
    }
    let (_, elf) =
        OBJECTS.iter().find(|(known, _)| *known == algorithm.name).expect("one for each algorithm");
    let params = in_kernel(algorithm, params)?;
    load_object(host, elf, &algorithm.name, params.stored(), needs_ecn(algorithm), name, default)
}

/// Returns true if connections with the algorithm ask for ECN by an ECN-capable SYN, which only a receiver with such an
/// algorithm agrees to.
pub fn needs_ecn(algorithm: &Algorithm) -> bool {
    algorithm.kind == "ecn"
}

/// Kernels give ECT(1) and accurate ECN (RFC 9768) to none of the algorithms that come as eBPF.
fn check_marks(algorithm: &Algorithm) -> Result<(), Error> {
    if algorithm.kind != "l4s" {
        return Ok(());
    }
    Err(refuse(format!(
        "{}: it needs counted marks of ECT(1), which no kernel up to 6.18 gives it, and with classic marks it reduces too much; \
         load dctcp where all queues mark early, or try it with --force",
        algorithm.name
    )))
}

/// Sets the parameters that a kernel needs: it reports no single losses, so where an algorithm has the choice it takes the
/// kernel's counters.
fn in_kernel(algorithm: &Algorithm, params: &Params) -> Result<Params, Error> {
    let mut params = params.clone();
    if algorithm.params.iter().any(|param| param.name == "samples") {
        algorithm.set(&mut params, "samples", "mainline").map_err(|error| refuse(error.to_string()))?;
    }
    Ok(params)
}

/// An algorithm that a kernel is to have under `name`.
pub struct Registration<'a> {
    pub algorithm: &'a Algorithm,
    pub params: &'a Params,
    pub name: &'a str,
}

/// The calls that register algorithms in a kernel whose types `btf` describes, for as long as the process that makes them
/// lives. Each descriptor that must stay open has a number of its own. The kernel must have links: Linux 6.4.
pub fn script(registrations: &[Registration], btf: &[u8]) -> Result<Vec<Call>, Error> {
    let types = Btf::parse(btf).ok_or_else(|| refuse("not BTF that can be read"))?;
    let ops = Ops::find(&types).ok_or_else(|| refuse("this kernel's TCP takes no algorithms as eBPF"))?;
    let (links, calls) = sys::record(|| {
        registrations.iter().map(|each| register(each, &types, &ops)).collect::<Result<Vec<_>, Error>>()
    });
    links.map(|_| calls)
}

fn register(registration: &Registration, types: &Btf, ops: &Ops) -> Result<OwnedFd, Error> {
    let Registration { algorithm, params, name } = *registration;
    check_name(name)?;
    let object = OBJECTS.iter().find(|(known, _)| *known == algorithm.name);
    let (_, elf) = object.ok_or_else(|| refuse("this build has no eBPF objects; in a clone: make kernel"))?;
    let params = in_kernel(algorithm, params)?;
    let mut programs = loader::programs(elf, &algorithm.name, params.stored(), types, ops)?;
    programs.needs_ecn = needs_ecn(algorithm);
    loader::link(&programs, name, ops).map_err(|error| refuse(error.to_string()))
}

fn load_object(
    host: &Host,
    elf: &[u8],
    algorithm: &str,
    params: &[u32],
    needs_ecn: bool,
    name: &str,
    default: bool,
) -> Result<(), Error> {
    if !sys::is_bpffs(&host.bpffs) {
        sys::mount_bpffs(&host.bpffs)
            .map_err(|error| refuse(format!("{} cannot be mounted: {error}", host.bpffs.display())))?;
    }
    let root = root(host);
    let folder = root.join(name);
    let failed = |error: io::Error| refuse(format!("{}: {error}", folder.display()));
    fs::create_dir_all(&root).map_err(|error| refuse(format!("{}: {error}", root.display())))?;
    let _lock = lock(host)?;
    if is_remainder(&folder) {
        remove(&folder).map_err(failed)?;
    }
    if loaded(host).iter().any(|loaded| loaded == name) {
        return Err(refuse(format!(
            "'{name}' is loaded already; 'cwnd kernel unload {name}' first, or choose another name with --as"
        )));
    }
    if host.available().iter().any(|taken| taken == name) {
        return Err(taken(name));
    }
    let types = fs::read(&host.btf).map_err(|error| refuse(format!("{}: {error}", host.btf.display())))?;
    let types = Btf::parse(&types).expect("checked with the host");
    let ops = Ops::find(&types).expect("checked with the host");
    let mut programs = loader::programs(elf, algorithm, params, &types, &ops)?;
    programs.needs_ecn = needs_ecn;
    let outcome =
        keep(&folder, programs.map(".rodata.params"), &host.default()).map_err(failed).and_then(|()| {
            loader::register(&programs, name, &ops, host.links, &folder).map_err(|error| {
                match error.raw_os_error() {
                    Some(libc::EEXIST) => taken(name),
                    _ => refuse(format!("the kernel does not register '{name}': {error}")),
                }
            })?;
            if default { host.set_default(name) } else { Ok(()) }
        });
    if outcome.is_err() {
        // The first failure is the one to report.
        let _ = remove(&folder);
    }
    outcome
}

fn taken(name: &str) -> Error {
    refuse(format!("the kernel has a '{name}' already; choose another name with --as, such as my_{name}"))
}

fn check_name(name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(plain) {
        let shown: String = name.chars().flat_map(char::escape_default).take(40).collect();
        return Err(refuse(format!(
            "'{shown}' is no name for the kernel; 1 to {NAME_BYTES_MAX} letters, digits and '_'"
        )));
    }
    Ok(())
}

fn root(host: &Host) -> PathBuf {
    host.bpffs.join("cwnd")
}

/// One change at a time. `None`: nothing was ever loaded.
fn lock(host: &Host) -> Result<Option<fs::File>, Error> {
    let root = root(host);
    match sys::lock(&root) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refuse(format!("{}: {error}", root.display()))),
    }
}

const PARAMS: &str = "params";
const FORMER: &str = "former_default";

/// Pins what is known about an algorithm: before it is registered, and until after it is unregistered. So a folder
/// without a registration, as a kill leaves it, belongs to nothing in use.
fn keep(folder: &Path, params: &OwnedFd, former: &str) -> io::Result<()> {
    fs::create_dir(folder)?;
    sys::pin(params, &folder.join(PARAMS))?;
    let former = name_bytes(former);
    let map = sys::create_map(&sys::MapSpec::of_one(sys::MAP_ARRAY, FORMER, former.len(), 0))?;
    sys::update(&map, &former)?;
    sys::pin(&map, &folder.join(FORMER))
}

fn name_bytes(name: &str) -> [u8; NAME_BYTES_MAX + 1] {
    let mut bytes = [0; NAME_BYTES_MAX + 1];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes
}

/// The struct_ops map that a folder keeps registered; `None`: there is none.
fn registration(folder: &Path) -> io::Result<Option<OwnedFd>> {
    /// State of `enum bpf_struct_ops_state`, in the second word of the value of a map without a link.
    const IN_USE: usize = 1;
    let pinned = |name| match sys::pinned(&folder.join(name)) {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    if let Some(link) = pinned(LINK)? {
        return sys::map_by_id(sys::link_map(&link)?).map(Some);
    }
    let Some(map) = pinned(MAP)? else { return Ok(None) };
    let is_registered = btf::word(&sys::lookup(&map)?, 4) == IN_USE;
    Ok(is_registered.then_some(map))
}

/// Returns true for a folder that a killed load or unload left behind.
fn is_remainder(folder: &Path) -> bool {
    folder.is_dir() && matches!(registration(folder), Ok(None))
}

/// Removes from the kernel what a folder keeps, then the folder.
fn remove(folder: &Path) -> io::Result<()> {
    if let Ok(map) = sys::pinned(&folder.join(MAP)) {
        match sys::delete(&map) {
            // It was never registered, or is being removed already.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINPROGRESS)) => {}
            outcome => outcome?,
        }
    }
    for registration in [LINK, MAP] {
        match fs::remove_file(folder.join(registration)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            outcome => outcome?,
        }
    }
    fs::remove_dir_all(folder)
}

/// The names of loaded algorithms, and of the remains of killed loads and unloads.
pub fn loaded(host: &Host) -> Vec<String> {
    let Ok(folders) = fs::read_dir(root(host)) else { return Vec::new() };
    let mut names: Vec<String> = folders
        .flatten()
        .filter(|folder| folder.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|folder| folder.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Unloads `name`. Connections that use it keep it until they close. If it is the default, the default from before it
/// was loaded comes back, and is returned.
pub fn unload(host: &Host, name: &str) -> Result<Option<String>, Error> {
    host.check()?;
    let _lock = lock(host)?;
    let names = loaded(host);
    if !names.iter().any(|loaded| loaded == name) {
        let shown: String = name.chars().flat_map(char::escape_default).take(40).collect();
        return Err(refuse(match names.is_empty() {
            true => format!("'{shown}' is not loaded; nothing is"),
            false => format!("'{shown}' is not loaded; there is {}", names.join(", ")),
        }));
    }
    let folder = root(host).join(name);
    let former = former_default(&folder);
    let restored = match host.default() == name {
        true => Some(host.restore_default(former.as_deref())?),
        false => None,
    };
    if let Some(former) = former {
        // Algorithms that would restore this one as the default restore its predecessor instead.
        for other in names.iter().map(|other| root(host).join(other)) {
            if former_default(&other).is_some_and(|default| default == name) {
                sys::pinned(&other.join(FORMER))
                    .and_then(|map| sys::update(&map, &name_bytes(&former)))
                    .map_err(|error| refuse(format!("{}: {error}", other.display())))?;
            }
        }
    }
    remove(&folder).map_err(|error| refuse(format!("{}: {error}", folder.display())))?;
    // The kernel frees a link a moment after its last reference.
    let end = Instant::now() + Duration::from_secs(2);
    while host.available().iter().any(|known| known == name) && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(restored)
}

fn former_default(folder: &Path) -> Option<String> {
    let text = sys::lookup(&sys::pinned(&folder.join(FORMER)).ok()?).ok()?;
    let text = text.split(|&byte| byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

/// The loaded algorithms, by name, and the remains of killed loads and unloads.
pub fn status(host: &Host) -> Result<Vec<Status>, Error> {
    host.check()?;
    let types = fs::read(&host.btf).map_err(|error| refuse(format!("{}: {error}", host.btf.display())))?;
    let ops = Btf::parse(&types).and_then(|btf| Ops::find(&btf)).expect("checked with the host");
    let default = host.default();
    let _lock = lock(host)?;
    let states = loaded(host).into_iter().map(|name| {
        let folder = root(host).join(&name);
        let known = status_of(&folder, &ops).unwrap_or_else(|error| Status {
            fault: Some(format!("{}: {error}", folder.display())),
            ..Status::default()
        });
        Status { default: name == default, former_default: former_default(&folder), name, ..known }
    });
    Ok(states.collect())
}

fn status_of(folder: &Path, ops: &Ops) -> io::Result<Status> {
    let Some(map) = registration(folder)? else {
        let fault = Some("left by a load or unload that was killed".to_owned());
        return Ok(Status { fault, ..Status::default() });
    };
    let value = sys::lookup(&map)?;
    let users = btf::word(&value, 0) as u32;
    let params = sys::pinned(&folder.join(PARAMS))?;
    let algorithm = sys::map_info(&params)?.name.replace('_', "-");
    let stored: Vec<u32> = sys::lookup(&params)?
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes(word.try_into().expect("four bytes")))
        .collect();
    let known = cwnd_algorithms::find(&algorithm).ok();
    let shown = known.map(|known| {
        let shown = known.params.iter().zip(&stored).map(|(p, &value)| (p.name.to_owned(), p.show(value)));
        shown.collect()
    });
    let mut hooks = Vec::new();
    for (hook, place) in ops.function_places() {
        let id = btf::word(&value, place) as u32;
        if id == 0 {
            continue;
        }
        let info = sys::program_info(&sys::program_by_id(id)?)?;
        hooks.push(HookStatus {
            name: hook.to_owned(),
            program_id: info.id,
            insns: info.insns,
            verified_insns: info.verified_insns,
            calls: info.runs,
            total_ns: info.run_ns,
        });
    }
    Ok(Status {
        algorithm: Some(algorithm),
        params: shown.unwrap_or_default(),
        // The registration is one.
        users: users.saturating_sub(1),
        hooks,
        ..Status::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_a_kill_left_without_its_registration_is_reported_and_removed() {
        let host = Host { links: false, ..Host::this() };
        if let Err(error) = host.check() {
            eprintln!("SKIPPED: {error}");
            return;
        }
        let reno = cwnd_algorithms::find("reno").unwrap();
        let (params, name) = (reno.defaults(), "cwnd_halfway");
        let folder = root(&host).join(name);
        load(&host, &reno, &params, name, false, true).unwrap();
        assert!(!is_remainder(&folder));
        // As an unload that was killed after its first step leaves it.
        sys::delete(&sys::pinned(&folder.join(MAP)).unwrap()).unwrap();
        assert!(is_remainder(&folder));
        unload(&host, name).unwrap();
        assert!(!folder.exists());
        // As a load that was killed before its last step leaves it: the kernel refuses a name that it has.
        let types = fs::read(&host.btf).unwrap();
        let types = Btf::parse(&types).unwrap();
        let ops = Ops::find(&types).unwrap();
        let (_, elf) = OBJECTS.iter().find(|(known, _)| *known == "reno").unwrap();
        let programs = loader::programs(elf, "reno", params.stored(), &types, &ops).unwrap();
        keep(&folder, programs.map(".rodata.params"), "bbr").unwrap();
        loader::register(&programs, "reno", &ops, host.links, &folder).unwrap_err();
        assert!(folder.join(MAP).exists() && is_remainder(&folder));
        let known = status(&host).unwrap();
        let known = known.iter().find(|one| one.name == name).unwrap();
        assert_eq!(known.fault.as_deref(), Some("left by a load or unload that was killed"));
        unload(&host, name).unwrap();
        assert!(!folder.exists());
    }
}
