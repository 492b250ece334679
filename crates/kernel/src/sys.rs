//! System calls, and the only unsafe code of this crate.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{Ordering, compiler_fence};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;
const PROG_LOAD: i32 = 5;
const OBJ_PIN: i32 = 6;
const OBJ_GET: i32 = 7;
const PROG_TEST_RUN: i32 = 10;
const PROG_GET_FD_BY_ID: i32 = 13;
const MAP_GET_FD_BY_ID: i32 = 14;
const OBJ_GET_INFO_BY_FD: i32 = 15;
const BTF_LOAD: i32 = 18;
const MAP_FREEZE: i32 = 22;
const LINK_CREATE: i32 = 28;

pub const MAP_ARRAY: u32 = 2;
pub const MAP_STRUCT_OPS: u32 = 26;
pub const F_RDONLY_PROG: u32 = 1 << 7;
pub const F_MMAPABLE: u32 = 1 << 10;
pub const F_LINK: u32 = 1 << 13;
pub const PROG_STRUCT_OPS: u32 = 27;
pub const PROG_SYSCALL: u32 = 31;
pub const PROG_SLEEPABLE: u32 = 1 << 4;
const ATTACH_STRUCT_OPS: u32 = 44;

/// `union bpf_attr`: numbers at the places that linux/bpf.h gives them.
struct Attr([u64; 24]);

impl Attr {
    fn new() -> Self {
        Attr([0; 24])
    }

    fn u32(mut self, at: usize, value: u32) -> Self {
        let shift = at % 8 * 8;
        self.0[at / 8] |= u64::from(value) << shift;
        self
    }

    fn u64(mut self, at: usize, value: u64) -> Self {
        self.0[at / 8] = value;
        self
    }

    fn fd(self, at: usize, fd: &impl AsRawFd) -> Self {
        self.u32(at, fd.as_raw_fd() as u32)
    }

    fn input<T>(self, at: usize, data: &[T]) -> Self {
        self.u64(at, data.as_ptr() as u64)
    }

    fn output<T>(self, at: usize, data: &mut [T]) -> Self {
        self.u64(at, data.as_mut_ptr() as u64)
    }

    /// Up to 15 characters.
    fn name(mut self, at: usize, name: &str) -> Self {
        for (i, byte) in name.bytes().take(15).enumerate() {
            // The kernel takes letters, digits, '_' and '.'.
            let byte = if byte.is_ascii_alphanumeric() { byte } else { b'_' };
            let shift = (at + i) % 8 * 8;
            self.0[(at + i) / 8] |= u64::from(byte) << shift;
        }
        self
    }

