//! Numbers as text.

/// Three digits that matter.
pub fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.9995 => 2,
        v if v >= 0.09995 => 3,
        v if v >= 0.009995 => 4,
        v if v >= 0.0009995 => 5,
        0.0 => 0,
        _ => 6,
    };
    format!("{value:.digits$}")
}

/// A counter: up to 9999 as it is, then in thousands, then in millions.
pub fn count(value: f64) -> String {
    match value {
        v if v < 1e4 => format!("{v:.0}"),
        v if v < 1e6 => format!("{:.1}k", v / 1e3),
        v => format!("{:.1}M", v / 1e6),
    }
}

/// A whole number with a comma between groups of three digits.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "1 thread", "4 threads".
pub fn threads(n: usize) -> String {
    format!("{n} thread{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        let values = [1234.4, 99.97, 12.34, 1.234, 0.1234, 0.012345, 0.001234, 0.000111, 0.0, -2.5];
        let texts =
            ["1234", "100", "12.3", "1.23", "0.123", "0.0123", "0.00123", "0.000111", "0", "-2.50"];
        assert_eq!(values.map(short), texts);
        assert_eq!([f64::NAN, f64::INFINITY].map(short), ["NaN", "inf"]);
    }

    #[test]
    fn counters() {
        assert_eq!([9999.0, 12_345.0, 1_500_000.0].map(count), ["9999", "12.3k", "1.5M"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([7, 1000, 524_289].map(thousands), ["7", "1,000", "524,289"]);
        assert_eq!([1, 2].map(threads), ["1 thread", "2 threads"]);
    }
}
