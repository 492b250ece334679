//! A queue that takes little more memory than what is in it.
#![expect(unsafe_code, reason = "keeps a ring in one allocation without checks of bounds")]

use crate::memory::prefetch::prefetch;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};

/// First in, first out. A short one is a circle that grows by doubling; a long one a row of chunks, each of about a
/// sixteenth of its length and no fewer than 512 slots, which are used again when their values have gone. Until something
/// comes it has no memory.
#[repr(align(32))] // it is in one cache line
pub struct Ring<T> {
    /// The first value.
    head: *mut T,
    /// Where the next value goes.
    tail: *mut T,
    /// Slots from the head to the end of its chunk: at least one.
    head_slots: u32,
    /// Slots from the tail on that are known to be free.
    tail_slots: u32,
    len: u32,
    /// Slots of a circle; 0: it is a row, or has no memory.
    circle_slots: u32,
    values: PhantomData<T>,
}

// SAFETY: its chunks belong to it alone, as those of a vector.
unsafe impl<T: Send> Send for Ring<T> {}

/// The link behind the slots of a chunk.
struct ChunkLink {
    /// In a circle this one. The last of a row may have one behind it in which nothing is.
    next: Option<NonNull<ChunkLink>>,
    slots: u32,
}

const LEAST_SLOTS: u32 = 4;
/// Most slots of a circle.
const MOST_SLOTS: u32 = 256;
/// Least slots of a chunk in a row.
const LEAST_CHUNK_SLOTS: u32 = 512;
const VALUES_PER_CHUNK_SLOT: u32 = 16;

impl<T: Copy> Default for Ring<T> {
    fn default() -> Self {
        Ring::new()
    }
}

