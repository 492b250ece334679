//! Numbers with units, parsed exactly from their decimal text.

use crate::error::{Error, Refusal, printable};
use crate::node::show;
use std::ops::RangeInclusive;
use toml::de::DeValue;

pub const MICROSECOND: u64 = 1_000;
pub const MILLISECOND: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
pub const HOUR: u64 = 3600 * SECOND;
pub const DAY: u64 = 24 * HOUR;

/// Packets that a buffer or a window can be limited to.
pub const PACKETS_MAX: u64 = (1 << 31) - 1;

/// Characters of a name or a label.
pub const NAME_CHARS_MAX: usize = 100;

pub const RATE_MAX_BPS: u64 = 100_000_000_000_000;

/// How a link's buffer may be written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    Packets(u32),
    /// In bandwidth-delay products of the link's rate and the first flow's path.
    Bdp(f64),
    Bytes(u64),
    /// Bytes that the link sends in this time, in nanoseconds, at its first rate.
    Time(u64),
    Unlimited,
}

/// A kind of quantity, and its units.
struct Kind {
    name: &'static str,
    accepted: &'static str,
    /// Each unit, as a multiple of the smallest.
    units: &'static [(&'static str, u128)],
    /// A number without a unit is in the smallest one; a fraction of that is an error.
    counted: bool,
}

const TIME: Kind = Kind {
    name: "a time",
    accepted: "write it like '100 ms' (ns, us, ms, s, min)",
    units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)],
    counted: false,
};

