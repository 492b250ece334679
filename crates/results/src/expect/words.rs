//! Expectations and numbers in words.

use cwnd_scenario::{Direction, Expectation, Kind};

/// An expectation as a clause.
pub fn words(expectation: &Expectation) -> String {
    format!("{}{} {}", subject(expectation), when(expectation), wanted(expectation))
}

fn subject(expectation: &Expectation) -> String {
    let name = &expectation.name;
    let mut subject = match (expectation.kind, expectation.statistic.as_deref()) {
        (Kind::Event, Some("time_s")) => format!("time of '{name}'"),
        (Kind::Event, _) => format!("number of '{name}'"),
        (_, None | Some("every")) => name.clone(),
        (_, Some(statistic)) => format!("{statistic} of {name}"),
    };
    if let Some(flow) = expectation.flow {
        subject += &format!(" of flow {flow}");
    }
    if let Some(link) = &expectation.link {
        let shown: String = link.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
        subject += &format!(" of link {shown}");
    }
    subject
}

fn when(expectation: &Expectation) -> String {
    if let Some(at_ns) = expectation.at_ns {
        return format!(" at {} s", digits(at_ns as f64 / 1e9));
    }
    if let Some(after) = &expectation.after {
        let number = expectation.number.map(|number| format!(" {number}")).unwrap_or_default();
        let rounds = expectation.rounds.map(|rounds| format!(" for {} rounds", digits(rounds)));
        return format!(" after {after}{number}{}", rounds.unwrap_or_default());
    }
    let time = |word: &str, ns: Option<u64>| {
        ns.map(|ns| format!(" {word} {} s", digits(ns as f64 / 1e9))).unwrap_or_default()
    };
    time("from", expectation.from_ns) + &time("to", expectation.to_ns)
}

fn wanted(expectation: &Expectation) -> String {
    match expectation.never {
        Some(Direction::Falls) => return "never falls".to_owned(),
        Some(Direction::Rises) => return "never rises".to_owned(),
        None => {}
    }
    match (expectation.at_least, expectation.at_most) {
        (Some(low), Some(high)) if low == high => format!("is {}", digits(low)),
        (low, high) => {
            let low = low.map(|low| format!("at least {}", digits(low)));
            let high = high.map(|high| format!("at most {}", digits(high)));
            low.into_iter().chain(high).collect::<Vec<_>>().join(" and ")
        }
    }
}

/// Four digits, or all of the whole part; as the tables of `cwnd` have it.
pub fn digits(number: f64) -> String {
    if number.abs() >= 1000.0 {
        return format!("{number:.0}");
    }
    let rounded: f64 = format!("{number:.3e}").parse().expect("a number is one");
    if 0.0 < rounded.abs() && rounded.abs() < 1e-3 { format!("{rounded:e}") } else { rounded.to_string() }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn numbers_have_four_digits_or_all_of_their_whole_part() {
        let shown = [
            (0.0, "0"),
            (2.0, "2"),
            (66.666_66, "66.67"),
            (0.123_449, "0.1234"),
            (999.96, "1000"),
            (123_456.5, "123456"),
            (-1234.6, "-1235"),
            (0.000_012_345_6, "1.235e-5"),
            (0.000_5, "5e-4"),
            (0.001, "0.001"),
        ];
        for (number, text) in shown {
            assert_eq!(digits(number), text);
        }
    }
}
