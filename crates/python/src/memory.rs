//! The end of a process that has no more memory: one line and exit code 2, not an abort.

#![expect(unsafe_code, reason = "asks the allocator for memory before a run takes it")]

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;

/// An allocator that ends the process where it has no memory.
pub struct OrEnd<A>(pub A);

/// A caller who asks for this much at once may ask whether there is as much.
const ASKED_BYTES: usize = 64 << 20;

// SAFETY: each call goes to the allocator as it is.
unsafe impl<A: GlobalAlloc> GlobalAlloc for OrEnd<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        check(unsafe { self.0.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        check(unsafe { self.0.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        check(unsafe { self.0.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(memory, layout) }
    }
}

#[inline(always)]
fn check(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() && bytes < ASKED_BYTES {
        end()
    }
    memory
}

#[cold]
fn end() -> ! {
    unsafe extern "C" {
        /// Exit of C's library: ends the process at once, and calls nothing that might want memory.
        safe fn _exit(code: i32) -> !;
    }
    let _ = std::io::stderr().write_all(b"cwnd: error: there is not as much memory as this takes\n");
    _exit(2)
}
