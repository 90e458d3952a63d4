//! One spelling for each JSON value.
//!
//! [`canonicalize`] reads a text by the strict grammar of RFC 8259 and writes its canonical spelling:
//! no white space, members sorted by the UTF-16 code units of their names, strings with the fewest
//! escapes and no Unicode normalisation, numbers as exact decimals in the layout of ECMAScript. That is
//! the spelling of RFC 8785 (JCS) wherever RFC 8785 keeps a number as it is. It differs where a double
//! would have to be rounded: 9007199254740993 stays, and `1e400` is a number like any other.
//!
//! Two texts have the same canonical spelling only if they stand for the same value, and the canonical
//! spelling is its own. Not plain JSON, and so without a canonical spelling, are:
//! - what the grammar does not allow, a byte order mark and bad UTF-8 among it;
//! - an escape for a lone surrogate, which no string can hold;
//! - an object that names a member twice, however the names are escaped: parsers differ on which counts;
//! - more than [`MAX_DEPTH`] levels of nesting;
//! - a number whose exponent, as written (leading zeros aside) or in scientific notation, has more than
//!   nine digits.
//!
//! Work and memory are linear in the text, save that members out of order are moved once per level.

mod members;
mod number;
mod reader;
mod string;

use members::Members;
use reader::Reader;

/// The most arrays and objects that may lie within each other.
const MAX_DEPTH: usize = 128;

/// The canonical spelling of a JSON text, or `None` where the text is not plain JSON.
pub(super) fn canonicalize(text: &[u8]) -> Option<Vec<u8>> {
    let text = str::from_utf8(text).ok()?;
    let mut canonicalizer = Canonicalizer {
        text: Reader::new(text),
        canonical: Vec::with_capacity(text.len()),
    };
    canonicalizer.value(MAX_DEPTH)?;
    let Canonicalizer { text, canonical } = canonicalizer;
    text.is_at_end().then_some(canonical)
}

struct Canonicalizer<'a> {
    text: Reader<'a>,
    canonical: Vec<u8>,
}

impl<'a> Canonicalizer<'a> {
    /// A value and the white space around it. `levels` more may be nested: it bounds the recursion.
    fn value(&mut self, levels: usize) -> Option<()> {
        self.text.skip_white_space();
        match self.text.peek()? {
            b'{' => self.object(levels.checked_sub(1)?)?,
            b'[' => self.array(levels.checked_sub(1)?)?,
            b'"' => string::write(&string::read(&mut self.text)?, &mut self.canonical),
            b'-' | b'0'..=b'9' => number::read(&mut self.text)?.write(&mut self.canonical),
            b't' => self.verbatim("true")?,
            b'f' => self.verbatim("false")?,
            b'n' => self.verbatim("null")?,
            _ => return None,
        }
        self.text.skip_white_space();
        Some(())
    }

    fn object(&mut self, levels: usize) -> Option<()> {
        self.verbatim("{")?;
        self.text.skip_white_space();
        let mut members = Members::new(self.canonical.len());
        if self.text.peek()? != b'}' {
            self.member(levels, &mut members)?;
            while self.text.peek()? == b',' {
                self.verbatim(",")?;
                self.text.skip_white_space();
                self.member(levels, &mut members)?;
            }
        }
        members.sort(&mut self.canonical)?;
        self.verbatim("}")
    }

    fn member(&mut self, levels: usize, members: &mut Members<'a>) -> Option<()> {
        let start = self.canonical.len();
        let name = string::read(&mut self.text)?;
        string::write(&name, &mut self.canonical);
        self.text.skip_white_space();
        self.verbatim(":")?;
        self.value(levels)?;
        members.push(name, start..self.canonical.len());
        Some(())
    }

    fn array(&mut self, levels: usize) -> Option<()> {
        self.verbatim("[")?;
        self.text.skip_white_space();
        if self.text.peek()? != b']' {
            self.value(levels)?;
            while self.text.peek()? == b',' {
                self.verbatim(",")?;
                self.value(levels)?;
            }
        }
        self.verbatim("]")
    }

    /// Punctuation and literal names are written as they are read.
    fn verbatim(&mut self, token: &str) -> Option<()> {
        self.text.expect(token)?;
        self.canonical.extend_from_slice(token.as_bytes());
        Some(())
    }
}