const RATE: Kind = Kind {
    name: "a rate",
    accepted: "write it like '1 Gbps' (bps, kbps, Mbps, Gbps, Tbps)",
    units: &[
        ("bps", 1),
        ("kbps", 1_000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ],
    counted: false,
};

/// The other spellings of the units of rates: `10gbit`, `10G`, `10 Gbit/s`. A `B` would be a byte.
const RATE_PREFIXES: &str = "kKmMgGtT";
const RATE_ENDINGS: [&str; 6] = ["bps", "bit/s", "bits/s", "b/s", "bit", "bits"];

/// The unit that is listed for a spelling of it.
pub fn listed(unit: &str) -> &str {
    let (prefix, ending) = match unit.chars().next() {
        Some(prefix) if RATE_PREFIXES.contains(prefix) => (prefix.to_ascii_lowercase(), &unit[1..]),
        _ => (' ', unit),
    };
    let is_known = RATE_ENDINGS.contains(&ending) || (ending.is_empty() && prefix != ' ');
    if !is_known {
        return unit;
    }
    match prefix {
        'k' => "kbps",
        'm' => "Mbps",
        'g' => "Gbps",
        't' => "Tbps",
        _ => "bps",
    }
}

const BYTES: Kind = Kind {
    name: "a size in bytes",
    accepted: "write it in bytes, like 1448 or '1448 bytes'",
    units: &[("bytes", 1), ("byte", 1)],
    counted: true,
};

const DATA: Kind = Kind {
    name: "an amount of data",
    accepted: "write it like '100 KB' (bytes, KB, MB, GB, KiB, MiB, GiB)",
    units: &[
        ("bytes", 1),
        ("byte", 1),
        ("B", 1),
        ("KB", 1_000),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    counted: false,
};

const PACKETS: Kind = Kind {
    name: "a number of packets",
    accepted: "write it like 50, '50 packets' or 'unlimited'",
    units: PACKET_UNITS,
    counted: true,
};

const BUFFER: Kind = Kind {
    name: "a buffer",
    accepted: "write it like 6400, '6400 packets', '2 BDP', '64 KiB', '50 ms' or 'unlimited'",
    units: PACKET_UNITS,
    counted: true,
};

const PACKET_UNITS: &[(&str, u128)] = &[("packets", 1), ("packet", 1), ("pkts", 1), ("pkt", 1)];

/// Nanoseconds. A fraction of one is rounded.
pub fn time(value: &DeValue, range: RangeInclusive<u64>, limits: &str) -> Result<u64, Refusal> {
    TIME.parse(value, range, limits)
}

/// Parses a time outside a scenario, such as `10 ms`, in nanoseconds.
///
/// # Errors
///
/// If the text is no time, or not within `range`, which `limits` puts in words.
pub fn time_of(text: &str, range: RangeInclusive<u64>, limits: &str) -> Result<u64, Error> {
    let value = DeValue::String(text.into());
    time(&value, range, limits).map_err(|refusal| refusal.of_value(""))
}

/// Bits per second.
pub fn rate(value: &DeValue) -> Result<u64, Refusal> {
    RATE.parse(value, 1..=RATE_MAX_BPS, "'1 bps' to '100 Tbps'")
}

/// Bits per second, or 0: an outage.
pub fn rate_or_outage(value: &DeValue) -> Result<u64, Refusal> {
    RATE.parse(value, 0..=RATE_MAX_BPS, "'0 bps' to '100 Tbps'")
}

pub fn bytes(value: &DeValue, range: RangeInclusive<u64>) -> Result<u32, Refusal> {
    let limits = format!("{} to {} bytes", range.start(), range.end());
    BYTES.parse(value, range, &limits).map(|bytes| bytes as u32)
}

/// Bytes that a flow sends.
pub fn data(value: &DeValue) -> Result<u64, Refusal> {
    DATA.parse(value, 1..=1_000_000_000_000, "'1 byte' to '1000 GB'")
}

/// None: unlimited.
pub fn packets(value: &DeValue) -> Result<Option<u32>, Refusal> {
    if value.as_str() == Some("unlimited") {
        return Ok(None);
    }
    PACKETS.parse(value, 1..=PACKETS_MAX, &packet_limits()).map(|count| Some(count as u32))
}

/// A window in packets, or in bytes, of which `payload_bytes` are a packet; None: unlimited.
pub fn window(value: &DeValue, payload_bytes: u32) -> Result<Option<u32>, Refusal> {
    let is_data = value.as_str().is_some_and(|text| {
        let (_, unit) = split(text.trim());
        DATA.units.iter().any(|(name, _)| *name == unit)
    });
    if !is_data {
        return packets(value);
    }
    let pkts = data(value)? / u64::from(payload_bytes);
    match u32::try_from(pkts) {
        Ok(0) => {
            let found = format!("{}, less than one packet of {payload_bytes} bytes", show(value));
            Err(Refusal::new(found, "room for one packet at least"))
        }
        Ok(pkts) if u64::from(pkts) <= PACKETS_MAX => Ok(Some(pkts)),
        _ => Err(Refusal::new(format!("{} is out of range", show(value)), packet_limits())),
    }
}

/// A queue, as packets or as the time that they take; None: unlimited.
pub enum PacketsOrTime {
    Packets(Option<u32>),
    Time(u64),
}

pub fn packets_or_time(value: &DeValue) -> Result<PacketsOrTime, Refusal> {
    let is_time = value.as_str().is_some_and(|text| {
        let (_, unit) = split(text.trim());
        TIME.units.iter().any(|(name, _)| *name == unit)
    });
    if is_time {
        return time(value, 0..=HOUR, "'0 s' to '60 min'").map(PacketsOrTime::Time);
    }
    packets(value).map(PacketsOrTime::Packets)
}

pub fn initial_window(value: &DeValue) -> Result<u32, Refusal> {
    let kind = Kind { accepted: "write it like 10 or '10 packets'", ..PACKETS };
    kind.parse(value, 1..=1000, "1 to 1000 packets").map(|count| count as u32)
}

pub fn buffer(value: &DeValue) -> Result<Buffer, Refusal> {
    if let Some(text) = value.as_str() {
        if text == "unlimited" {
            return Ok(Buffer::Unlimited);
        }
        if let (number, "BDP") = split(text.trim()) {
            let factor: f64 = number.parse().map_err(|_| BUFFER.refuse(value))?;
            if factor > 0.0 && factor.is_finite() {
                return Ok(Buffer::Bdp(factor));
            }
            return Err(Refusal::new(format!("{} is out of range", show(value)), packet_limits()));
        }
        let (_, unit) = split(text.trim());
        let is_of = |kind: &Kind| kind.units.iter().any(|(name, _)| *name == unit);
        if is_of(&DATA) {
            return data(value).map(Buffer::Bytes);
        }
        if is_of(&TIME) {
            return time(value, 1..=HOUR, "'1 ns' to '60 min'").map(Buffer::Time);
        }
    }
    let count = BUFFER.parse(value, 1..=PACKETS_MAX, &packet_limits())?;
    Ok(Buffer::Packets(count as u32))
}

pub fn packet_limits() -> String {
    format!("1 to {PACKETS_MAX} packets, or 'unlimited'")
}

/// A whole number without a unit.
pub fn whole(value: &DeValue, range: RangeInclusive<u64>) -> Result<u64, Refusal> {
    let accepted = || format!("{} to {}", range.start(), range.end());
    let number = integer(value)
        .ok_or_else(|| Refusal::new(format!("{} is not a whole number", show(value)), accepted()))?;
    u64::try_from(number)
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| Refusal::new(format!("{} is out of range", show(value)), accepted()))
}

/// The probability of a packet error: at least 0, less than 1.
pub fn error_rate(value: &DeValue) -> Result<f64, Refusal> {
    let accepted = "write a number from 0 to less than 1, like 1e-5 or '0.001%'";
    match share_or_percent(value) {
        None => Err(Refusal::new(format!("{} is not a number", show(value)), accepted)),
        Some(1.0) => Err(Refusal::new(format!("with {} nothing would arrive", show(value)), accepted)),
        // Adding 0 turns -0 into 0.
        Some(per) if (0.0..1.0).contains(&per) => Ok(per + 0.0),
        Some(_) => Err(Refusal::new(format!("{} is not a probability", show(value)), accepted)),
    }
}

/// A share of packets: a number from 0 to 1, or like '0.01%'.
pub fn share(value: &DeValue) -> Result<f64, Refusal> {
    let accepted = "write a number from 0 to 1, or like '0.01%'";
    match share_or_percent(value) {
        None => Err(Refusal::new(format!("{} is not a number", show(value)), accepted)),
        // Adding 0 turns -0 into 0.
        Some(share) if (0.0..=1.0).contains(&share) => Ok(share + 0.0),
        Some(_) => Err(Refusal::new(format!("{} is not a probability", show(value)), accepted)),
    }
}

fn share_or_percent(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::String(text) => {
            let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
            Some(percent / 100.0)
        }
        _ => text(value)?.parse().ok(),
    }
}

