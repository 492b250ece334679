//! System calls, and the only unsafe code of this crate.

#![expect(unsafe_code, reason = "system calls")]

use std::cell::RefCell;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{Ordering, compiler_fence, fence};
use std::sync::{Mutex, PoisonError};

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
const RAW_TRACEPOINT_OPEN: i32 = 17;
const BTF_LOAD: i32 = 18;
const MAP_FREEZE: i32 = 22;
const LINK_CREATE: i32 = 28;

pub const MAP_ARRAY: u32 = 2;
pub const MAP_LRU_HASH: u32 = 9;
pub const MAP_STRUCT_OPS: u32 = 26;
pub const MAP_RINGBUF: u32 = 27;
pub const F_RDONLY_PROG: u32 = 1 << 7;
pub const F_MMAPABLE: u32 = 1 << 10;
pub const F_LINK: u32 = 1 << 13;
pub const PROG_TRACING: u32 = 26;
pub const PROG_STRUCT_OPS: u32 = 27;
pub const PROG_SYSCALL: u32 = 31;
pub const PROG_SLEEPABLE: u32 = 1 << 4;
pub const ATTACH_TRACEPOINT: u32 = 23;
const ATTACH_STRUCT_OPS: u32 = 44;

/// A call of `bpf()` that another machine shall make.
#[derive(Clone, Debug)]
pub struct Call {
    pub command: i32,
    /// The part of `union bpf_attr` that the command has.
    pub attr: Vec<u8>,
    /// Memory that the pointers in it lead to: each pointer's offset, and the bytes.
    pub inputs: Vec<(usize, Vec<u8>)>,
    /// The number that the new descriptor has in later calls.
    pub fd: Option<i32>,
}

thread_local! {
    static CALLS: RefCell<Option<Vec<Call>>> = const { RefCell::new(None) };
}

/// The first number of descriptors in calls that are written down.
const RECORDED_FD_MIN: i32 = 600;

/// One thread at a time writes down calls, so that the numbers of descriptors do not depend on the others.
static RECORDING: Mutex<()> = Mutex::new(());

/// The calls that `make` would make: they are written down instead.
pub fn record<T>(make: impl FnOnce() -> T) -> (T, Vec<Call>) {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    CALLS.set(Some(Vec::new()));
    let made = make();
    (made, CALLS.take().expect("only this function takes them"))
}

fn is_recording() -> bool {
    CALLS.with_borrow(Option::is_some)
}

/// `union bpf_attr`: numbers at the offsets of linux/bpf.h.
struct Attr {
    words: [u64; 24],
    /// Offsets of pointers, and the bytes behind them.
    inputs: Vec<(usize, usize)>,
}

impl Attr {
    fn new() -> Self {
        Attr { words: [0; 24], inputs: Vec::new() }
    }

    fn u32(mut self, at: usize, value: u32) -> Self {
        let shift = at % 8 * 8;
        self.words[at / 8] |= u64::from(value) << shift;
        self
    }

    fn u64(mut self, at: usize, value: u64) -> Self {
        self.words[at / 8] = value;
        self
    }

    fn fd(self, at: usize, fd: &impl AsRawFd) -> Self {
        self.u32(at, fd.as_raw_fd() as u32)
    }

    fn input<T>(mut self, at: usize, data: &[T]) -> Self {
        if data.is_empty() {
            return self;
        }
        self.inputs.push((at, size_of_val(data)));
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
            self.words[(at + i) / 8] |= u64::from(byte) << shift;
        }
        self
    }

    /// `size`: the bytes of the command's part. What lies behind its pointers is borrowed by the caller.
    fn call(&mut self, command: i32, size: usize) -> io::Result<i32> {
        if is_recording() {
            self.write_down(command, size, None);
            return Ok(0);
        }
        // SAFETY: the attribute is larger than size; each pointer in it was made from a slice that the
        // function calling this still borrows, and whose length is in the attribute or fixed by the map.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.words.as_mut_ptr(), size) };
        compiler_fence(Ordering::SeqCst);
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
    }

    fn open(&mut self, command: i32, size: usize) -> io::Result<OwnedFd> {
        if is_recording() {
            let fd = numbered()?;
            self.write_down(command, size, Some(fd.as_raw_fd()));
            return Ok(fd);
        }
        let fd = self.call(command, size)?;
        // SAFETY: the command returns a new descriptor, which nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    fn write_down(&self, command: i32, size: usize, fd: Option<i32>) {
        let mut attr: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        attr.truncate(size);
        let inputs = self.inputs.iter().map(|&(at, bytes)| {
            // SAFETY: the pointer was made from a slice of as many bytes that the function calling this still borrows.
            let data = unsafe { std::slice::from_raw_parts(self.words[at / 8] as *const u8, bytes) };
            (at, data.to_vec())
        });
        let call = Call { command, attr, inputs: inputs.collect(), fd };
        CALLS.with_borrow_mut(|calls| calls.as_mut().expect("recording").push(call));
    }
}

