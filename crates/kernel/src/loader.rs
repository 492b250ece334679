//! Loads an object into the kernel.

use crate::btf::Btf;
use crate::object::{self, Object, Program};
use crate::sys::{self, MapSpec, ProgramSpec};
use crate::{Error, refuse};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// The kernel's side of `struct tcp_congestion_ops`.
pub struct Ops {
    /// Its type, which programs attach to.
    id: u32,
    /// The type of the value of a struct_ops map.
    value_type: u32,
    value_bytes: usize,
    /// The offset of the struct in that value.
    offset: usize,
    /// Name, index and offset of its members, and the arguments of members that are functions.
    members: Vec<(String, usize, Option<usize>)>,
    /// True if this kernel skips programs while process 1 runs, unless process 1 loaded them.
    pub leaves_out: bool,
}

/// `flags`: sockets without privileges may choose it, a namespace may make it its default.
const NON_RESTRICTED: u32 = 1;
const NEEDS_ECN: u32 = 2;

impl Ops {
    pub fn find(btf: &Btf) -> Option<Ops> {
        let id = btf.structure("tcp_congestion_ops")?;
        let value_type = btf.structure("bpf_struct_ops_tcp_congestion_ops")?;
        let offset = btf.members(value_type).into_iter().find(|member| member.name == "data")?.offset;
        let members = btf
            .members(id)
            .into_iter()
            .map(|member| (member.name, member.offset, btf.arguments(member.type_id)))
            .collect();
        let leaves_out = btf
            .structure("bpf_prog_aux")
            .is_some_and(|aux| btf.members(aux).iter().any(|member| member.name == "init_owned"));
        Some(Ops { id, value_type, value_bytes: btf.size(value_type), offset, members, leaves_out })
    }

    fn index(&self, member: &str) -> usize {
        let found = self.members.iter().position(|(name, ..)| name == member);
        found.unwrap_or_else(|| panic!("struct tcp_congestion_ops has no {member}"))
    }

    fn place(&self, member: &str) -> usize {
        self.offset + self.members[self.index(member)].1
    }

    pub fn function_places(&self) -> impl Iterator<Item = (&str, usize)> {
        let functions = self.members.iter().filter(|(.., arguments)| arguments.is_some());
        functions.map(|(name, offset, _)| (name.as_str(), self.offset + offset))
    }
}

/// The size of the ring buffer for records.
pub const RING_BYTES: usize = 4 << 20;
/// Connections whose last record is remembered; a connection beyond them gets a record at each ACK.
const CONNECTIONS: usize = 1 << 14;

/// The programs and maps of an object in the kernel.
pub struct Programs {
    pub programs: Vec<(String, OwnedFd)>,
    pub maps: Vec<(String, OwnedFd)>,
    btf: OwnedFd,
    /// Sockets that use the algorithm ask for ECN whatever `tcp_ecn` is.
    pub needs_ecn: bool,
}

impl Programs {
    pub fn map(&self, section: &str) -> &OwnedFd {
        let found = self.maps.iter().find(|(name, _)| name == section);
        &found.unwrap_or_else(|| panic!("the object has no {section}")).1
    }
}

/// Loads the programs of an object with the parameters `params`. bpftool shows `map_name`.
pub fn programs(
    elf: &[u8],
    map_name: &str,
    params: &[u32],
    types: &Btf,
    ops: &Ops,
) -> Result<Programs, Error> {
    let mut object = object::read(elf);
    for data in &mut object.data {
        match data.section.as_str() {
            ".rodata.params" => {
                data.bytes = params.iter().flat_map(|value| value.to_ne_bytes()).collect();
            }
            ".rodata.kernel" => {
                let arguments = ops.members[ops.index("cong_control")].2.unwrap_or(4);
                data.bytes = (arguments as u32).to_ne_bytes().to_vec();
            }
            _ => {}
        }
    }
    let maps = object
        .data
        .iter()
        .map(|data| Ok((data.section.clone(), data_map(data, map_name)?)))
        .collect::<io::Result<Vec<_>>>()
        .map_err(|error| refuse(format!("the kernel makes no map: {error}")))?;
    let btf = sys::load_btf(&object.btf)
        .map_err(|error| refuse(format!("the kernel refuses the types of the object: {error}")))?;
    let chosen: Vec<&Program> = chosen(&object).collect();
    let mut programs = Vec::new();
    for program in chosen {
        let fd = load(program, map_name, &maps, &btf, types, ops)?;
        programs.push((program.hook.clone(), fd));
    }
    Ok(Programs { programs, maps, btf, needs_ecn: false })
}

/// The object's programs, without the defaults for hooks that it has itself.
fn chosen(object: &Object) -> impl Iterator<Item = &Program> {
    object.programs.iter().filter(|program| {
        program.kind != "default"
            || !object.programs.iter().any(|other| other.kind != "default" && other.hook == program.hook)
    })
}

fn data_map(data: &object::Data, name: &str) -> io::Result<OwnedFd> {
    if data.is_map() {
        return sys::create_map(&match data.section.as_str() {
            ".maps.ring" => {
                MapSpec { key_bytes: 0, entries: RING_BYTES, ..MapSpec::of_one(sys::MAP_RINGBUF, name, 0, 0) }
            }
            ".maps.last" => MapSpec {
                key_bytes: 8,
                entries: CONNECTIONS,
                ..MapSpec::of_one(sys::MAP_LRU_HASH, name, 16, 0)
            },
            section => panic!("no map is called {section}"),
        });
    }
    let flags = if data.read_only() { sys::F_RDONLY_PROG } else { sys::F_MMAPABLE };
    // An algorithm without parameters has empty data, of which no map can be made.
    let mut bytes = data.bytes.clone();
    bytes.resize(bytes.len().max(4), 0);
    let map = sys::create_map(&MapSpec::of_one(sys::MAP_ARRAY, name, bytes.len(), flags))?;
    sys::update(&map, &bytes)?;
    if data.read_only() {
        // The verifier takes its values as constants.
        sys::freeze(&map)?;
    }
    Ok(map)
}

