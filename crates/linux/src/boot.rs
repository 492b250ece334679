//! The emulator's process: a machine whose clock counts instructions, and the lines that its guest reports.

use crate::Error;
use crate::machine::Machine;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How others watch a run and stop it: called with the simulated time now and then, `false` ends the run.
pub trait Watch: Fn(u64) -> bool + Sync {}
impl<F: Fn(u64) -> bool + Sync> Watch for F {}

/// Time between two calls of [`Watch`].
const WATCH: Duration = Duration::from_millis(100);

/// Its process ends with its owner.
struct Emulator(Child);

impl Emulator {
    /// The first thread, which serves the other one, no longer interrupts it for each timer. Called when both are there.
    fn let_guest_go_first(&self) {
        let pid = self.0.id().to_string();
        // Without it, the same comes out a little later.
        let _ = Command::new("chrt").args(["--batch", "--pid", "0", &pid]).stderr(Stdio::null()).status();
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// No timer but the processor's own, which the kernel calibrates by the time stamp counter: so it is right whatever a
/// second of that counter is said to be. Of what `max` has, without what costs the emulator much and the guest's result
/// nothing: copies byte by byte, five levels of page tables, protection of the kernel from itself.
///
/// The emulator records, to nowhere, because its first thread then waits while the guest's processor works. Otherwise that
/// thread may find the processor halted before the instructions up to the halt are counted, and sets the clock forward by so
/// much too much: rarely on an idle host, often on a loaded one.
pub const MACHINE: &str = "-M microvm,pit=off,pic=off,isa-serial=off,x-option-roms=off,auto-kernel-cmdline=off -nodefaults \
    -display none -no-reboot -cpu max,-rdrand,-rdseed,-erms,-la57,-smap,-smep -seed 7 \
    -icount shift=0,sleep=off,rr=record,rrfile=/dev/null -rtc base=2020-01-01,clock=vm \
    -chardev file,id=report,path=/proc/self/fd/1 -device isa-debugcon,chardev=report \
    -device isa-debug-exit,iobase=0xf4,iosize=0x04 -initrd /proc/self/fd/0";

/// The kernel's command line. A processor of `speed` instructions per nanosecond is one whose time stamp counter is
/// said to count that many in a nanosecond: the guest's time is slower than the emulator's by that factor. TCP may use half
/// of the memory, which is more than a kernel gives it by itself.
pub fn command_line(speed: u32, memory_mib: u64, seed: u64) -> String {
    let tcp_pages = memory_mib * 128;
    format!(
        "quiet panic=-1 nokaslr random.trust_cpu=off ipv6.disable=1 mitigations=off init_on_alloc=0 nohz=off \
         cpuidle.off=1 lsm= tsc_early_khz={speed}000000 tsc=reliable cwnd.seed={seed} \
         sysctl.net.ipv4.tcp_mem=\"{tcp_pages} {tcp_pages} {tcp_pages}\""
    )
}

/// A file without a name that holds `bytes`, read from its beginning.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("cwnd-guest", rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// A guest to be: nothing of it is left when its run ends, or when this process does.
pub struct Guest<'a> {
    pub machine: &'a Machine,
    /// The file system, as cpio's archive.
    pub image: &'a [u8],
    /// Instructions that the processor does in a nanosecond.
    pub speed: u32,
    pub memory_mib: u64,
    pub seed: u64,
    /// The processor of the host that it runs on.
    pub core: Option<usize>,
}

impl Guest<'_> {
    fn command(&self) -> Result<Command, Error> {
        let mut words = ["setpriv", "--pdeathsig", "KILL"].map(str::to_owned).to_vec();
        // Both threads of the emulator on one core: they wait for each other, and never work at once.
        words.extend(
            self.core.iter().flat_map(|core| ["taskset".to_owned(), "-c".to_owned(), core.to_string()]),
        );
        words.extend(self.machine.emulator.iter().cloned());
        words.extend(MACHINE.split_ascii_whitespace().map(str::to_owned));
        words.extend(["-m".to_owned(), self.memory_mib.to_string()]);
        words.extend(["-kernel".to_owned(), self.machine.kernel.display().to_string()]);
        words.extend(["-append".to_owned(), command_line(self.speed, self.memory_mib, self.seed)]);
        let image = in_memory(self.image).map_err(Error::of("a file in memory"))?;
        let mut command = Command::new(&words[0]);
        // Ctrl-C in a terminal is for this process, which then ends the guest.
        command.args(&words[1..]).stdin(image).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Ok(command)
    }

    /// The lines that the guest reports; `None` if `watch` ended it.
    pub fn boot(&self, duration_ns: u64, watch: &impl Watch) -> Result<Option<Vec<String>>, Error> {
        let program = &self.machine.emulator[0];
        let mut command = self.command()?;
        let first = command.get_program().display().to_string();
        let child = command.spawn().map_err(Error::of(first))?;
        let mut emulator = Emulator(child);
        let stdout = emulator.0.stdout.take().expect("piped");
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut lines = Vec::new();
        let mut reached_ns = 0;
        loop {
            match receiver.recv_timeout(WATCH) {
                Ok(line) => match line.strip_prefix("at ").and_then(|percent| percent.parse::<u64>().ok()) {
                    Some(percent) => reached_ns = duration_ns / 100 * percent,
                    None => {
                        if lines.is_empty() {
                            emulator.let_guest_go_first();
                        }
                        lines.push(line);
                    }
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !watch(reached_ns) {
                return Ok(None);
            }
        }
        reader.join().expect("a reader does not panic");
        if lines.last().is_some_and(|line| line == "done") {
            return Ok(Some(lines));
        }
        if let Some(failed) = lines.iter().find(|line| line.starts_with("failed")) {
            return Err(Error::Guest(format!("the guest {failed}")));
        }
        let mut said = String::new();
        if let Some(mut stderr) = emulator.0.stderr.take() {
            // What it wrote is there or is not.
            let _ = stderr.read_to_string(&mut said);
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing more");
        Err(Error::Guest(format!("the guest did not come to its end; {program} reports: {last}")))
    }
}
