//! The table that `table.c` builds, and the only unsafe code of this crate.

#![expect(unsafe_code, reason = "reads the table of the C headers, and calls their hooks")]

use crate::{Ack, Algorithm, CongestionControl, Event, Instance, Param, State, Window};
use std::ffi::{CStr, c_char, c_void};

/// `CC_STATE_BYTES` in words.
pub const STATE_WORDS: usize = 104 / 8;

type Hook = unsafe extern "C" fn(*mut c_void, *const u32, *mut Window, *const Ack);
type HookU8 = unsafe extern "C" fn(*mut c_void, *const u32, *mut Window, *const Ack, u8);
type Check = unsafe extern "C" fn(*const c_void, *const u32, *const Window, *const Ack) -> *const c_char;
type HookU32 = unsafe extern "C" fn(*mut c_void, *const u32, *mut Window, *const Ack) -> u32;

/// `struct cc_algorithm`.
#[repr(C)]
pub struct Entry {
    name: *const c_char,
    title: *const c_char,
    paper: *const c_char,
    kind: *const c_char,
    status: *const c_char,
    year: u32,
    state_bytes: u32,
    param_count: u32,
    params: *const ParamInfo,
    init: Option<Hook>,
    pkts_acked: Option<Hook>,
    cong_avoid: Option<Hook>,
    cong_control: Option<Hook>,
    segment_lost: Option<Hook>,
    ssthresh: Option<HookU32>,
    undo_cwnd: Option<HookU32>,
    set_state: Option<HookU8>,
    cwnd_event: Option<HookU8>,
    broken_invariant: Option<Check>,
}

impl Entry {
    pub fn controls_window(&self) -> bool {
        self.cong_control.is_some()
    }
}

/// `struct cc_param_info`.
#[repr(C)]
struct ParamInfo {
    name: *const c_char,
    choices: *const c_char,
    doc: *const c_char,
    value: u32,
    one: u32,
    min: u32,
    max: u32,
}

// SAFETY: the table is constant; its pointers lead to constants and functions.
unsafe impl Sync for Entry {}

unsafe extern "C" {
    static cwnd_algorithms: [Entry; 0];
    static cwnd_algorithm_count: usize;
    fn cwnd_out_of_range(window: *const Window, ack: *const Ack) -> *const c_char;
    #[cfg(test)]
    static cwnd_struct_bytes: [usize; 4];
}

pub fn entries() -> &'static [Entry] {
    // SAFETY: table.c defines the array with this many entries.
    unsafe { std::slice::from_raw_parts((&raw const cwnd_algorithms).cast(), cwnd_algorithm_count) }
}

/// The first field that is not in its range of `cc.h`, or out of a relation; `None`: all are.
pub fn out_of_range(window: &Window, ack: &Ack) -> Option<&'static str> {
    // SAFETY: the references are valid for the call and not kept.
    let field = unsafe { cwnd_out_of_range(window, ack) };
    (!field.is_null()).then(|| text(field))
}

/// An algorithm of a table that `table.c` makes in another library.
impl Instance {
    /// An instance with the default parameters of the first algorithm of the table at `address`, for one connection.
    ///
    /// # Safety
    ///
    /// `address` is that of `cwnd_algorithms` in a library that was compiled from `table.c` of this version, and that stays loaded to the
    /// end of the program.
    pub unsafe fn of_library(address: usize) -> Instance {
        // SAFETY: the caller's promise.
        let entry: &'static Entry = unsafe { &*std::ptr::with_exposed_provenance(address) };
        let params = describe(0, entry).params.iter().map(|param| param.default).collect();
        Instance { entry, params, state: [0; STATE_WORDS] }
    }
}

/// As in C: with `_` for `-`.
pub fn name(entry: &'static Entry) -> &'static str {
    text(entry.name)
}

pub fn describe(index: usize, entry: &'static Entry) -> Algorithm {
    // SAFETY: params points to param_count constants.
    let params = unsafe { std::slice::from_raw_parts(entry.params, entry.param_count as usize) };
    Algorithm {
        name: name(entry).replace('_', "-"),
        title: text(entry.title),
        year: entry.year,
        paper: text(entry.paper),
        kind: text(entry.kind),
        status: text(entry.status),
        state_bytes: entry.state_bytes,
        params: params
            .iter()
            .map(|p| Param {
                name: text(p.name),
                choices: text(p.choices).split('|').filter(|c| !c.is_empty()).collect(),
                doc: text(p.doc),
                default: p.value,
                one: p.one,
                min: p.min,
                max: p.max,
            })
            .collect(),
        index,
    }
}

fn text(pointer: *const c_char) -> &'static str {
    // SAFETY: every string of the table is a C literal.
    unsafe { CStr::from_ptr(pointer) }.to_str().expect("the headers are UTF-8")
}

