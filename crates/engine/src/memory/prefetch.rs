//! Requests for memory that will be needed soon.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "an instruction of the processor"))]

/// `pointer` leads to what will be needed soon. It comes to the second cache: more may be on its way there than to the first.
#[inline(always)]
pub fn prefetch<T>(pointer: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it reads nothing that a program sees, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(pointer.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = pointer;
}

/// [`prefetch`] of a value by its place, which is not checked.
#[inline(always)]
pub fn prefetch_at<T>(values: &[T], place: usize) {
    prefetch(values.as_ptr().wrapping_add(place));
}

/// All of `value` will be needed soon.
#[inline(always)]
pub fn prefetch_all<T>(value: &T) {
    let first = (&raw const *value).cast::<u8>();
    (0..size_of::<T>()).step_by(64).for_each(|byte| prefetch(first.wrapping_add(byte)));
    if !align_of::<T>().is_multiple_of(64) {
        prefetch(first.wrapping_add(size_of::<T>() - 1)); // in one cache line more, maybe
    }
}
