//! Which name an unknown one most likely means.

use crate::all;

/// Names in the field that are neither a name nor a title of the registry, as [`spelling`] writes them.
const ALIASES: [(&str, &str); 6] = [
    ("bbr1", "bbr"),
    ("bbr2", "bbr3"), // whose successor it is
    ("ctcp", "compound"),
    ("hstcp", "highspeed"),
    ("stcp", "scalable"),
    ("arno", "adaptive-reno"),
];

/// Below this likeness (Jaro-Winkler) a name is another word.
const LIKENESS_MIN: f64 = 0.8;

/// The one of `names` that `wanted` most likely means: spelled otherwise, a title or an alias of the field, else the one
/// with the most similar letters.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&str> = names.into_iter().collect();
    let wanted = spelling(wanted);
    let spelled = |this: &str| names.iter().copied().find(|name| spelling(name) == this);
    let titled = || all().into_iter().find(|algorithm| spelling(algorithm.title) == wanted);
    let alias = || ALIASES.iter().find(|(alias, _)| *alias == wanted);
    let similar = || {
        names
            .iter()
            .map(|name| (strsim::jaro_winkler(&spelling(name), &wanted), *name))
            .filter(|(likeness, _)| *likeness > LIKENESS_MIN)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, name)| name)
    };
    spelled(&wanted)
        .or_else(|| spelled(&spelling(&titled()?.name)))
        .or_else(|| spelled(&spelling(alias()?.1)))
        .or_else(similar)
}

/// Small letters and digits: without "TCP" around, "plus" for a plus, a version's number without its v.
fn spelling(name: &str) -> String {
    let letters: String = name
        .to_lowercase()
        .replace('+', "plus")
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(200) // no name is longer
        .collect();
    let inner = letters.strip_prefix("tcp").unwrap_or(&letters);
    let inner = inner.strip_suffix("tcp").filter(|rest| rest.len() > 2).unwrap_or(inner);
    match inner.find(|c: char| c.is_ascii_digit()) {
        Some(at) if inner[..at].ends_with('v') => format!("{}{}", &inner[..at - 1], &inner[at..]),
        _ => inner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_field_is_answered_by_the_algorithm_it_means() {
        for (wanted, expected) in [
            ("bbrv3", Some("bbr3")),
            ("BBRv3", Some("bbr3")),
            ("bbr-v3", Some("bbr3")),
            ("bbr2", Some("bbr3")),
            ("bbrv2", Some("bbr3")),
            ("bbrv1", Some("bbr")),
            ("new-reno", Some("newreno")),
            ("new_reno", Some("newreno")),
            ("cubic-tcp", Some("cubic")),
            ("elastic-tcp", Some("elastic")),
            ("TCP Vegas", Some("vegas")),
            ("tcp-prague", Some("prague")),
            ("ledbat++", Some("ledbat-plus")),
            ("LEDBAT", Some("ledbat")),
            ("westwood+", Some("westwood")),
            ("westwoodplus", Some("westwood")),
            ("h-tcp", Some("htcp")),
            ("hstcp", Some("highspeed")),
            ("stcp", Some("scalable")),
            ("ctcp", Some("compound")),
            ("agile_sd", Some("agile-sd")),
            ("yeah-tcp", Some("yeah")),
            ("dctp", Some("dctcp")),
            ("qubic", Some("cubic")),
            ("elastc", Some("elastic")),
            ("renoo", Some("reno")),
            ("", None),
            ("tcp", None),
            ("zzz", None),
        ] {
            let known = all();
            let names = known.iter().map(|algorithm| algorithm.name.as_str()).chain(["newreno", "sack"]);
            assert_eq!(nearest(wanted, names), expected, "{wanted}");
        }
    }

    #[test]
    fn every_alias_is_of_an_algorithm_and_no_name_itself() {
        let known = all();
        for (alias, name) in ALIASES {
            assert!(known.iter().any(|algorithm| algorithm.name == name), "{name}");
            assert_eq!(spelling(alias), alias);
            assert!(
                known.iter().all(|a| spelling(&a.name) != alias && spelling(a.title) != alias),
                "{alias}"
            );
        }
    }

    #[test]
    fn every_name_and_every_title_means_its_algorithm() {
        let known = all();
        let names: Vec<&str> = known.iter().map(|algorithm| algorithm.name.as_str()).collect();
        for algorithm in &known {
            for wanted in [algorithm.name.as_str(), algorithm.title] {
                assert_eq!(nearest(wanted, names.iter().copied()), Some(algorithm.name.as_str()), "{wanted}");
            }
        }
    }
}
