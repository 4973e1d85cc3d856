//! Values with units, as people write them: sizes (`2G`) and durations (`30s`).

use std::time::Duration;

/// A size in bytes: a number, with `K`, `M` or `G` for powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let expected = || format!("`{text}` is no size; expected bytes with or without K, M or G, as in 512M or 2G");
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1u64 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        _ => return Err(expected()),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    bytes.filter(|b| *b > 0).ok_or_else(expected)
}

/// A duration: a number with `ms`, `s`, `m` or `h`; bare numbers are seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is no duration; expected a number with ms, s, m or h, as in 500ms or 30s");
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[number.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    let seconds = number.parse::<f64>().map_err(|_| expected())? * unit;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| expected())?;
    if duration.is_zero() { Err(expected()) } else { Ok(duration) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("16KiB"), Ok(16384));
        for bad in ["", "0", "G", "2X", "-1", "1.5G", "99999999999999G", "2 G"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("50ms"), Ok(Duration::from_millis(50)));
        for bad in ["", "0", "s", "-3s", "3x", "1e400s", "nan", "inf", "infs"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