impl Instance {
    /// In debug builds: what the header states of its state between hooks holds.
    #[inline(always)]
    fn assert_invariants(&self, w: &Window, a: &Ack) {
        debug_assert_eq!(self.broken_invariant(w, a), None, "{}: {w:?} {a:?}", name(self.entry));
    }

    fn broken_invariant(&self, w: &Window, a: &Ack) -> Option<&'static str> {
        let check = self.entry.broken_invariant?;
        // SAFETY: the function belongs to the entry whose state and parameters these are, and keeps none of them.
        let found = unsafe { check(self.state.as_ptr().cast(), self.params.as_ptr(), w, a) };
        (!found.is_null()).then(|| text(found))
    }
}

/// Hooks are called with the state and the parameters that this instance was built with. The state is 8-byte aligned and
/// CC_STATE_BYTES long; the references are valid for the call and not kept.
impl CongestionControl for Instance {
    fn init(&mut self, w: &mut Window, a: &Ack) {
        if let Some(hook) = self.entry.init {
            // SAFETY: the hook belongs to the entry whose state and parameters these are.
            unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a) }
        }
        self.assert_invariants(w, a);
    }

    #[inline]
    fn pkts_acked(&mut self, w: &mut Window, a: &Ack) {
        if let Some(hook) = self.entry.pkts_acked {
            // SAFETY: the hook belongs to the entry whose state and parameters these are.
            unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a) }
        }
        self.assert_invariants(w, a);
    }

    #[inline]
    fn cong_avoid(&mut self, w: &mut Window, a: &Ack) {
        let hook = self.entry.cong_avoid.expect("cong_avoid is mandatory without cong_control");
        // SAFETY: the hook belongs to the entry whose state and parameters these are.
        unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a) }
        self.assert_invariants(w, a);
    }

    fn has_cong_control(&self) -> bool {
        self.entry.controls_window()
    }

    fn cong_control(&mut self, w: &mut Window, a: &Ack) {
        if let Some(hook) = self.entry.cong_control {
            // SAFETY: the hook belongs to the entry whose state and parameters these are.
            unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a) }
        }
        self.assert_invariants(w, a);
    }

    fn segment_lost(&mut self, w: &mut Window, a: &Ack) {
        if let Some(hook) = self.entry.segment_lost {
            // SAFETY: the hook belongs to the entry whose state and parameters these are.
            unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a) }
        }
        self.assert_invariants(w, a);
    }

    fn ssthresh(&mut self, w: &mut Window, a: &Ack) -> u32 {
        let hook = self.entry.ssthresh.expect("ssthresh is mandatory");
        // SAFETY: the hook belongs to the entry whose state and parameters these are.
        let ssthresh = unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a) };
        self.assert_invariants(w, a);
        ssthresh
    }

    fn set_state(&mut self, w: &mut Window, a: &Ack, state: State) {
        if let Some(hook) = self.entry.set_state {
            // SAFETY: the hook belongs to the entry whose state and parameters these are.
            unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a, state as u8) }
        }
        self.assert_invariants(w, a);
    }

    fn cwnd_event(&mut self, w: &mut Window, a: &Ack, event: Event) {
        if let Some(hook) = self.entry.cwnd_event {
            // SAFETY: the hook belongs to the entry whose state and parameters these are.
            unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a, event as u8) }
        }
        self.assert_invariants(w, a);
    }

    fn undo_cwnd(&mut self, w: &mut Window, a: &Ack) -> u32 {
        let cwnd = match self.entry.undo_cwnd {
            // SAFETY: the hook belongs to the entry whose state and parameters these are.
            Some(hook) => unsafe { hook(self.state.as_mut_ptr().cast(), self.params.as_ptr(), w, a) },
            None => w.cwnd.max(w.prior_cwnd),
        };
        self.assert_invariants(w, a);
        cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_and_c_agree_on_the_size_of_every_shared_struct() {
        let rust = [size_of::<Window>(), size_of::<Ack>(), size_of::<Entry>(), size_of::<ParamInfo>()];
        // SAFETY: the table lasts as long as the program.
        assert_eq!(rust, unsafe { cwnd_struct_bytes });
    }
}