fn load(
    program: &Program,
    name: &str,
    maps: &[(String, OwnedFd)],
    btf: &OwnedFd,
    types: &Btf,
    ops: &Ops,
) -> Result<OwnedFd, Error> {
    /// The source register of an instruction that loads the address of a map,
    const MAP: u8 = 1;
    /// of one that loads an address within a map's value,
    const MAP_VALUE: u8 = 2;
    /// and of one that calls a function of the kernel.
    const KERNEL_CALL: u8 = 2;
    let mut insns = program.insns.clone();
    for address in &program.addresses {
        let at = address.insn * object::INSN;
        let (section, map) = &maps[address.data];
        let kind = if section.starts_with(".maps") { MAP } else { MAP_VALUE };
        insns[at + 1] = insns[at + 1] & 0x0f | kind << 4;
        insns[at + 4..at + 8].copy_from_slice(&map.as_raw_fd().to_le_bytes());
        insns[at + 12..at + 16].copy_from_slice(&address.offset.to_le_bytes());
    }
    for (insn, function) in &program.calls {
        let at = insn * object::INSN;
        let id = types
            .function(function)
            .ok_or_else(|| refuse(format!("this kernel has no {function} that programs can call")))?;
        insns[at + 1] = insns[at + 1] & 0x0f | KERNEL_CALL << 4;
        insns[at + 4..at + 8].copy_from_slice(&id.to_le_bytes());
    }
    let (kind, flags, attach_type, attach_btf_id) = match program.kind.as_str() {
        "syscall" => (sys::PROG_SYSCALL, sys::PROG_SLEEPABLE, 0, 0),
        "tp_btf" => {
            let tracepoint = types
                .tracepoint(&program.hook)
                .ok_or_else(|| refuse(format!("this kernel has no tracepoint {}", program.hook)))?;
            (sys::PROG_TRACING, 0, sys::ATTACH_TRACEPOINT, tracepoint)
        }
        _ => (sys::PROG_STRUCT_OPS, 0, ops.index(&program.hook) as u32, ops.id),
    };
    let spec = ProgramSpec {
        kind,
        name: if kind == sys::PROG_SYSCALL { name } else { &program.hook },
        insns: &insns,
        flags,
        attach_type,
        attach_btf_id,
        btf,
        func_info: program.func_info,
        core_relos: &program.core_relos,
    };
    sys::load_program(&spec).map_err(|(error, log)| {
        let last = log.lines().rev().find(|line| !line.starts_with("processed ")).unwrap_or_default();
        let mut refused = refuse(format!("the kernel refuses {} of {name}: {error}; {last}", program.hook));
        refused.log = log;
        refused
    })
}

/// The pin of a registration: a link, which ends with its pin,
pub const LINK: &str = "link";
/// or on kernels before 6.4 a map, which stays registered until it is emptied.
pub const MAP: &str = "registration";

/// Registers the programs with the kernel's TCP under `name`, and pins the registration in `folder`.
pub fn register(programs: &Programs, name: &str, ops: &Ops, links: bool, folder: &Path) -> io::Result<()> {
    if links {
        match link(programs, name, ops) {
            Ok(link) => return sys::pin(&link, &folder.join(LINK)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => return Err(error),
        }
    }
    let map = sys::create_map(&map_of(programs, name, ops, 0))?;
    // Pinned before it is registered: if this process ended in between, nothing could empty an unpinned map.
    sys::pin(&map, &folder.join(MAP))?;
    sys::update(&map, &value_of(programs, name, ops))
}

/// Registers the programs as long as the link exists. EINVAL: this kernel has no links.
pub fn link(programs: &Programs, name: &str, ops: &Ops) -> io::Result<OwnedFd> {
    let map = sys::create_map(&map_of(programs, name, ops, sys::F_LINK))?;
    sys::update(&map, &value_of(programs, name, ops))?;
    sys::link(&map)
}

fn map_of<'a>(programs: &'a Programs, name: &'a str, ops: &Ops, flags: u32) -> MapSpec<'a> {
    MapSpec {
        types: Some((&programs.btf, ops.value_type)),
        ..MapSpec::of_one(sys::MAP_STRUCT_OPS, name, ops.value_bytes, flags)
    }
}

/// The kernel's struct with the name and the programs.
fn value_of(programs: &Programs, name: &str, ops: &Ops) -> Vec<u8> {
    let mut value = vec![0; ops.value_bytes];
    let place = ops.place("name");
    value[place..place + name.len()].copy_from_slice(name.as_bytes());
    let place = ops.place("flags");
    let flags = NON_RESTRICTED | if programs.needs_ecn { NEEDS_ECN } else { 0 };
    value[place..place + 4].copy_from_slice(&flags.to_ne_bytes());
    for (hook, program) in &programs.programs {
        let place = ops.place(hook);
        value[place..place + 4].copy_from_slice(&program.as_raw_fd().to_ne_bytes());
    }
    value
}
