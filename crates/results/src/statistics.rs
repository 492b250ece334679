//! Statistics over runs.

use serde::Serialize;
use statrs::distribution::{Continuous, ContinuousCDF, StudentsT};

/// A mean with its 95 % confidence interval (Student's t); no interval for n < 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Mean of the values.
    pub mean: f64,
    /// Lower end of the 95 % interval of the mean; none for one value.
    pub ci95_low: Option<f64>,
    /// Upper end of the 95 % interval of the mean; none for one value.
    pub ci95_high: Option<f64>,
    /// Number of values.
    pub n: u32,
}

impl Estimate {
    /// Returns the estimate from `values`, one per run.
    pub fn of(values: &[f64]) -> Estimate {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        if values.len() < 2 {
            return Estimate { mean, ci95_low: None, ci95_high: None, n: values.len() as u32 };
        }
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        let half = student_t_quantile(0.975, n - 1.0) * (variance / n).sqrt();
        Estimate { mean, ci95_low: Some(mean - half), ci95_high: Some(mean + half), n: values.len() as u32 }
    }
}

/// The quantile at `p` of Student's t with `df` degrees of freedom.
pub fn student_t_quantile(p: f64, df: f64) -> f64 {
    let t = student_t(df);
    // Newton's method improves the library's quantile, which is off by 1e-4 for a million degrees of freedom.
    (0..2).fold(t.inverse_cdf(p), |x, _| x + (t.sf(x) - (1.0 - p)) / t.pdf(x))
}

/// The chance that Student's t with `df` degrees of freedom exceeds `t`.
pub fn student_t_tail(t: f64, df: f64) -> f64 {
    student_t(df).sf(t)
}

fn student_t(df: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, df).expect("degrees of freedom are more than 0")
}

/// Jain's fairness index: (sum x)^2 / (n sum x^2), 1 when all are equal (Jain, Chiu, Hawe 1984).
pub fn jain_index(shares: impl Iterator<Item = f64>) -> f64 {
    let (n, sum, squares) =
        shares.fold((0.0, 0.0, 0.0), |(n, sum, squares), x| (n + 1.0, sum + x, squares + x * x));
    // Rounding may exceed 1.
    if squares == 0.0 { 1.0 } else { (sum * sum / (n * squares)).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_t_matches_the_printed_tables() {
        for (df, t) in
            [(1, 12.706), (4, 2.776), (10, 2.228), (11, 2.201), (15, 2.131), (29, 2.045), (60, 2.000)]
        {
            let ours = student_t_quantile(0.975, f64::from(df));
            assert!((ours - t).abs() < 6e-4, "df {df}: {ours} is not {t}");
        }
    }

    #[test]
    fn the_tail_of_student_t_has_its_closed_forms() {
        for t in [0.1, 1.0, 7.5, 1e3] {
            let one = 0.5 - f64::atan(t) / std::f64::consts::PI;
            let two = 0.5 - t / (2.0 * (2.0 + t * t).sqrt());
            assert!((student_t_tail(t, 1.0) / one - 1.0).abs() < 1e-9, "t {t}");
            assert!((student_t_tail(t, 2.0) - two).abs() < 1e-12, "t {t}");
        }
    }

    #[test]
    fn the_tail_beyond_a_quantile_is_the_rest() {
        for df in [1.0, 2.0, 3.0, 9.0, 29.0, 999.0, 99_999.0] {
            for p in [0.5, 0.75, 0.975, 0.999, 0.999_999] {
                let tail = student_t_tail(student_t_quantile(p, df), df);
                assert!((tail / (1.0 - p) - 1.0).abs() < 1e-9, "df {df}, p {p}: {tail}");
            }
        }
    }

    #[test]
    fn jain_is_one_for_equal_shares_and_one_over_n_for_a_single_winner() {
        assert_eq!(jain_index([5.0; 4].into_iter()), 1.0);
        assert_eq!(jain_index([1.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
    }

    #[test]
    fn an_estimate_of_two_values_spans_them_by_student_t() {
        let e = Estimate::of(&[1.0, 3.0]);
        assert_eq!((e.mean, e.n), (2.0, 2));
        assert!((e.ci95_high.unwrap() - (2.0 + 12.706_204_736)).abs() < 1e-8);
    }
}
