//! The allocator of the wheel and of the benchmarks.
//!
//! On Linux it asks for huge pages. A run of thousands of flows goes through all of their state again and again; with small pages,
//! the processor spends more time on translating addresses (TLB misses) than on loading the state.

#![expect(unsafe_code, reason = "sets an option of the allocator")]

#[cfg(target_os = "linux")]
pub use tikv_jemallocator::Jemalloc as Allocator;

#[cfg(not(target_os = "linux"))]
pub use std::alloc::System as Allocator;

/// The allocator reads it when it starts. Each thread gets one of four arenas, which take some MiB each.
#[cfg(target_os = "linux")]
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static OPTIONS: &[u8; 21] = b"thp:always,narenas:4\0";
