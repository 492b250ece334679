//! How much memory the program has allocated.

#![expect(unsafe_code, reason = "an allocator that counts")]

#[cfg(feature = "huge-pages")]
use cwnd_heap::Allocator;
#[cfg(not(feature = "huge-pages"))]
use std::alloc::System as Allocator;
use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: the wheel's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { Allocator.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as the caller promises.
        unsafe { Allocator.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        HELD.fetch_sub(layout.size(), Relaxed);
        add(new_size);
        // SAFETY: as the caller promises.
        unsafe { Allocator.realloc(ptr, layout, new_size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller promises.
        unsafe { Allocator.dealloc(ptr, layout) }
    }
}

fn add(bytes: usize) {
    MOST.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

/// Returns what `work` returns, and by how many bytes the most that was held meanwhile exceeds what was held before.
pub fn watch<T>(work: impl FnOnce() -> T) -> (T, usize) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _watching = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    let result = work();
    (result, MOST.load(Relaxed) - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_was_held_counts_and_what_was_freed_before_does_not() {
        let allocate = |bytes: usize| drop(std::hint::black_box(vec![1_u8; bytes]));
        let (_, most) = watch(|| (0..3).for_each(|_| allocate(1 << 24)));
        assert!((1 << 24..1 << 25).contains(&most), "{most}");
        // Other tests allocate a little meanwhile.
        assert!(watch(|| allocate(10)).1 < 1 << 20);
    }
}
