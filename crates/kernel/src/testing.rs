//! For tests: the hooks of an algorithm as eBPF on mapped memory, one program run per call; and the kernel's own
//! algorithms called by programs.

use crate::btf::Btf;
use crate::loader::{self, Ops, Programs};
use crate::sys::{self, Memory};
use crate::{Error, Host};
use cwnd_algorithms::{Ack, Algorithm, CongestionControl, Event, Params, State, Window};
use std::fs;
use std::os::fd::OwnedFd;

const OBJECTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/events.rs"));

/// The offsets in `event` of `ebpf/events.c`.
const RESULT: usize = 0;
const WHAT: usize = 4;
const WINDOW: usize = 8;
const ACK: usize = WINDOW + size_of::<Window>();
const STATE: usize = ACK + size_of::<Ack>();

const NATIVE: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/native.rs"));

/// Loads as `name` programs that call the kernel's own `cubic` or `bbr`, for a comparison of their cost.
pub fn load_native(host: &Host, which: &str, name: &str) -> Result<(), Error> {
    let (_, elf) = NATIVE.iter().find(|(known, _)| *known == which).expect("cubic or bbr");
    crate::load_object(host, elf, which, &[0], false, name, false)
}

/// The hooks in the order of `python/cwnd/_prove/hooks.h`.
const HOOKS: [&str; 9] = [
    "init",
    "pkts_acked",
    "cong_avoid",
    "cong_control",
    "segment_lost",
    "ssthresh",
    "set_state",
    "cwnd_event",
    "undo_cwnd",
];

/// An algorithm whose hooks run in the kernel.
pub struct InKernel {
    programs: Programs,
    memory: Memory,
    cong_control: bool,
}

impl InKernel {
    /// The size of an event.
    pub const EVENT_BYTES: usize = STATE + 104;

    pub fn new(host: &Host, algorithm: &Algorithm, params: &Params) -> Result<InKernel, Error> {
        host.check()?;
        let types = fs::read(&host.btf).expect("checked with the host");
        let types = Btf::parse(&types).expect("checked with the host");
        let ops = Ops::find(&types).expect("checked with the host");
        let (_, elf) =
            OBJECTS.iter().find(|(name, _)| *name == algorithm.name).expect("one for each algorithm");
        let programs = loader::programs(elf, &algorithm.name, params.stored(), &types, &ops)?;
        let memory = Memory::of(programs.map(".data.event")).expect("the kernel maps it");
        let cong_control = programs.programs.iter().any(|(hook, _)| hook == "cong_control");
        Ok(InKernel { programs, memory, cong_control })
    }

    /// Clears the state, as for a new connection.
    pub fn forget(&mut self) {
        self.memory.write(STATE, [0_u64; 13]);
    }

    /// Runs the hook whose number is the first of an event, which becomes what the hook leaves. `None`: no such hook.
    pub fn event(&mut self, event: &mut [u8; InKernel::EVENT_BYTES]) -> Option<()> {
        let hook = *HOOKS.get(event[0] as usize)?;
        let program = self.programs.programs.iter().position(|(name, _)| name == hook)?;
        event[..WHAT].fill(0);
        for (at, word) in event.chunks_exact(8).enumerate() {
            self.memory.write(8 * at, u64::from_ne_bytes(word.try_into().expect("eight bytes")));
        }
        sys::test_run(&self.programs.programs[program].1).expect("the program runs");
        for (at, word) in event.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&self.memory.read::<u64>(8 * at).to_ne_bytes());
        }
        Some(())
    }

    fn program(&self, hook: &str) -> Option<&OwnedFd> {
        self.programs.programs.iter().find(|(name, _)| name == hook).map(|(_, program)| program)
    }

    /// `false`: the algorithm has no such hook.
    fn run(&mut self, hook: &str, w: &mut Window, a: &Ack, what: u8) -> bool {
        if self.program(hook).is_none() {
            return false;
        }
        self.memory.write(WHAT, u32::from(what));
        self.memory.write(WINDOW, *w);
        self.memory.write(ACK, *a);
        sys::test_run(self.program(hook).expect("it is there")).expect("the program runs");
        *w = self.memory.read(WINDOW);
        true
    }
}

impl CongestionControl for InKernel {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        self.forget();
        self.run("init", w, a, 0);
    }
    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        self.run("pkts_acked", w, a, 0);
    }
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        self.run("cong_avoid", w, a, 0);
    }
    fn has_cong_control(&self) -> bool {
        self.cong_control
    }
    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        self.run("cong_control", w, a, 0);
    }
    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        self.run("segment_lost", w, a, 0);
    }
    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        self.run("ssthresh", w, a, 0);
        self.memory.read(RESULT)
    }
    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        self.run("set_state", w, a, state as u8);
    }
    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        self.run("cwnd_event", w, a, event as u8);
    }
    fn undo_cwnd(&mut self, w: &mut Window, a: &Ack) -> u32 {
        match self.run("undo_cwnd", w, a, 0) {
            true => self.memory.read(RESULT),
            false => w.cwnd.max(w.prior_cwnd),
        }
    }
}
