//! The allocator of the wheel and of the benchmarks.
//!
//! On Linux it asks for huge pages. A run of thousands of flows goes through all of their state again and again; with small pages,
//! the processor waits longer to learn where that is than for the state itself.

#[cfg(target_os = "linux")]
pub use tikv_jemallocator::Jemalloc as Allocator;

#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as Allocator;

/// Read by the allocator when it starts.
#[cfg(target_os = "linux")]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8; 11] = b"thp:always\0";

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::ffi::{CStr, c_char};
    use std::ptr::null_mut;

    #[test]
    fn the_allocator_has_its_options() {
        let mut thp: *const c_char = null_mut();
        let mut size = size_of_val(&thp);
        // SAFETY: the option is a string that stays, and `size` is that of the pointer to it.
        let thp = unsafe {
            let read = tikv_jemalloc_sys::mallctl(
                c"opt.thp".as_ptr(),
                (&raw mut thp).cast(),
                &mut size,
                null_mut(),
                0,
            );
            assert_eq!(read, 0);
            CStr::from_ptr(thp)
        };
        assert_eq!(thp, c"always");
    }
}
