//! The system calls: the only unsafe code of this crate.

#![expect(unsafe_code, reason = "system calls")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Since some moment that is the same for all threads.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    // SAFETY: a timespec of this function's own.
    let now = unsafe {
        let mut now: libc::timespec = zeroed();
        libc::clock_gettime(clock, &mut now);
        now
    };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Gives this thread a network namespace of its own, which ends with its threads and sockets.
pub fn enter_new_namespace() -> io::Result<()> {
    // SAFETY: it changes this thread's namespace alone.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Which threads of a run a processor is for, where there are two or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// The thread that carries data has the last one to itself: it spins, and others would wait for it there.
    Data,
    /// All others.
    Rest,
}

/// Returns the processors that `core` stands for, of those that this process may use. Empty where there is only one: all
/// threads share it.
fn processors_for(core: Core) -> Vec<usize> {
    // SAFETY: CPU sets of this function's own, and numbers below the size of one.
    let cpus: Vec<usize> = unsafe {
        let mut allowed: libc::cpu_set_t = zeroed();
        if libc::sched_getaffinity(libc::getpid(), size_of::<libc::cpu_set_t>(), &mut allowed) < 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed)).collect()
    };
    match &cpus[..] {
        [] | [_] => Vec::new(),
        [.., last] if core == Core::Data => vec![*last],
        [rest @ .., _] => rest.to_vec(),
    }
}

/// Pins this thread, and the threads that it creates, to the processors that `core` stands for.
pub fn stay_on(core: Core) {
    let chosen = processors_for(core);
    if chosen.is_empty() {
        return;
    }
    // SAFETY: a CPU set of this function's own, and numbers below its size. Without it, the run goes on with more variation.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        chosen.iter().for_each(|&cpu| libc::CPU_SET(cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Has TCP work on this namespace's packets on the processors of [`Core::Rest`]. By default it does on the one that writes them
/// to the device, where a receiver that puts thousands of packets in order keeps others waiting for a millisecond.
///
/// # Errors
///
/// If this thread may not mount; the run may go on with more variation.
pub fn work_on_rest() -> io::Result<()> {
    let chosen = processors_for(Core::Rest);
    if chosen.is_empty() {
        return Ok(());
    }
    let (none, private) = (std::ptr::null::<libc::c_char>(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: names that live as long as the calls. The mounts are this thread's, and show the devices of its namespace.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS))?;
        check(libc::mount(none, c"/".as_ptr(), none, private, none.cast()))?;
        check(libc::mount(c"sysfs".as_ptr(), c"/sys".as_ptr(), c"sysfs".as_ptr(), 0, none.cast()))?;
    }
    fs::write("/sys/class/net/path/queues/rx-0/rps_cpus", mask_of(&chosen))
}

/// Processors as sysfs reads them: words of 32 bits, the highest first.
fn mask_of(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(1, |most| most / 32 + 1);
    let word = |word: usize| {
        let here = cpus.iter().filter(|&&cpu| cpu / 32 == word);
        format!("{:08x}", here.fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32)))
    };
    (0..words).rev().map(word).collect::<Vec<_>>().join(",")
}

/// Packets that the kernel has dropped since it booted because too many waited for a processor (`netdev_max_backlog`).
pub fn backlog_drops() -> u64 {
    let dropped = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default().lines().filter_map(dropped).sum()
}

/// This thread goes before others, if it may, and its timers are not late on purpose. SCHED_FIFO would keep the kernel's
/// own threads, which carry packets on, from the processor: with it 1 Gbps comes out as 850 to 950 Mbps.
pub fn go_first() {
    // SAFETY: it changes this thread's own settings.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}

/// A TUN device of this thread's namespace with its address: whole IP packets, which are not asked for waiting. It is gone
/// when it is closed.
pub fn open_tun(address: Ipv4Addr, mtu: u32, queue_pkts: u32) -> io::Result<File> {
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?;
    // SAFETY: ifreq is numbers alone; the descriptors are valid, and each request reads the field that was set.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(b"path") {
            *place = *byte as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        check(libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF as _, &request))?;
        let socket = OwnedFd::from_raw_fd(check(libc::socket(
            libc::AF_INET,
            libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
            0,
        ))?);
        let fd = socket.as_raw_fd();
        request.ifr_ifru.ifru_mtu = mtu as libc::c_int;
        check(libc::ioctl(fd, libc::SIOCSIFMTU as _, &request))?;
        // The length of the queue has no field of its own.
        request.ifr_ifru.ifru_metric = queue_pkts as libc::c_int;
        check(libc::ioctl(fd, libc::SIOCSIFTXQLEN as _, &request))?;
        for (what, octets) in
            [(libc::SIOCSIFADDR, address.octets()), (libc::SIOCSIFNETMASK, [255, 255, 255, 0])]
        {
            let place = (&raw mut request.ifr_ifru.ifru_addr).cast::<libc::sockaddr_in>();
            place.write(socket_address(SocketAddrV4::new(octets.into(), 0)));
            check(libc::ioctl(fd, what as _, &request))?;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        check(libc::ioctl(fd, libc::SIOCSIFFLAGS as _, &request))?;
    }
    Ok(tun)
}

