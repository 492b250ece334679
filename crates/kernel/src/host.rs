//! Checks what this machine's kernel is and allows.

use crate::btf::Btf;
use crate::loader::Ops;
use crate::{Error, refuse, sys};
use serde::Serialize;
use std::fs;
use std::path::PathBuf;

/// Where to look. Tests replace places and values.
#[derive(Clone, Debug)]
pub struct Host {
    pub release: String,
    /// Effective capabilities, one bit each.
    pub capabilities: u64,
    pub lockdown: PathBuf,
    pub btf: PathBuf,
    pub bpffs: PathBuf,
    /// The folder of `tcp_congestion_control` and its kin.
    pub settings: PathBuf,
    /// True to use links where the kernel has them.
    pub links: bool,
}

/// One thing that loading needs.
#[derive(Debug, Serialize)]
pub struct Check {
    pub what: &'static str,
    pub ok: bool,
    /// The value found and, if it does not suffice, the remedy.
    pub found: String,
}

/// The first kernel that relocates CO-RE itself and lets programs write the pacing rate.
const OLDEST: (u32, u32) = (6, 1);

const CAPABILITIES: [(&str, u32); 3] = [("CAP_NET_ADMIN", 12), ("CAP_PERFMON", 38), ("CAP_BPF", 39)];
const CAP_SYS_ADMIN: u32 = 21;

/// The check for kernels that load hooks but do not always run them.
const HOOKS: &str = "hooks";

impl Host {
    pub fn this() -> Host {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let status = read("/proc/self/status");
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        Host {
            release: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            capabilities: capabilities
                .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
                .unwrap_or_default(),
            lockdown: "/sys/kernel/security/lockdown".into(),
            btf: "/sys/kernel/btf/vmlinux".into(),
            bpffs: "/sys/fs/bpf".into(),
            settings: "/proc/sys/net/ipv4".into(),
            links: true,
        }
    }

    fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }

    fn setting(&self, name: &str) -> String {
        fs::read_to_string(self.settings.join(name)).unwrap_or_default().trim().to_owned()
    }

    /// Names that sockets can choose or that modules have.
    pub fn available(&self) -> Vec<String> {
        let list = self.setting("tcp_available_congestion_control");
        list.split_whitespace().map(str::to_owned).collect()
    }

    /// The algorithm of sockets that do not choose one.
    pub fn default(&self) -> String {
        self.setting("tcp_congestion_control")
    }

    /// Sets the former default, or reno, which every kernel has; returns the one that was set.
    pub fn restore_default(&self, former: Option<&str>) -> Result<String, Error> {
        if let Some(former) = former
            && self.set_default(former).is_ok()
        {
            return Ok(former.to_owned());
        }
        self.set_default("reno").map(|()| "reno".to_owned())
    }

    pub fn set_default(&self, name: &str) -> Result<(), Error> {
        fs::write(self.settings.join("tcp_congestion_control"), name)
            .map_err(|error| refuse(format!("'{name}' does not become the default: {error}")))
    }

    pub fn checks(&self) -> Vec<Check> {
        let mut checks = Vec::new();
        let mut check = |what, ok: bool, found: String, advice: &str| {
            let found = if ok { found } else { format!("{found}; {advice}") };
            checks.push(Check { what, ok, found });
        };
        check(
            "eBPF objects",
            !crate::OBJECTS.is_empty(),
            format!("{} algorithms in this build", crate::OBJECTS.len()),
            "in a clone: make kernel",
        );
        check(
            "kernel",
            self.version().is_some_and(|version| version >= OLDEST),
            format!("Linux {}", self.release),
            "6.1 or newer is needed",
        );
        let btf = fs::read(&self.btf);
        check(
            "type information",
            btf.is_ok(),
            match &btf {
                Ok(bytes) => format!("{} ({} kB)", self.btf.display(), bytes.len() / 1000),
                Err(_) => format!("no {}", self.btf.display()),
            },
            "the kernel has to be built with CONFIG_DEBUG_INFO_BTF, as distributions' are",
        );
        if let Ok(bytes) = &btf {
            let ops = Btf::parse(bytes).and_then(|btf| Ops::find(&btf));
            check(
                "struct_ops",
                ops.is_some(),
                match &ops {
                    None => "not for TCP",
                    Some(_) => "for TCP congestion control",
                }
                .into(),
                "the kernel has to be built with CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT",
            );
            if let Some(Ops { leaves_out, .. }) = ops {
                check(
                    HOOKS,
                    !leaves_out,
                    match leaves_out {
                        true => "this kernel skips them while process 1 runs, so that windows go wrong",
                        false => "run in every process",
                    }
                    .into(),
                    "use another kernel (docs/kernel.md), or try it with 'cwnd kernel load --force'",
                );
            }
        }
        let has = |bit: u32| self.capabilities >> bit & 1 == 1;
        let missing: Vec<&str> = CAPABILITIES
            .iter()
            .filter(|(_, bit)| !(has(*bit) || has(CAP_SYS_ADMIN) && *bit != 12))
            .map(|(name, _)| *name)
            .collect();
        check(
            "privileges",
            missing.is_empty(),
            if missing.is_empty() { "enough".into() } else { format!("no {}", missing.join(", ")) },
            "be root, as with sudo",
        );
        let lockdown = fs::read_to_string(&self.lockdown).unwrap_or_default();
        check(
            "lockdown",
            !lockdown.contains("[confidentiality]"),
            match lockdown.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
                Some((mode, _)) => mode.to_owned(),
                None => "none".to_owned(),
            },
            "boot with lockdown=integrity or without it",
        );
        let mounted = sys::is_bpffs(&self.bpffs);
        check(
            "BPF file system",
            mounted || (self.bpffs.is_dir() && has(CAP_SYS_ADMIN)),
            match mounted {
                true => format!("{}", self.bpffs.display()),
                false => format!("not mounted; loading mounts it on {}", self.bpffs.display()),
            },
            "mount -t bpf bpf /sys/fs/bpf",
        );
        checks
    }

    /// An error for the first fault that makes loading impossible, even by force.
    pub fn check(&self) -> Result<(), Error> {
        self.first_fault(|check| check.what != HOOKS)
    }

    /// An error for the first fault.
    pub fn check_all(&self) -> Result<(), Error> {
        self.first_fault(|_| true)
    }

    fn first_fault(&self, counts: impl Fn(&Check) -> bool) -> Result<(), Error> {
        match self.checks().into_iter().find(|check| !check.ok && counts(check)) {
            Some(check) => Err(refuse(format!("{}: {}", check.what, check.found))),
            None => Ok(()),
        }
    }
}
