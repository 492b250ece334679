//! One guest for one run.

use crate::answer;
use crate::image::Image;
use crate::machine::Machine;
use crate::plan::{self, Algorithms, Plan};
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// The guest's only program.
/// The program inside guests; empty where none could be compiled.
pub const INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/init"));

/// How others watch a run and stop it: called with the simulated time now and then, `false` ends the run.
pub trait Watch: Fn(u64) -> bool + Sync {}
impl<F: Fn(u64) -> bool + Sync> Watch for F {}

/// Time between two calls of [`Watch`].
const WATCH: Duration = Duration::from_millis(100);

/// Boots a guest on processor `core` and returns its run, `None` if `watch` ended it.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    algorithms: Algorithms,
    machine: &Machine,
    core: Option<usize>,
    watch: &impl Watch,
) -> Result<Option<Run>, String> {
    if INIT.is_empty() {
        return Err("this build has no guest program; build it where cc can link with -static".to_owned());
    }
    let plan = plan::write(scenario, seed, algorithms)?;
    let folder = Folder::new().map_err(|error| format!("a temporary folder: {error}"))?;
    let image = folder.0.join("image");
    fs::write(&image, make_image(scenario, &plan, machine)?)
        .map_err(|error| format!("{}: {error}", image.display()))?;
    let (speed, memory_mib) = (plan.speed, plan.memory_mib);
    let guest = Guest { machine, image: &image, speed, memory_mib, seed, core };
    let Some(lines) = guest.boot(scenario.duration_ns, watch)? else { return Ok(None) };
    answer::read(scenario, seed, &plan, &lines).map(Some)
}

/// A folder that goes with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("cwnd-guest-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed stays in a temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn read_file(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn make_image(scenario: &Scenario, plan: &Plan, machine: &Machine) -> Result<Vec<u8>, String> {
    let mut image = begin_image();
    let mut text = String::new();
    for (name, file) in machine.modules_for(&plan.modules) {
        image.add_file(&format!("modules/{name}.ko"), &read_file(file)?);
        text += &format!("module /modules/{name}.ko\n");
    }
    if !plan.programs.is_empty() {
        let btf = read_file(&machine.btf)?;
        for (name, flow) in &plan.programs {
            let flow = &scenario.flows[*flow];
            let (algorithm, params) = flow.cca.resolve().map_err(|error| error.to_string())?;
            let calls =
                cwnd_kernel::script(&algorithm, &params, name, &btf).map_err(|error| error.to_string())?;
            calls.iter().for_each(|call| text += &program_line(call));
        }
    }
    Ok(finish_image(image, &(text + &plan.text)))
}

/// With the folders, which come before what is in them.
fn begin_image() -> Image {
    let mut image = Image::default();
    ["proc", "sys", "dev", "modules"].iter().for_each(|name| image.add_folder(name));
    image
}

fn finish_image(mut image: Image, plan: &str) -> Vec<u8> {
    image.add_file("plan", plan.as_bytes());
    image.add_file("init", INIT);
    image.finish()
}

/// A call of `bpf()` as the guest reads it.
fn program_line(call: &cwnd_kernel::Call) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut attr = call.attr.clone();
    // Addresses of this process, which are other ones in each: the guest puts its own there.
    call.inputs.iter().for_each(|(at, _)| attr[*at..at + 8].fill(0));
    let mut line = format!("bpf {} {} {}", call.command, call.fd.unwrap_or(0), hex(&attr));
    for (at, data) in &call.inputs {
        line += &format!(" {at} {}", hex(data));
    }
    line + "\n"
}

/// The kernel's description of its types, from a guest: the first thing that a new machine is asked for.
pub fn read_types(machine: &Machine, watch: &impl Watch) -> Result<Option<Vec<u8>>, String> {
    let folder = Folder::new().map_err(|error| format!("a temporary folder: {error}"))?;
    let image = folder.0.join("image");
    let data = finish_image(begin_image(), "dump /sys/kernel/btf/vmlinux\n");
    fs::write(&image, data).map_err(|error| format!("{}: {error}", image.display()))?;
    let guest = Guest { machine, image: &image, speed: 1, memory_mib: 512, seed: 1, core: None };
    let Some(lines) = guest.boot(1, watch)? else { return Ok(None) };
    let digits = lines.iter().filter_map(|line| line.strip_prefix("dump ")).flat_map(str::bytes);
    let nibbles: Vec<u8> = digits.map(|digit| char::from(digit).to_digit(16).unwrap_or(0) as u8).collect();
    Ok(Some(nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
}

/// Its process ends with its owner.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The kernel's command line. A processor of `speed` instructions per nanosecond is one whose time stamp counter is
/// said to count that many in a nanosecond: the guest's time is slower than the emulator's by that factor, and every
/// other clock that could contradict is off.
fn command_line(speed: u32, seed: u64) -> String {
    let mut line = format!(
        "console=ttyS0 quiet loglevel=3 panic=-1 nokaslr random.trust_cpu=off ipv6.disable=1 mitigations=off nohz=off \
         cpuidle.off=1 lsm= cwnd.seed={seed}"
    );
    if speed > 1 {
        line += &format!(" tsc_early_khz={speed}000000 tsc=reliable pmtmr=0 hpet=disable");
    }
    line
}

struct Guest<'a> {
    machine: &'a Machine,
    image: &'a Path,
    speed: u32,
    memory_mib: u64,
    seed: u64,
    core: Option<usize>,
}

impl Guest<'_> {
    fn command(&self) -> Command {
        // Both threads of the emulator on one core: they wait for each other, and never work at once.
        let mut words: Vec<String> = self.core.map_or_else(Vec::new, |core| {
            ["taskset", "-c"].map(str::to_owned).into_iter().chain([core.to_string()]).collect()
        });
        words.extend(self.machine.emulator.iter().cloned());
        let options = format!(
            "-nodefaults -display none -no-reboot -m {} -cpu max,-rdrand,-rdseed -seed 7 -icount shift=0,sleep=off \
         -rtc base=2020-01-01,clock=vm -serial null -debugcon stdio -device isa-debug-exit,iobase=0xf4,iosize=0x04",
            self.memory_mib
        );
        words.extend(options.split(' ').map(str::to_owned));
        let path = |path: &Path| path.display().to_string();
        words.extend([
            "-kernel".to_owned(),
            path(&self.machine.kernel),
            "-initrd".to_owned(),
            path(self.image),
        ]);
        words.extend(["-append".to_owned(), command_line(self.speed, self.seed)]);
        let mut command = Command::new(&words[0]);
        // Ctrl-C in a terminal is for this process, which then ends the guest.
        command
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command
    }

    /// The lines that the guest reports; `None` if `watch` ended it.
    fn boot(&self, duration_ns: u64, watch: &impl Watch) -> Result<Option<Vec<String>>, String> {
        let program = &self.machine.emulator[0];
        let child = self.command().spawn().map_err(|error| format!("{program}: {error}"))?;
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
                    None => lines.push(line),
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
            return Err(format!("the guest {failed}"));
        }
        let mut said = String::new();
        if let Some(mut stderr) = emulator.0.stderr.take() {
            // What it wrote is there or is not.
            let _ = stderr.read_to_string(&mut said);
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing more");
        Err(format!("the guest did not come to its end; {program} reports: {last}"))
    }
}
