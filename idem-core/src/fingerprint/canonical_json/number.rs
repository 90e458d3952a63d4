//! Numbers, as exact decimals.

use std::io::Write as _;

use super::reader::Reader;

/// The most digits an exponent may have. It keeps all arithmetic on exponents far from overflow.
const MAX_EXPONENT_DIGITS: usize = 9;
const MAX_EXPONENT: u64 = 999_999_999;

/// A number by its significant digits, which neither begin nor end with a zero: `0.digits * 10^point`.
/// Zero has none.
pub(super) struct Decimal<'a> {
    negative: bool,
    /// The significant digits, in two pieces, as they stood before and after the point.
    high: &'a str,
    low: &'a str,
    point: i64,
}

/// Reads a number; `None` if it is none by RFC 8259, or if its exponent is too long.
pub(super) fn read<'a>(text: &mut Reader<'a>) -> Option<Decimal<'a>> {
    let negative = text.eat("-");
    let integer = some_digits(text)?;
    if integer.len() > 1 && integer.starts_with('0') {
        return None;
    }
    let fraction = if text.eat(".") {
        some_digits(text)?
    } else {
        ""
    };
    let exponent = if text.eat("e") || text.eat("E") {
        read_exponent(text)?
    } else {
        0
    };
    Decimal::new(negative, integer, fraction, exponent)
}

fn some_digits<'a>(text: &mut Reader<'a>) -> Option<&'a str> {
    Some(text.digits()).filter(|digits| !digits.is_empty())
}

fn read_exponent(text: &mut Reader<'_>) -> Option<i64> {
    let negative = text.eat("-");
    if !negative {
        text.eat("+");
    }
    let digits = some_digits(text)?.trim_start_matches('0');
    let exponent = match digits.len() {
        0 => 0,
        1..=MAX_EXPONENT_DIGITS => digits.parse().ok()?,
        _ => return None,
    };
    Some(if negative { -exponent } else { exponent })
}

impl<'a> Decimal<'a> {
    fn new(negative: bool, integer: &'a str, fraction: &'a str, exponent: i64) -> Option<Self> {
        let integer = integer.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let (high, low) = match (integer, fraction) {
            ("", fraction) => ("", fraction.trim_start_matches('0')),
            (integer, "") => (integer.trim_end_matches('0'), ""),
            both => both,
        };
        let zeros_after_point = fraction.len() - low.len();
        let point = exponent + i64::try_from(integer.len()).ok()?
            - i64::try_from(zeros_after_point).ok()?;
        let decimal = Self {
            negative,
            high,
            low,
            point,
        };
        // Otherwise the canonical spelling would itself have too long an exponent.
        (decimal.is_zero() || decimal.exponent().unsigned_abs() <= MAX_EXPONENT).then_some(decimal)
    }

    fn is_zero(&self) -> bool {
        self.high.is_empty() && self.low.is_empty()
    }

    /// The exponent in scientific notation, with one digit before the point.
    fn exponent(&self) -> i64 {
        self.point - 1
    }

    /// Writes the number in the layout of ECMAScript's `Number::toString`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if self.is_zero() {
            return out.push(b'0');
        }
        if self.negative {
            out.push(b'-');
        }
        let start = out.len();
        let count = self.high.len() + self.low.len();
        let before_point = usize::try_from(self.point).unwrap_or(0);
        match self.point {
            1..=21 if count <= before_point => {
                self.write_digits(out);
                out.resize(start + before_point, b'0');
            }
            1..=21 => {
                self.write_digits(out);
                out.insert(start + before_point, b'.');
            }
            -5..=0 => {
                out.extend_from_slice(b"0.");
                (self.point..0).for_each(|_| out.push(b'0'));
                self.write_digits(out);
            }
            _ => {
                self.write_digits(out);
                if count > 1 {
                    out.insert(start + 1, b'.');
                }
                // Writing to a Vec cannot fail.
                let _ = write!(out, "e{:+}", self.exponent());
            }
        }
    }

    fn write_digits(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.high.as_bytes());
        out.extend_from_slice(self.low.as_bytes());
    }
}