    /// `size`: the bytes of the command's part. What lies behind its pointers is borrowed by the caller.
    fn call(&mut self, command: i32, size: usize) -> io::Result<i32> {
        // SAFETY: the attribute is larger than size; each pointer in it was made from a slice that the
        // function calling this still borrows, and whose length is in the attribute or fixed by the map.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), size) };
        compiler_fence(Ordering::SeqCst);
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    fn open(&mut self, command: i32, size: usize) -> io::Result<OwnedFd> {
        let fd = self.call(command, size)?;
        // SAFETY: the command returns a new descriptor, which nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

pub struct MapSpec<'a> {
    pub kind: u32,
    pub name: &'a str,
    pub value_bytes: usize,
    pub flags: u32,
    /// For a struct_ops map: any types of a program, and the number of its value's in the kernel.
    pub types: Option<(&'a OwnedFd, u32)>,
}

pub fn create_map(spec: &MapSpec) -> io::Result<OwnedFd> {
    let attr = Attr::new()
        .u32(0, spec.kind)
        .u32(4, 4)
        .u32(8, spec.value_bytes as u32)
        .u32(12, 1)
        .u32(16, spec.flags)
        .name(28, spec.name);
    let mut attr = match spec.types {
        Some((btf, value_type)) => attr.fd(48, btf).u32(60, value_type),
        None => attr,
    };
    attr.open(MAP_CREATE, 72)
}

/// Sets the one element.
pub fn update(map: &OwnedFd, value: &[u8]) -> io::Result<()> {
    assert_eq!(value.len(), map_info(map)?.value_bytes, "the kernel reads as many");
    Attr::new().fd(0, map).input(8, &[0_u32]).input(16, value).call(MAP_UPDATE_ELEM, 32).map(|_| ())
}

pub fn lookup(map: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut value = vec![0; map_info(map)?.value_bytes];
    Attr::new().fd(0, map).input(8, &[0_u32]).output(16, &mut value).call(MAP_LOOKUP_ELEM, 32)?;
    Ok(value)
}

pub fn delete(map: &OwnedFd) -> io::Result<()> {
    Attr::new().fd(0, map).input(8, &[0_u32]).call(MAP_DELETE_ELEM, 32).map(|_| ())
}

pub fn freeze(map: &OwnedFd) -> io::Result<()> {
    Attr::new().fd(0, map).call(MAP_FREEZE, 4).map(|_| ())
}

pub struct ProgramSpec<'a> {
    pub kind: u32,
    pub name: &'a str,
    pub insns: &'a [u8],
    pub flags: u32,
    pub attach_type: u32,
    pub attach_btf_id: u32,
    pub btf: &'a OwnedFd,
    pub func_info: [u32; 2],
    pub core_relos: &'a [[u32; 4]],
}

/// The error comes with the verifier's last lines.
pub fn load_program(spec: &ProgramSpec) -> Result<OwnedFd, (io::Error, String)> {
    let mut log = Vec::new();
    let load = |log: &mut Vec<u8>| {
        Attr::new()
            .u32(0, spec.kind)
            .u32(4, (spec.insns.len() / crate::object::INSN) as u32)
            .input(8, spec.insns)
            .input(16, c"Dual MIT/GPL".to_bytes_with_nul())
            .u32(24, u32::from(!log.is_empty()))
            .u32(28, log.len() as u32)
            .u64(32, if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 })
            .u32(44, spec.flags)
            .name(48, spec.name)
            .u32(68, spec.attach_type)
            .fd(72, spec.btf)
            .u32(76, 8)
            .input(80, &spec.func_info)
            .u32(88, 1)
            .u32(108, spec.attach_btf_id)
            .u32(116, spec.core_relos.len() as u32)
            .u64(128, if spec.core_relos.is_empty() { 0 } else { spec.core_relos.as_ptr() as u64 })
            .u32(136, if spec.core_relos.is_empty() { 0 } else { 16 })
            .open(PROG_LOAD, 140)
    };
    match load(&mut log) {
        Ok(program) => Ok(program),
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err((error, String::new())),
        Err(error) => {
            log.resize(16 << 20, 0);
            if let Ok(program) = load(&mut log) {
                return Ok(program);
            }
            let text = String::from_utf8_lossy(log.split(|&byte| byte == 0).next().unwrap_or_default());
            let lines: Vec<&str> = text.lines().collect();
            Err((error, lines[lines.len().saturating_sub(30)..].join("\n")))
        }
    }
}

pub fn load_btf(btf: &[u8]) -> io::Result<OwnedFd> {
    Attr::new().input(0, btf).u32(16, btf.len() as u32).open(BTF_LOAD, 28)
}

/// Registers what a struct_ops map made for links holds, as long as the link is there.
pub fn link(map: &OwnedFd) -> io::Result<OwnedFd> {
    Attr::new().fd(0, map).u32(8, ATTACH_STRUCT_OPS).open(LINK_CREATE, 48)
}

/// Runs a syscall program once.
pub fn test_run(program: &OwnedFd) -> io::Result<()> {
    Attr::new().fd(0, program).call(PROG_TEST_RUN, 80).map(|_| ())
}

pub fn pin(object: &OwnedFd, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    Attr::new().input(0, path.as_bytes_with_nul()).fd(8, object).call(OBJ_PIN, 16).map(|_| ())
}

pub fn pinned(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    Attr::new().input(0, path.as_bytes_with_nul()).open(OBJ_GET, 16)
}

pub fn map_by_id(id: u32) -> io::Result<OwnedFd> {
    Attr::new().u32(0, id).open(MAP_GET_FD_BY_ID, 12)
}

pub fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    Attr::new().u32(0, id).open(PROG_GET_FD_BY_ID, 12)
}

