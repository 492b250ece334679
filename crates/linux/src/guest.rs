//! One guest for one run.

use crate::Error;
use crate::answer;
use crate::boot::{Guest, Watch};
use crate::calls;
use crate::image::Image;
use crate::machine::Machine;
use crate::plan::{self, Algorithms, Plan};
use cwnd_kernel::Registration;
use cwnd_results::Run;
use cwnd_scenario::Scenario;
use std::fs;
use std::path::Path;

/// The program inside guests; empty where none could be compiled.
pub const INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/init"));

/// Boots a guest on processor `core` and returns its run, `None` if `watch` ended it.
///
/// # Errors
///
/// If the scenario, this machine or the guest prevents it.
pub fn run(
    scenario: &Scenario,
    seed: u64,
    algorithms: Algorithms,
    machine: &Machine,
    core: Option<usize>,
    watch: &impl Watch,
) -> Result<Option<Run>, Error> {
    if INIT.is_empty() {
        return Err(Error::Machine(
            "this build has no guest program; in a clone: make kernel".to_owned(),
            None,
        ));
    }
    let plan = plan::write(scenario, seed, algorithms)?;
    let image = make_image(scenario, &plan, machine)?;
    let (speed, memory_mib) = (plan.speed, plan.memory_mib);
    let guest = Guest { machine, image: &image, speed, memory_mib, seed, core };
    let Some(lines) = guest.boot(scenario.duration_ns, watch)? else { return Ok(None) };
    answer::read(scenario, seed, &plan, &lines).map(Some)
}

fn read_file(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(Error::of(file.display()))
}

fn make_image(scenario: &Scenario, plan: &Plan, machine: &Machine) -> Result<Vec<u8>, Error> {
    let mut image = begin_image();
    let mut text = String::new();
    for (name, file) in machine.modules_for(&plan.modules) {
        image.add_file(&format!("modules/{name}.ko"), &read_file(file)?);
        text += &format!("module /modules/{name}.ko\n");
    }
    if !plan.programs.is_empty() {
        let btf = read_file(&machine.btf)?;
        let resolve = |flow: usize| {
            scenario.flows[flow].cca.resolve().map_err(|error| Error::Unsupported(error.to_string()))
        };
        let chosen = plan.programs.iter().map(|(_, flow)| resolve(*flow)).collect::<Result<Vec<_>, _>>()?;
        let registrations: Vec<_> = (plan.programs.iter().zip(&chosen))
            .map(|((name, _), (algorithm, params))| Registration { algorithm, params, name })
            .collect();
        let calls = cwnd_kernel::script(&registrations, &btf)?;
        calls.iter().for_each(|call| text += &calls::line(call));
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

/// The kernel's description of its types, from a guest: the first thing that a new machine is asked for.
///
/// # Errors
///
/// If this machine or the guest prevents it.
pub fn read_types(machine: &Machine, watch: &impl Watch) -> Result<Option<Vec<u8>>, Error> {
    let image = finish_image(begin_image(), "dump /sys/kernel/btf/vmlinux\n");
    let guest = Guest { machine, image: &image, speed: 1, memory_mib: 512, seed: 1, core: None };
    let Some(lines) = guest.boot(1, watch)? else { return Ok(None) };
    let digits = lines.iter().filter_map(|line| line.strip_prefix("dump ")).flat_map(str::bytes);
    let nibbles: Vec<u8> = digits.map(|digit| char::from(digit).to_digit(16).unwrap_or(0) as u8).collect();
    Ok(Some(nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
}