/// A number that something is multiplied by.
pub fn factor(value: &DeValue, range: RangeInclusive<f64>) -> Result<f64, Refusal> {
    let accepted = || format!("a number from {} to {}", range.start(), range.end());
    let number = match value {
        DeValue::String(_) => None,
        _ => text(value).and_then(|number| number.parse().ok()),
    };
    let number =
        number.ok_or_else(|| Refusal::new(format!("{} is not a number", show(value)), accepted()))?;
    if range.contains(&number) {
        return Ok(number);
    }
    Err(Refusal::new(format!("{} is out of range", show(value)), accepted()))
}

pub fn flag(value: &DeValue) -> Result<bool, Refusal> {
    value
        .as_bool()
        .ok_or_else(|| Refusal::new(format!("{} is not true or false", show(value)), "write true or false"))
}

pub fn integer(value: &DeValue) -> Option<i128> {
    let number = value.as_integer()?;
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The kinds of quantity, each with the units that no other has.
const KINDS: [&[(&str, u128)]; 5] = [TIME.units, RATE.units, BYTES.units, PACKET_UNITS, &[("BDP", 1)]];

/// The index of the kind that `unit` measures, and its size in that kind's smallest unit.
pub fn size(unit: &str) -> Option<(usize, u128)> {
    let unit = listed(unit);
    KINDS
        .iter()
        .enumerate()
        .find_map(|(kind, units)| units.iter().find(|(name, _)| *name == unit).map(|(_, size)| (kind, *size)))
}

/// Returns true if only whole numbers of `unit` are accepted.
pub fn is_counted(unit: &str) -> bool {
    BYTES.units.iter().chain(PACKET_UNITS).any(|(name, _)| *name == unit)
}

fn names(units: &'static [(&'static str, u128)]) -> impl Iterator<Item = &'static str> {
    units.iter().map(|(name, _)| *name)
}

pub fn time_units() -> impl Iterator<Item = &'static str> {
    names(TIME.units)
}

/// The units of rates in all spellings, as a pattern.
pub fn rate_pattern() -> String {
    format!("([{RATE_PREFIXES}]?({})|[{RATE_PREFIXES}])", RATE_ENDINGS.join("|"))
}

pub fn data_units() -> impl Iterator<Item = &'static str> {
    names(DATA.units)
}

pub fn packet_units() -> impl Iterator<Item = &'static str> {
    names(PACKET_UNITS)
}

/// Every unit there is.
pub fn all() -> String {
    let names: Vec<&str> = KINDS.iter().flat_map(|units| units.iter()).map(|(name, _)| *name).collect();
    format!("there are {}", names.join(", "))
}