fn info(object: &OwnedFd) -> io::Result<[u64; 40]> {
    let mut info = [0_u64; 40];
    let bytes = size_of_val(&info) as u32;
    Attr::new().fd(0, object).u32(4, bytes).output(8, &mut info).call(OBJ_GET_INFO_BY_FD, 16)?;
    Ok(info)
}

pub struct MapInfo {
    pub value_bytes: usize,
    pub name: String,
}

/// `struct bpf_map_info`.
pub fn map_info(map: &OwnedFd) -> io::Result<MapInfo> {
    let info = info(map)?;
    let name: Vec<u8> = [info[3], info[4]].into_iter().flat_map(u64::to_le_bytes).collect();
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(MapInfo { value_bytes: (info[1] >> 32) as usize, name: String::from_utf8_lossy(name).into_owned() })
}

pub struct ProgramInfo {
    pub id: u32,
    /// After the verifier left out what cannot run.
    pub insns: u32,
    /// That the verifier walked.
    pub verified_insns: u32,
    pub run_ns: u64,
    pub runs: u64,
}

/// `struct bpf_prog_info`.
pub fn program_info(program: &OwnedFd) -> io::Result<ProgramInfo> {
    let info = info(program)?;
    Ok(ProgramInfo {
        id: (info[0] >> 32) as u32,
        insns: (info[2] >> 32) as u32 / crate::object::INSN as u32,
        verified_insns: info[27] as u32,
        run_ns: info[24],
        runs: info[25],
    })
}

/// `struct bpf_link_info`: the struct_ops map of a link.
pub fn link_map(link: &OwnedFd) -> io::Result<u32> {
    // type, id, prog_id; then the part of its type.
    Ok(info(link)?[2] as u32)
}

/// Shared memory of a map's one element.
pub struct Memory {
    at: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Memory {}

impl Memory {
    pub fn of(map: &OwnedFd) -> io::Result<Memory> {
        let bytes = map_info(map)?.value_bytes.next_multiple_of(4096);
        // SAFETY: a new mapping of a descriptor that is valid for the call.
        let at = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, map.as_raw_fd(), 0)
        };
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Memory { at, bytes }) }
    }

    pub fn write<T: Copy>(&mut self, offset: usize, value: T) {
        assert!(offset + size_of::<T>() <= self.bytes && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: within the mapping, which is page-aligned, and aligned.
        unsafe { self.at.byte_add(offset).cast::<T>().write_volatile(value) }
    }

    pub fn read<T: Number>(&self, offset: usize) -> T {
        assert!(offset + size_of::<T>() <= self.bytes && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: within the mapping, which is page-aligned, aligned, and any bytes are a T.
        unsafe { self.at.byte_add(offset).cast::<T>().read_volatile() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}

/// Types of which any bytes are a value.
///
/// # Safety
/// Implemented for structs of numbers alone.
pub unsafe trait Number: Copy {}
unsafe impl Number for u32 {}
unsafe impl Number for u64 {}
unsafe impl Number for cwnd_algorithms::Window {}
unsafe impl<const N: usize> Number for [u64; N] {}

const BPF_FS_MAGIC: libc::c_long = 0xcafe_4a11;

pub fn is_bpffs(path: &Path) -> bool {
    let Ok(path) = c_path(path) else { return false };
    // SAFETY: the path is a C string, and a zeroed statfs is one.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &mut stat) == 0 && stat.f_type as libc::c_long == BPF_FS_MAGIC
    }
}

pub fn mount_bpffs(path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: C strings; bpffs takes no data.
    let result = unsafe { libc::mount(c"bpf".as_ptr(), path.as_ptr(), c"bpf".as_ptr(), 0, std::ptr::null()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// A lock on a folder that other processes respect.
pub fn lock(path: &Path) -> io::Result<File> {
    let folder = File::open(path)?;
    // SAFETY: a valid descriptor.
    if unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(folder)
}
