//! The algorithms in the running kernel: as eBPF programs for `struct tcp_congestion_ops`, taken in and out.
//!
//! What is loaded outlives this process: `/sys/fs/bpf/cwnd/NAME` holds its registration and its parameters.

mod btf;
mod host;
mod loader;
mod object;
mod sys;
pub mod testing;
mod trace;

pub use host::{Check, Host};
pub use trace::{Connection, Samples, Trace, Wanted};

use btf::Btf;
use cwnd_algorithms::{Algorithm, Params};
use loader::{Ops, Registered};
use serde::Serialize;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, fs, io, thread};

/// An object for each algorithm, by its name; none if there was no compiler for BPF.
const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/ops.rs"));

/// Of the name in the kernel.
const NAME_BYTES_MAX: usize = 15;

/// Why it was refused: one line that says what to do.
#[derive(Clone, Debug)]
pub struct Error {
    text: String,
    /// The end of the verifier's log, if it was the verifier.
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

/// An algorithm that is loaded.
#[derive(Debug, Serialize)]
pub struct Status {
    /// What sockets call it.
    pub name: String,
    pub algorithm: String,
    pub params: Vec<(String, String)>,
    /// Sockets that use it, and namespaces whose default it is.
    pub users: u32,
    /// Is it what sockets have that do not choose?
    pub default: bool,
    /// What was the default before, if loading changed that.
    pub former_default: Option<String>,
    pub hooks: Vec<Hook>,
}

/// A hook of a loaded algorithm.
#[derive(Debug, Serialize)]
pub struct Hook {
    pub name: String,
    pub program_id: u32,
    pub insns: u32,
    /// That the verifier walked.
    pub verified_insns: u32,
    /// Counted while `kernel.bpf_stats_enabled` is 1.
    pub calls: u64,
    pub total_ns: u64,
}

/// Loads `algorithm` as `name`, which stays until it is unloaded or the machine stops.
pub fn load(
    host: &Host,
    algorithm: &Algorithm,
    params: &Params,
    name: &str,
    default: bool,
) -> Result<(), Error> {
    check_name(name)?;
    host.check()?;
    let (_, elf) =
        OBJECTS.iter().find(|(known, _)| *known == algorithm.name).expect("one for each algorithm");
    take_in(host, elf, &algorithm.name, params.stored(), name, default)
}

fn take_in(
    host: &Host,
    elf: &[u8],
    algorithm: &str,
    params: &[u32],
    name: &str,
    default: bool,
) -> Result<(), Error> {
    if !sys::is_bpffs(&host.bpffs) {
        sys::mount_bpffs(&host.bpffs)
            .map_err(|error| refuse(format!("{} cannot be mounted: {error}", host.bpffs.display())))?;
    }
    let folder = root(host).join(name);
    let _lock = lock(host)?;
    if folder.exists() {
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
    let programs = loader::programs(elf, algorithm, params, &types, &ops)?;
    let registered =
        loader::register(&programs, name, &ops, host.links).map_err(|error| match error.raw_os_error() {
            Some(libc::EEXIST) => taken(name),
            _ => refuse(format!("the kernel does not register '{name}': {error}")),
        })?;
    let former = host.default();
    let kept = keep(&folder, &registered, programs.map(".rodata.params"), default.then_some(&former));
    let outcome = kept
        .map_err(|error| refuse(format!("{}: {error}", folder.display())))
        .and_then(|()| if default { host.set_default(name) } else { Ok(()) });
    if outcome.is_err() {
        if let Registered::Map(map) = &registered {
            // What failed first is told.
            let _ = sys::delete(map);
        }
        let _ = forget(&folder);
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

/// One change at a time.
fn lock(host: &Host) -> Result<fs::File, Error> {
    let root = root(host);
    fs::create_dir_all(&root)
        .and_then(|()| sys::lock(&root))
        .map_err(|error| refuse(format!("{}: {error}", root.display())))
}

const LINK: &str = "link";
const MAP: &str = "registration";
const PARAMS: &str = "params";
const FORMER: &str = "former_default";

/// Pins what must outlive this process.
fn keep(folder: &Path, registered: &Registered, params: &OwnedFd, former: Option<&String>) -> io::Result<()> {
    fs::create_dir(folder)?;
    match registered {
        Registered::Link(link) => sys::pin(link, &folder.join(LINK))?,
        Registered::Map(map) => sys::pin(map, &folder.join(MAP))?,
    }
    sys::pin(params, &folder.join(PARAMS))?;
    let Some(former) = former else { return Ok(()) };
    let mut text = [0; NAME_BYTES_MAX + 1];
    text[..former.len()].copy_from_slice(former.as_bytes());
    let map = sys::create_map(&sys::MapSpec::of_one(sys::MAP_ARRAY, FORMER, text.len(), 0))?;
    sys::update(&map, &text)?;
    sys::pin(&map, &folder.join(FORMER))
}

fn forget(folder: &Path) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        fs::remove_file(file?.path())?;
    }
    fs::remove_dir(folder)
}

/// Names of what is loaded.
pub fn loaded(host: &Host) -> Vec<String> {
    let Ok(folders) = fs::read_dir(root(host)) else { return Vec::new() };
    let mut names: Vec<String> =
        folders.flatten().map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Takes `name` out of the kernel. Connections that use it keep it until they close. If it became the default
/// when it was loaded and still is, the former default comes back.
pub fn unload(host: &Host, name: &str) -> Result<(), Error> {
    let names = loaded(host);
    if !names.iter().any(|loaded| loaded == name) {
        if !is_root(host) {
            return host.check();
        }
        let shown: String = name.chars().flat_map(char::escape_default).take(40).collect();
        return Err(refuse(match names.is_empty() {
            true => format!("'{shown}' is not loaded; nothing is"),
            false => format!("'{shown}' is not loaded; there is {}", names.join(", ")),
        }));
    }
    host.check()?;
    let _lock = lock(host)?;
    let folder = root(host).join(name);
    let failed = |error: io::Error| refuse(format!("{}: {error}", folder.display()));
    if host.default() == name
        && let Some(former) = former_default(&folder)
    {
        host.set_default(&former)?;
    }
    if let Ok(map) = sys::pinned(&folder.join(MAP)) {
        sys::delete(&map).map_err(failed)?;
    }
    forget(&folder).map_err(failed)?;
    // The kernel takes a link apart a moment after the last reference to it.
    let end = Instant::now() + Duration::from_secs(2);
    while host.available().iter().any(|known| known == name) && Instant::now() < end {
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn is_root(host: &Host) -> bool {
    fs::read_dir(&host.bpffs).is_ok()
}

fn former_default(folder: &Path) -> Option<String> {
    let text = sys::lookup(&sys::pinned(&folder.join(FORMER)).ok()?).ok()?;
    let text = text.split(|&byte| byte == 0).next()?;
    String::from_utf8(text.to_vec()).ok()
}

/// What is loaded, by name.
pub fn status(host: &Host) -> Result<Vec<Status>, Error> {
    host.check()?;
    let types = fs::read(&host.btf).map_err(|error| refuse(format!("{}: {error}", host.btf.display())))?;
    let ops = Btf::parse(&types).and_then(|btf| Ops::find(&btf)).expect("checked with the host");
    let default = host.default();
    loaded(host)
        .into_iter()
        .map(|name| {
            let folder = root(host).join(&name);
            status_of(&folder, name, &ops, &default)
                .map_err(|error| refuse(format!("{}: {error}", folder.display())))
        })
        .collect()
}

fn status_of(folder: &Path, name: String, ops: &Ops, default: &str) -> io::Result<Status> {
    let map = match sys::pinned(&folder.join(LINK)) {
        Ok(link) => sys::map_by_id(sys::link_map(&link)?)?,
        Err(_) => sys::pinned(&folder.join(MAP))?,
    };
    let value = sys::lookup(&map)?;
    let users = object::word(&value, 0) as u32;
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
        let id = object::word(&value, place) as u32;
        if id == 0 {
            continue;
        }
        let info = sys::program_info(&sys::program_by_id(id)?)?;
        hooks.push(Hook {
            name: hook.to_owned(),
            program_id: info.id,
            insns: info.insns,
            verified_insns: info.verified_insns,
            calls: info.runs,
            total_ns: info.run_ns,
        });
    }
    Ok(Status {
        default: name == default,
        name,
        algorithm,
        params: shown.unwrap_or_default(),
        // The registration is one.
        users: users.saturating_sub(1),
        former_default: former_default(folder),
        hooks,
    })
}
