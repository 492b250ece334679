//! A queue in a buffer whose size is a power of two.

/// First in, first out; grows by doubling, never shrinks. What `VecDeque` offers, in half the instructions.
pub struct Ring<T> {
    /// Its length is a power of two.
    slots: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    pub fn new() -> Ring<T> {
        Ring { slots: Box::new([T::default()]), head: 0, len: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn slot(&self, index: usize) -> usize {
        self.head.wrapping_add(index) & (self.slots.len() - 1)
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: slot() is below the length, a power of two.
        Some(unsafe { self.slots.get_unchecked(self.slot(0)) })
    }

    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.get_mut(0)
    }

    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len.wrapping_sub(1))
    }

    pub fn get(&self, index: usize) -> Option<&T> {
        (index < self.len).then(|| &self.slots[self.slot(index)])
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        (index < self.len).then(|| {
            let slot = self.slot(index);
            &mut self.slots[slot]
        })
    }

    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        // SAFETY: slot() is below the length, a power of two.
        unsafe { *self.slots.get_unchecked_mut(slot) = value };
        self.len += 1;
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(value)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).filter_map(|index| self.get(index))
    }

    /// How many values at the front satisfy `before`, which holds for a first part and for none after it.
    pub fn partition_point(&self, before: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = (low + high) / 2;
            if before(&self.slots[self.slot(middle)]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots = vec![T::default(); 2 * self.slots.len()].into_boxed_slice();
        for (slot, value) in slots.iter_mut().zip(self.iter()) {
            *slot = *value;
        }
        self.slots = slots;
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_is_a_queue(steps in prop::collection::vec(prop::option::of(0u32..100), 1..200)) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            for step in steps {
                match step {
                    Some(value) => { ring.push_back(value); queue.push_back(value); }
                    None => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                }
                prop_assert_eq!(ring.front(), queue.front());
                prop_assert!(ring.iter().eq(&queue));
            }
        }

        #[test]
        fn a_partition_point_is_found_by_halving(mut values in prop::collection::vec(0u32..50, 0..40), bound in 0u32..50) {
            values.sort();
            let mut ring = Ring::new();
            values.iter().for_each(|&value| ring.push_back(value));
            prop_assert_eq!(ring.partition_point(|&v| v < bound), values.partition_point(|&v| v < bound));
        }
    }
}