fn socket_address(address: SocketAddrV4) -> libc::sockaddr_in {
    // SAFETY: a sockaddr_in is numbers alone.
    let mut made: libc::sockaddr_in = unsafe { zeroed() };
    made.sin_family = libc::AF_INET as libc::sa_family_t;
    made.sin_port = address.port().to_be();
    made.sin_addr.s_addr = u32::from_ne_bytes(address.ip().octets());
    made
}

/// Waits until one of the files can be read, for at most `timeout_ns`.
pub fn wait_readable(files: &[&File], timeout_ns: u64) {
    let polled = |file: &&File| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polled: Vec<libc::pollfd> = files.iter().map(polled).collect();
    let timeout = libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: as many pollfds as it is told, and a timespec, of this function's own.
    unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &timeout, std::ptr::null()) };
}

fn set_option<T>(fd: i32, level: i32, option: i32, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `length` bytes of `value` are read.
    check(unsafe { libc::setsockopt(fd, level, option, std::ptr::from_ref(value).cast(), length) }).map(drop)
}

/// A connection that uses the algorithm `cca` from its first segment on.
pub fn connect(to: SocketAddrV4, cca: &str) -> io::Result<TcpStream> {
    // SAFETY: a new descriptor, which nobody else owns, and arguments that live as long as the calls.
    unsafe {
        let fd = check(libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?;
        let stream = TcpStream::from_raw_fd(fd);
        let length = cca.len() as libc::socklen_t;
        check(libc::setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, cca.as_ptr().cast(), length))?;
        let address = socket_address(to);
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        check(libc::connect(fd, (&raw const address).cast(), length))?;
        Ok(stream)
    }
}

/// Closing `stream` drops what it has not sent, and resets the connection.
pub fn abort_when_closed(stream: &TcpStream) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    set_option(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// Reads do not return before there are `bytes`, or the end.
pub fn read_at_least(stream: &TcpStream, bytes: i32) -> io::Result<()> {
    set_option(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, &bytes)
}

/// Limits the receive window of a connection, or of all that a listener accepts, to `bytes`.
pub fn limit_window(socket: &impl AsRawFd, bytes: i32) -> io::Result<()> {
    set_option(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &bytes)
}

/// Takes up to `bytes` that have arrived without copying them; 0 at the end.
pub fn discard(stream: &TcpStream, bytes: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC TCP writes nothing to the buffer.
    let read = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), bytes, libc::MSG_TRUNC) };
    if read < 0 { Err(io::Error::last_os_error()) } else { Ok(read as usize) }
}

/// State of a connection as the kernel reports it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    pub cwnd: u32,
    pub ssthresh: u32,
    pub in_flight: u32,
    pub rtt_us: u32,
    pub retransmitted: u32,
    pub sent: u32,
    pub acked_bytes: u64,
    /// Segments that have come, which are ACKs.
    pub acks: u32,
    pub timeouts: u16,
}

pub fn tcp_info(stream: &TcpStream) -> io::Result<TcpInfo> {
    let mut bytes = [0_u8; 256];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: at most `length` bytes are written.
    check(unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &mut length,
        )
    })?;
    // Places in `struct tcp_info`, which only grows at its end.
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Ok(TcpInfo {
        in_flight: (word(24) + word(36)).saturating_sub(word(28) + word(32)),
        rtt_us: word(68),
        ssthresh: word(76),
        cwnd: word(80),
        retransmitted: word(100),
        acked_bytes: long(120),
        acks: word(140),
        sent: word(156),
        timeouts: word(240) as u16,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_processor_in_words_of_32() {
        assert_eq!(mask_of(&[0]), "00000001");
        assert_eq!(mask_of(&[1, 3, 31]), "8000000a");
        assert_eq!(mask_of(&[0, 33, 64]), "00000001,00000002,00000001");
    }

    #[test]
    fn the_data_have_the_last_processor_and_all_others_the_rest() {
        let (data, rest) = (processors_for(Core::Data), processors_for(Core::Rest));
        assert_eq!(data.is_empty(), rest.is_empty());
        assert!(data.iter().all(|cpu| rest.iter().all(|other| other < cpu)), "{data:?} {rest:?}");
    }
}
