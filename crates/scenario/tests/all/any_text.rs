//! No text makes the reader panic, and every refusal is one line.

use crate::text;
use proptest::prelude::*;

const VALID: [&str; 5] = [
    include_str!("../../../../scenarios/elastic-sequential.toml"),
    include_str!("../../../../scenarios/home.toml"),
    "name = 'x'\nseed = 7\nrepeat = 3\nsamples = '10 ms'\nduration = '1 s'\n
    [stack]\nprofile = 'ns2'\nrecovery = 'prr'\nreceive_window = '50 packets'\nheader = 40\nmin_rto = '1 s'\n
    [[chain]]\nrate = '1 Mbps'\ndelay = '1 us'\nbuffer = 'unlimited'\nper = 0.5\n
    [[chain]]\nrate = '1.5 Tbps'\ndelay = '1 min'\nbuffer = '0.001 BDP'\n
    [[flows]]\ncca = { name = 'mine', a = 1, b = 'two', c = 3.0 }\npacket = '1 byte'\nstop = '0.5 s'\n
    [[flows]]\ncca = 'reno'\ncount = 10\nstagger = '1 ms'\nstop_stagger = '1 ms'\nstack = 'linux'\n",
    include_str!("../../../../fuzz/seeds/grids.toml"),
    include_str!("../../../../fuzz/seeds/varying.toml"),
];

/// Pieces that people and machines put into such files, and pieces that would hurt.
const PIECES: [&str; 32] = [
    "",
    "\n",
    "\r\n",
    "\0",
    "\u{85}",
    "\u{2028}",
    "'",
    "\"\"\"",
    "[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    "#",
    "é",
    "-1",
    "0",
    "1e999",
    "99999999999999999999999999",
    "nan",
    "-inf",
    "true",
    "1979-05-27",
    "'1e400 BDP'",
    "'9e18 min'",
    "_",
    "'\u{202e}'",
    "\"\\n\\u2028\"",
    "[[flows]]",
    "cca",
    "[stack]",
];

fn check(text: &str, file: &str) -> Result<(), TestCaseError> {
    text::read(text, file).map(|_| ()).map_err(TestCaseError::fail)
}

fn char_floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in "\\PC*|(?s).*", file in "(?s).{0,20}") {
        check(&text, &file)?;
    }

    #[test]
    fn any_value_of_any_key_is_read_or_refused_in_one_line(
        valid in 0..VALID.len(),
        line in any::<prop::sample::Index>(),
        value in prop_oneof![
            "'[-+]?[0-9]{0,30}([.][0-9]{0,30})?(e[-+]?[0-9]{0,12})? ?(ns|us|ms|s|min|bps|Gbps|Tbps|BDP|packets|bytes|KB)?'",
            "[-+]?[0-9]{1,25}([.][0-9]{1,20})?(e[-+]?[0-9]{1,12})?",
            "\"\\PC{0,200}\"",
            "(?s)'.{0,20}'",
            prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        ],
    ) {
        let mut lines: Vec<String> = VALID[valid].lines().map(str::to_owned).collect();
        let pairs: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains(" = ")).collect();
        let at = *line.get(&pairs);
        let key = lines[at].split(" = ").next().unwrap().to_owned();
        lines[at] = format!("{key} = {value}");
        // Keeps the number of flows, and with it the time of the test, small.
        prop_assume!(key.trim() != "count" || value.len() < 4);
        check(&lines.join("\n"), "a.toml")?;
    }

    #[test]
    fn any_damage_to_a_valid_file_is_read_or_refused_in_one_line(
        valid in 0..VALID.len(),
        cuts in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..12, prop::sample::select(&PIECES[..])),
            1..4,
        ),
    ) {
        let mut text = VALID[valid].to_owned();
        for (at, length, piece) in cuts {
            let start = char_floor(&text, at.index(text.len() + 1));
            let end = char_floor(&text, start + length).max(start);
            text.replace_range(start..end, piece);
        }
        check(&text, "a.toml")?;
    }
}
