//! Intervals of numbers and of time: in order, and apart from each other.

/// Joins `intervals` in any order of which one begins no later than `step` behind the end of another.
pub fn merged(mut intervals: Vec<[u64; 2]>, step: u64) -> Vec<[u64; 2]> {
    intervals.sort_unstable();
    let mut joined: Vec<[u64; 2]> = Vec::with_capacity(intervals.len());
    for [from, until] in intervals {
        match joined.last_mut() {
            Some(last) if from <= last[1].saturating_add(step) => last[1] = last[1].max(until),
            _ => joined.push([from, until]),
        }
    }
    joined
}

/// Returns true if `spans` of time end after they begin, and each before the next begins.
pub fn are_spans(spans: &[[u64; 2]]) -> bool {
    spans.iter().all(|[from, until]| from < until) && are_apart(spans)
}

/// Returns true if each of `intervals` ends before the next begins.
pub fn are_apart(intervals: &[[u64; 2]]) -> bool {
    intervals.is_sorted_by(|one, next| one[1] < next[0])
}