/// A descriptor of nothing, with a number that no other has as long as it is open.
fn numbered() -> io::Result<OwnedFd> {
    let nothing = File::open("/dev/null")?;
    // SAFETY: the descriptor is open.
    let fd = unsafe { libc::fcntl(nothing.as_raw_fd(), libc::F_DUPFD_CLOEXEC, RECORDED_FD_MIN) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub struct MapSpec<'a> {
    pub kind: u32,
    pub name: &'a str,
    pub key_bytes: usize,
    pub value_bytes: usize,
    /// For a ring buffer: its size in bytes, a power of two and whole pages.
    pub entries: usize,
    pub flags: u32,
    /// For a struct_ops map: any program's BTF, and the number of the value's type in the kernel.
    pub types: Option<(&'a OwnedFd, u32)>,
}

impl<'a> MapSpec<'a> {
    /// A map with one element, whose key is 0.
    pub fn of_one(kind: u32, name: &'a str, value_bytes: usize, flags: u32) -> Self {
        MapSpec { kind, name, key_bytes: 4, value_bytes, entries: 1, flags, types: None }
    }
}

pub fn create_map(spec: &MapSpec) -> io::Result<OwnedFd> {
    let attr = Attr::new()
        .u32(0, spec.kind)
        .u32(4, spec.key_bytes as u32)
        .u32(8, spec.value_bytes as u32)
        .u32(12, spec.entries as u32)
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
    if !is_recording() {
        assert_eq!(value.len(), map_info(map)?.value_bytes, "the kernel reads as many");
    }
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
            .input(128, spec.core_relos)
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

/// Registers the algorithm in a struct_ops map made for links, as long as the link exists.
pub fn link(map: &OwnedFd) -> io::Result<OwnedFd> {
    Attr::new().fd(0, map).u32(8, ATTACH_STRUCT_OPS).open(LINK_CREATE, 48)
}

/// Runs a program at its tracepoint, as long as the link exists.
pub fn trace(program: &OwnedFd) -> io::Result<OwnedFd> {
    Attr::new().fd(8, program).open(RAW_TRACEPOINT_OPEN, 16)
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
    /// After the verifier removed dead code.
    pub insns: u32,
    /// Instructions that the verifier walked.
    pub verified_insns: u32,
    pub run_ns: u64,
    pub runs: u64,
    /// Calls left out because the program ran already on that core.
    pub misses: u64,
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
        misses: info[26],
    })
}

/// `struct bpf_link_info`: the struct_ops map of a link.
pub fn link_map(link: &OwnedFd) -> io::Result<u32> {
    // type, id, prog_id; then the part of its type.
    Ok(info(link)?[2] as u32)
}

/// Memory shared with the kernel.
pub struct Memory {
    at: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Memory {}
// SAFETY: what is shared can only be read, a number at a time.
unsafe impl Sync for Memory {}

impl Memory {
    /// A map's one element.
    pub fn of(map: &OwnedFd) -> io::Result<Memory> {
        let bytes = map_info(map)?.value_bytes.next_multiple_of(page_bytes());
        Memory::part(map, 0, bytes, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn part(fd: &OwnedFd, offset: usize, bytes: usize, access: i32) -> io::Result<Memory> {
        // SAFETY: a new mapping of a descriptor that is valid for the call.
        let at = unsafe {
            let offset = offset as libc::off_t;
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd.as_raw_fd(), offset)
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

/// The clock of bpf_ktime_get_ns.
pub fn monotonic_ns() -> u64 {
    // SAFETY: a timespec of this function's own.
    let now = unsafe {
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now);
        now
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn page_bytes() -> usize {
    // SAFETY: it asks for a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// The reader's end of a ring buffer, whose kernel side is `BPF_MAP_TYPE_RINGBUF`.
pub struct RingBuffer {
    /// A page with the reader's position.
    consumer: Memory,
    /// A page with the writer's position, then the data, twice: a record is in one piece.
    producer: Memory,
    page: usize,
    bytes: usize,
}

impl RingBuffer {
    /// Bits of the word before a record: being written, given up.
    const BUSY: u32 = 1 << 31;
    const DISCARDED: u32 = 1 << 30;
    /// Bytes before a record.
    const HEADER: usize = 8;

    /// `bytes`: the map's entries.
    pub fn of(map: &OwnedFd, bytes: usize) -> io::Result<RingBuffer> {
        let page = page_bytes();
        Ok(RingBuffer {
            consumer: Memory::part(map, 0, page, libc::PROT_READ | libc::PROT_WRITE)?,
            producer: Memory::part(map, page, page + 2 * bytes, libc::PROT_READ)?,
            page,
            bytes,
        })
    }

    /// The next record, if it is there.
    pub fn next<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut at: u64 = self.consumer.read(0);
        loop {
            let end: u64 = self.producer.read(0);
            fence(Ordering::Acquire);
            if at >= end {
                return None;
            }
            let place = self.page + (at as usize & (self.bytes - 1));
            let header: u32 = self.producer.read(place);
            fence(Ordering::Acquire);
            if header & Self::BUSY != 0 {
                return None;
            }
            let length = (header & !Self::DISCARDED) as usize;
            let is_record = header & Self::DISCARDED == 0;
            assert!(!is_record || length == size_of::<[u64; N]>(), "a record of {length} bytes");
            let record = is_record.then(|| self.producer.read(place + Self::HEADER));
            at += (Self::HEADER + length).next_multiple_of(8) as u64;
            fence(Ordering::Release);
            self.consumer.write(0, at);
            if record.is_some() {
                return record;
            }
        }
    }
}

/// Types of which any bytes are a value.
///
/// # Safety
/// Implemented for structs of numbers alone.
pub unsafe trait Number: Copy {}
// SAFETY: numbers alone.
unsafe impl Number for u32 {}
// SAFETY: numbers alone.
unsafe impl Number for u64 {}
// SAFETY: numbers alone.
unsafe impl Number for cwnd_algorithms::Window {}
// SAFETY: numbers alone.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    /// A file laid out as a ring of two pages: `words` are written at `place` of the data, which has its copy.
    fn ring(consumer: u64, producer: u64, place: usize, words: &[u64]) -> RingBuffer {
        let page = page_bytes();
        // SAFETY: a new descriptor, which nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"ring".as_ptr(), 0)) };
        let mut file = File::from(fd);
        file.set_len(6 * page as u64).unwrap();
        for (at, word) in [(0, consumer), (page, producer)]
            .into_iter()
            .chain(words.iter().enumerate().map(|(i, &word)| (2 * page + place + 8 * i, word)))
        {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&word.to_ne_bytes()).unwrap();
        }
        RingBuffer::of(&file.into(), 2 * page).unwrap()
    }

    const TWO_WORDS: u64 = 16;

    #[test]
    fn records_come_in_order_and_discarded_records_are_skipped() {
        let given_up = u64::from(RingBuffer::DISCARDED) | 8;
        let words = [TWO_WORDS, 1, 2, given_up, 99, TWO_WORDS, 3, 4];
        let mut ring = ring(0, 64, 0, &words);
        assert_eq!(ring.next(), Some([1, 2]));
        assert_eq!(ring.next(), Some([3, 4]));
        assert_eq!(ring.next::<2>(), None);
        // The writer gets its room back.
        assert_eq!(ring.consumer.read::<u64>(0), 64);
    }

    #[test]
    fn reading_stops_before_a_record_that_is_being_written() {
        let busy = u64::from(RingBuffer::BUSY) | TWO_WORDS;
        let mut ring = ring(0, 48, 0, &[TWO_WORDS, 1, 2, busy, 3, 4]);
        assert_eq!(ring.next(), Some([1, 2]));
        assert_eq!(ring.next::<2>(), None);
        assert_eq!(ring.consumer.read::<u64>(0), 24);
    }

    #[test]
    fn a_record_across_the_end_of_the_ring_is_in_one_piece() {
        let bytes = 2 * page_bytes();
        let at = bytes - 16;
        // Positions only grow; this is the third time around.
        let position = (2 * bytes + at) as u64;
        let mut ring = ring(position, position + 24, at, &[TWO_WORDS, 5, 6]);
        assert_eq!(ring.next(), Some([5, 6]));
        assert_eq!(ring.next::<2>(), None);
    }
}