impl Kind {
    fn parse(&self, value: &DeValue, range: RangeInclusive<u64>, limits: &str) -> Result<u64, Refusal> {
        let text = text(value).ok_or_else(|| self.refuse(value))?;
        let (number, unit) = split(&text);
        let number = Decimal::parse(number).ok_or_else(|| self.refuse(value))?;
        if unit.is_empty() && !self.counted {
            return Err(Refusal::new(format!("{} has no unit", show(value)), self.accepted));
        }
        let scale = match self.units.iter().find(|(name, _)| *name == unit || *name == listed(unit)) {
            Some((_, scale)) => *scale,
            None if unit.is_empty() => 1,
            None => return Err(self.refuse(value)),
        };
        if self.counted && !number.is_whole() {
            return Err(Refusal::new(format!("{} is not a whole number", show(value)), self.accepted));
        }
        number
            .times(scale)
            .filter(|scaled| range.contains(scaled))
            .ok_or_else(|| Refusal::new(format!("{} is out of range", show(value)), limits))
    }

    fn refuse(&self, value: &DeValue) -> Refusal {
        Refusal::new(format!("{} is not {}", show(value), self.name), self.accepted)
    }
}

/// A number or text as written, decimal.
pub fn text(value: &DeValue) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.trim().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => integer(value).map(|number| number.to_string()),
    }
}

/// The number at the beginning and the unit after it. No unit begins with an `e`.
pub fn split(text: &str) -> (&str, &str) {
    let exponent = |rest: &str| {
        let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        rest.starts_with(|c: char| c.is_ascii_digit())
    };
    let belongs = |(at, c): &(usize, char)| match c {
        '0'..='9' | '.' => true,
        'e' | 'E' => exponent(&text[at + 1..]),
        '+' | '-' => *at == 0 || text[..*at].ends_with(['e', 'E']),
        _ => false,
    };
    let end = text.char_indices().find(|item| !belongs(item)).map_or(text.len(), |(at, _)| at);
    (&text[..end], text[end..].trim_start())
}

/// `digits * 10^exponent`, negated if `negative`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// More digits than this are dropped: with the largest scale the product still fits.
    const DIGITS_MAX: u128 = 10u128.pow(25);

    fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut number = Decimal { negative: mantissa.starts_with('-'), digits: 0, exponent };
        for (part, step) in [(whole, 0), (fraction, -1)] {
            for c in part.chars() {
                let digit = u128::from(c.to_digit(10)?);
                if number.digits < Self::DIGITS_MAX {
                    number.digits = number.digits * 10 + digit;
                    number.exponent = number.exponent.saturating_add(step);
                } else {
                    number.exponent = number.exponent.saturating_add(step + 1);
                }
            }
        }
        Some(number)
    }

    /// Rounded, halves up. None: negative or too large.
    fn times(self, scale: u128) -> Option<u64> {
        if self.digits == 0 {
            return Some(0);
        }
        if self.negative {
            return None;
        }
        let product = self.digits * scale;
        let power = 10u128.checked_pow(self.exponent.unsigned_abs());
        let rounded = match power {
            Some(power) if self.exponent < 0 => (product + power / 2) / power,
            None if self.exponent < 0 => 0,
            Some(power) => product.checked_mul(power)?,
            None => return None,
        };
        rounded.try_into().ok()
    }

    fn is_whole(self) -> bool {
        match 10u128.checked_pow(self.exponent.unsigned_abs()) {
            _ if self.exponent >= 0 || self.digits == 0 => true,
            Some(power) => self.digits.is_multiple_of(power),
            None => false,
        }
    }
}

/// In the largest unit that leaves a whole number.
pub fn show_time(ns: u64) -> String {
    let (unit, scale) = [("s", SECOND), ("ms", MILLISECOND), ("us", MICROSECOND)]
        .into_iter()
        .find(|(_, s)| ns.is_multiple_of(*s))
        .unwrap_or(("ns", 1));
    format!("{} {unit}", ns / scale)
}

/// A name or a label.
pub fn name(value: &DeValue) -> Result<String, Refusal> {
    let accepted = || format!("1 to {NAME_CHARS_MAX} printable characters");
    let name =
        value.as_str().ok_or_else(|| Refusal::new(format!("{} is not a text", show(value)), accepted()))?;
    if (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && printable(name) == name {
        Ok(name.to_owned())
    } else {
        Err(Refusal::new(format!("{} is not a name", show(value)), accepted()))
    }
}