impl<T: Copy> Ring<T> {
    pub const fn new() -> Ring<T> {
        Ring {
            head: null_mut(),
            tail: null_mut(),
            head_slots: 0,
            tail_slots: 0,
            len: 0,
            circle_slots: 0,
            values: PhantomData,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Values will be taken out soon.
    #[inline(always)]
    pub fn prefetch_front(&self) {
        let prefetch_lines =
            |first: *mut T| (0..3).for_each(|line| prefetch(first.wrapping_byte_add(64 * line)));
        prefetch_lines(self.head);
        if self.head_slots < self.len.min(self.circle_slots) {
            let behind = self.circle_slots - self.head_slots;
            prefetch_lines(self.head.wrapping_sub(behind as usize));
        }
    }

    /// Values will come soon.
    #[inline(always)]
    pub fn prefetch_back(&self) {
        prefetch(self.tail);
        prefetch(self.tail.wrapping_byte_add(64));
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: the first value is there.
        Some(unsafe { &*self.head })
    }

    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }

    /// The last value, at once also if there are many.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        // SAFETY: there is a value, and it was written just before the slot where the next one goes.
        (self.len > 0).then(|| unsafe { &*self.tail.sub(1) })
    }

    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len().wrapping_sub(1))
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: the value is there.
        (index < self.len()).then(|| unsafe { &*self.slot(index) })
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: the value is there.
        (index < self.len()).then(|| unsafe { &mut *self.slot(index) })
    }

    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.tail_slots == 0 {
            self.make_room();
        }
        // SAFETY: the slot is there, and no value in it.
        unsafe {
            self.tail.write(value);
            self.tail = self.tail.add(1);
        }
        self.tail_slots -= 1;
        self.len += 1;
    }

    /// Puts `value` before the values at the back for which `later` holds.
    #[inline(always)]
    pub fn push_sorted(&mut self, value: T, later: impl Fn(&T) -> bool) {
        let out_of_order = self.back().is_some_and(&later);
        self.push_back(value);
        if out_of_order {
            self.settle_back(later);
        }
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = *self.front()?;
        // SAFETY: behind a slot is another or the end of the chunk.
        self.head = unsafe { self.head.add(1) };
        self.len -= 1;
        self.head_slots -= 1;
        if self.head_slots == 0 {
            self.leave_chunk();
        }
        Some(value)
    }

    /// Takes out the first `count` values, of as many at least.
    pub fn skip(&mut self, mut count: usize) {
        while count > 0 {
            let here = count.min(self.head_slots as usize);
            count -= here;
            // SAFETY: the chunk has as many slots from the head on.
            self.head = unsafe { self.head.add(here) };
            self.len -= here as u32;
            self.head_slots -= here as u32;
            if self.head_slots == 0 {
                self.leave_chunk();
            }
        }
    }

    /// Moves the value at the back before all those in a row that come `after` it; returns its place.
    pub fn settle_back(&mut self, after: impl Fn(&T) -> bool) -> usize {
        let Some(&value) = self.get(self.len().wrapping_sub(1)) else { return 0 };
        let mut place = self.len() - 1;
        while place > 0
            && let Some(&before) = self.get(place - 1)
            && after(&before)
        {
            *self.get_mut(place).expect("it is there") = before;
            place -= 1;
        }
        *self.get_mut(place).expect("it is there") = value;
        place
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts().flatten()
    }

    /// How many values at the front satisfy `before`, which holds for a first part and for none after it.
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let mut count = 0;
        for part in self.parts() {
            let passed = part.partition_point(&before);
            count += passed;
            if passed < part.len() {
                break;
            }
        }
        count
    }

    /// The values in order, as they stand in chunks.
    pub fn parts(&self) -> impl Iterator<Item = &[T]> {
        let (mut head, mut slots, mut left) = (self.head, self.head_slots as usize, self.len());
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            // SAFETY: from `head` on the chunk has this many slots with values; if these are not all, others are in the
            // next.
            unsafe {
                let part = std::slice::from_raw_parts(head, left.min(slots));
                left -= part.len();
                if left > 0 {
                    (head, slots) = Self::next_slots(head.add(slots));
                }
                Some(part)
            }
        })
    }

    /// Where value `index` is.
    ///
    /// # Safety
    ///
    /// There is one.
    #[inline(never)]
    unsafe fn slot(&self, mut index: usize) -> *mut T {
        let (mut head, mut slots) = (self.head, self.head_slots as usize);
        // SAFETY: a value that is not in this chunk is in a later one.
        unsafe {
            while index >= slots {
                index -= slots;
                (head, slots) = Self::next_slots(head.add(slots));
            }
            head.add(index)
        }
    }

    /// The first slot of the chunk behind that which ends at `end`, and their number.
    ///
    /// # Safety
    ///
    /// There are values in it.
    unsafe fn next_slots(end: *mut T) -> (*mut T, usize) {
        // SAFETY: a chunk ends at `end`, and its link is behind it.
        unsafe {
            let next = Self::link_at(end).as_ref().next.expect("more values are in another chunk");
            (Self::first_slot(next), next.as_ref().slots as usize)
        }
    }

    /// A value comes, and no slot is known for it.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        assert!(self.len < u32::MAX / 2, "no memory holds as many");
        if self.len == self.circle_slots {
            return self.grow();
        }
        if self.circle_slots == 0 {
            // SAFETY: the last chunk ends at the tail.
            unsafe {
                let next = &mut Self::link_at(self.tail).as_mut().next;
                let chunk = *next.get_or_insert_with(|| Self::allocate(self.chunk_slots()));
                (self.tail, self.tail_slots) = (Self::first_slot(chunk), chunk.as_ref().slots);
            }
            return;
        }
        // SAFETY: the only chunk ends this many slots behind the head.
        unsafe {
            let end = self.head.add(self.head_slots as usize);
            if self.tail == end {
                self.tail = end.sub(self.circle_slots as usize);
            }
            let until = if self.tail < self.head { self.head } else { end };
            self.tail_slots = until.offset_from(self.tail) as u32;
        }
    }

    /// The circle is full.
    fn grow(&mut self) {
        let mut slots = (2 * self.len).max(LEAST_SLOTS);
        let is_row = slots > MOST_SLOTS;
        if is_row {
            slots = self.len + self.chunk_slots();
        }
        let mut chunk = Self::allocate(slots);
        let first = Self::first_slot(chunk);
        let mut tail = first;
        // SAFETY: the new chunk has slots for more than all values; the old one is the only other.
        unsafe {
            for part in self.parts() {
                tail.copy_from_nonoverlapping(part.as_ptr(), part.len());
                tail = tail.add(part.len());
            }
            if !self.head.is_null() {
                Self::free(Self::link_at(self.head.add(self.head_slots as usize)));
            }
            if !is_row {
                chunk.as_mut().next = Some(chunk);
            }
        }
        self.circle_slots = if is_row { 0 } else { slots };
        (self.head, self.head_slots) = (first, slots);
        (self.tail, self.tail_slots) = (tail, slots - self.len);
    }

    /// The head is at the end of a chunk.
    #[cold]
    #[inline(never)]
    fn leave_chunk(&mut self) {
        // SAFETY: a chunk ends there, that of a circle after all of its slots; if more values are there, they are in the next,
        // and nothing leads to this one.
        unsafe {
            if self.circle_slots > 0 {
                self.head = self.head.sub(self.circle_slots as usize);
                self.head_slots = self.circle_slots;
                if self.len == 0 {
                    (self.tail, self.tail_slots) = (self.head, self.head_slots);
                }
                return;
            }
            let mut left = Self::link_at(self.head);
            if self.len == 0 {
                (self.head, self.head_slots) = (Self::first_slot(left), left.as_ref().slots);
                (self.tail, self.tail_slots) = (self.head, self.head_slots);
                return;
            }
            let (head, slots) = Self::next_slots(self.head);
            (self.head, self.head_slots) = (head, slots as u32);
            let last = Self::link_at(self.tail.add(self.tail_slots as usize)).as_mut();
            if last.next.is_none() && left.as_ref().slots >= self.chunk_slots() / 2 {
                left.as_mut().next = None;
                last.next = Some(left);
            } else {
                Self::free(left);
            }
        }
    }

    /// Returns the slots of the next chunk in a row.
    fn chunk_slots(&self) -> u32 {
        (self.len / VALUES_PER_CHUNK_SLOT).max(LEAST_CHUNK_SLOTS)
    }
}

