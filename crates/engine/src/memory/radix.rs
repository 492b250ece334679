//! Sorting by a small number.
#![expect(unsafe_code, reason = "counts by digit without checks of bounds")]

/// At least.
const DIGIT_BITS_MIN: u32 = 8;
/// At most: the counts of one digit fit in a first cache.
const DIGIT_BITS_MAX: u32 = 13;

/// Room to sort in.
#[derive(Default)]
pub struct Radix {
    spare: Vec<u64>,
    /// By digit.
    places: Vec<u32>,
}

impl Radix {
    /// Sorts `values` by their upper halves, which are less than `bound`; equal ones stay in their order.
    pub fn sort_by_upper_half(&mut self, values: &mut Vec<u64>, bound: u64) {
        let Radix { spare, places } = self;
        spare.resize(values.len(), 0);
        let bits = u64::BITS - bound.leading_zeros();
        // Few values are gone through once more sooner than many counts.
        let most_bits = (values.len() as u64 + 1).ilog2().clamp(DIGIT_BITS_MIN, DIGIT_BITS_MAX);
        let digit_bits = bits.div_ceil(bits.div_ceil(most_bits));
        places.resize(places.len().max(1 << digit_bits), 0);
        let places = &mut places[..1 << digit_bits];
        for shift in (0..bits).step_by(digit_bits as usize).map(|bit| 32 + bit) {
            sort_by_digit(values, spare, places, shift);
            std::mem::swap(values, spare);
        }
    }
}

/// Puts `values` into `sorted`, which has the same length, in the order of the digit that begins at bit `shift`. `places` is
/// room for a number for each digit.
#[inline(never)]
fn sort_by_digit(values: &[u64], sorted: &mut [u64], places: &mut [u32], shift: u32) {
    assert!(places.len().is_power_of_two() && values.len() == sorted.len());
    let mask = places.len() - 1;
    let digit = |value: u64| (value >> shift) as usize & mask;
    places.fill(0);
    for &value in values {
        // SAFETY: a digit is at most `mask`, the last index.
        *unsafe { places.get_unchecked_mut(digit(value)) } += 1;
    }
    let mut before = 0;
    for place in &mut *places {
        before += std::mem::replace(place, before);
    }
    for &value in values {
        // SAFETY: as above. The places of a digit are as many as its values, and those of all digits as many as `sorted` has.
        unsafe {
            let place = places.get_unchecked_mut(digit(value));
            *sorted.get_unchecked_mut(*place as usize) = value;
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_are_sorted_by_their_upper_halves_and_keep_their_order(
            bound in prop_oneof![1..5000_u64, 1..=u64::from(u32::MAX)],
            len in prop_oneof![0..300_u64, if cfg!(miri) { 300..600 } else { 10_000..20_000_u64 }],
            factor in any::<u64>(),
        ) {
            let draw = |place: u64| (place + 1).wrapping_mul(factor | 1) >> 32;
            let values = (0..len).map(|place| (draw(place) % bound) << 32 | place);
            let mut sorted: Vec<u64> = values.collect();
            let mut expected = sorted.clone();
            expected.sort_by_key(|value| value >> 32);
            Radix::default().sort_by_upper_half(&mut sorted, bound);
            prop_assert_eq!(sorted, expected);
        }
    }
}