impl<T> Ring<T> {
    fn allocate(slots: u32) -> NonNull<ChunkLink> {
        let (layout, link_at) = Self::layout(slots);
        // SAFETY: the layout has room for a link there.
        unsafe {
            let Some(chunk) = NonNull::new(alloc(layout)) else { handle_alloc_error(layout) };
            let link = chunk.byte_add(link_at).cast();
            link.write(ChunkLink { next: None, slots });
            link
        }
    }

    /// # Safety
    ///
    /// It was allocated so, and nothing leads there any more.
    unsafe fn free(link: NonNull<ChunkLink>) {
        let first = Self::first_slot(link);
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(first.cast(), Self::layout(link.as_ref().slots).0) }
    }

    /// Returns the layout of a chunk, and the offset of its link.
    fn layout(slots: u32) -> (Layout, usize) {
        let values = Layout::array::<T>(slots as usize);
        values.and_then(|values| values.extend(Layout::new::<ChunkLink>())).expect("no memory holds as many")
    }

    fn first_slot(link: NonNull<ChunkLink>) -> *mut T {
        // SAFETY: it stands so far behind its chunk's beginning.
        unsafe { link.as_ptr().byte_sub(Self::layout(link.as_ref().slots).1).cast() }
    }

    /// # Safety
    ///
    /// A chunk's slots end at `end`.
    unsafe fn link_at(end: *mut T) -> NonNull<ChunkLink> {
        let padding = end.addr().wrapping_neg() % align_of::<ChunkLink>();
        // SAFETY: the chunk goes on as far as its link.
        unsafe { NonNull::new_unchecked(end.byte_add(padding).cast()) }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the chunks from the first on were allocated, and are not used again.
        unsafe {
            if self.head.is_null() {
                return;
            }
            let mut chunk = Some(Self::link_at(self.head.add(self.head_slots as usize)));
            while let Some(link) = chunk {
                chunk = link.as_ref().next.filter(|_| self.circle_slots == 0);
                Self::free(link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    impl<T: Copy> Ring<T> {
        /// All that it has allocated.
        fn slots(&self) -> usize {
            // SAFETY: the ring owns its chunks, the first of which ends there.
            let first = || unsafe { Self::link_at(self.head.add(self.head_slots as usize)) };
            let (mut slots, mut chunk) = (0, (!self.head.is_null()).then(first));
            while let Some(link) = chunk {
                // SAFETY: as above.
                let link = unsafe { link.as_ref() };
                (slots, chunk) = (slots + link.slots, link.next.filter(|_| self.circle_slots == 0));
            }
            slots as usize
        }
    }

    fn check<T: Copy + PartialEq + std::fmt::Debug>(
        steps: &[(bool, usize)],
        value: impl Fn(usize) -> T,
    ) -> Result<(), TestCaseError> {
        let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
        let mut next = 0;
        for &(comes, count) in steps {
            for _ in 0..count {
                if comes {
                    ring.push_back(value(next));
                    queue.push_back(value(next));
                    next += 1;
                } else {
                    prop_assert_eq!(ring.pop_front(), queue.pop_front());
                }
                prop_assert_eq!(
                    (ring.len(), ring.front(), ring.back()),
                    (queue.len(), queue.front(), queue.back())
                );
            }
            prop_assert!(ring.iter().eq(&queue));
            for index in [0, count / 2, count, count * 2, queue.len().wrapping_sub(1)] {
                prop_assert_eq!(ring.get(index), queue.get(index));
            }
            for change in [Ring::front_mut, Ring::back_mut] {
                if let Some(slot) = change(&mut ring) {
                    *slot = value(next + 1);
                }
            }
            for change in [VecDeque::front_mut, VecDeque::back_mut] {
                if let Some(slot) = change(&mut queue) {
                    *slot = value(next + 1);
                }
            }
            if let Some(slot) = ring.get_mut(count) {
                *slot = value(next + 2);
                queue[count] = value(next + 2);
            }
        }
        prop_assert!(ring.iter().eq(&queue));
        Ok(())
    }

    proptest! {
        #[test]
        fn values_that_come_out_of_order_are_sorted_in(values in prop::collection::vec(0..400_usize, 0..600)) {
            let (mut ring, mut sorted) = (Ring::new(), Vec::new());
            for (place, value) in values.into_iter().enumerate() {
                // Mostly later than those before.
                let value = (place + value / 20, place);
                ring.push_sorted(value, |other| other.0 > value.0);
                sorted.push(value);
            }
            sorted.sort();
            prop_assert!(ring.iter().eq(&sorted));
        }

        #[test]
        fn values_are_skipped_as_if_they_were_taken_out(
            steps in prop::collection::vec((0usize..700, 0.0..=1.0_f64), 1..30),
        ) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            for (count, part) in steps {
                for value in 0..count {
                    ring.push_back(value);
                    queue.push_back(value);
                }
                let gone = (part * queue.len() as f64) as usize;
                ring.skip(gone);
                queue.drain(..gone);
                prop_assert!(ring.iter().eq(&queue));
            }
        }

        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec((any::<bool>(), 0usize..9), 1..100)) {
            check(&steps, |value| value as u32)?;
        }

        #[test]
        fn a_ring_is_a_queue_through_growth_and_decline(
            steps in prop::collection::vec((any::<bool>(), 0usize..2000), 1..20),
        ) {
            check(&steps, |value| value as u32)?;
            check(&steps, |value| value as u8)?;
            check(&steps, |value| [value as u64; 3])?;
            check(&steps, |value| value as u128)?;
        }

        #[test]
        fn a_partition_point_is_found_by_halving(
            gone in 0usize..300,
            mut values in prop::collection::vec(0u32..50, 0..400),
            bound in 0u32..50,
        ) {
            values.sort();
            let mut ring = Ring::new();
            (0..gone).for_each(|_| ring.push_back(0));
            for &value in &values {
                ring.push_back(value);
                ring.pop_front();
            }
            (0..gone).for_each(|_| _ = ring.pop_front());
            let values: Vec<u32> = ring.iter().copied().collect();
            prop_assert_eq!(ring.partition_point(|&v| v < bound), values.partition_point(|&v| v < bound));
        }

        #[test]
        fn a_ring_has_little_more_slots_than_values_and_a_few_chunks(
            lengths in prop::collection::vec(1..if cfg!(miri) { 2000 } else { 20_000_usize }, 1..10),
        ) {
            let (mut ring, mut longest) = (Ring::new(), 0);
            for length in lengths {
                longest = longest.max(length);
                let chunk = (longest / VALUES_PER_CHUNK_SLOT as usize).max(LEAST_CHUNK_SLOTS as usize);
                let most = |len| len + MOST_SLOTS as usize + 3 * chunk;
                while ring.len() < length {
                    // As in slow start.
                    ring.push_back(0);
                    ring.push_back(0);
                    ring.pop_front();
                    prop_assert!(ring.slots() <= most(ring.len()), "{} of {}", ring.len(), ring.slots());
                }
                while ring.len() > length {
                    ring.pop_front();
                    prop_assert!(ring.slots() <= most(ring.len()), "{} of {}", ring.len(), ring.slots());
                }
            }
        }
    }

    #[test]
    fn a_ring_in_which_nothing_was_has_no_memory_and_one_with_few_values_has_little() {
        let mut ring = Ring::<u64>::new();
        assert_eq!(ring.slots(), 0);
        for value in 0..1000 {
            ring.push_back(value);
            assert_eq!(ring.pop_front(), Some(value));
        }
        assert_eq!(ring.slots(), LEAST_SLOTS as usize);
        (0..8).for_each(|value| ring.push_back(value));
        for value in 8..1000 {
            ring.push_back(value);
            ring.pop_front();
        }
        assert!(ring.slots() <= 3 * 8, "{}", ring.slots());
    }
}
