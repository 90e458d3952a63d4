//! Multipart bodies, whatever their boundary: RFC 2046, section 5.1.
//!
//! A body is cut wherever `--boundary` occurs, and the pieces are what counts: the body is the pieces
//! with `--boundary` between them, so bodies with the same pieces are the same but for the boundary.
//! Whoever reads such a body looks for the delimiter at the beginnings of lines, be it strict or lenient
//! about their ends; as it occurs nowhere else, all find the same parts. Where it does occur elsewhere,
//! or what follows it could be read in two ways, the whole body is left to be compared byte for byte.

use idem_core::FingerprintBuilder;

use super::add_parameter;
use super::media_type::MediaType;

/// Adds the pieces one by one. `None` if this is not `multipart/*`, or not certain to be well-formed.
pub(super) fn add(
    builder: &FingerprintBuilder,
    media_type: &MediaType<'_>,
    body: &[u8],
) -> Option<FingerprintBuilder> {
    let delimiter = Delimiter::new(media_type.boundary()?);
    // A preamble would be in front of it.
    let mut rest = body.strip_prefix(delimiter.text.as_slice())?;

    let mut builder = builder.clone().bytes("content-type", media_type.essence());
    for (name, value) in media_type.but_boundary() {
        // A name has no `=` in it.
        builder = add_parameter(builder, (name, value));
    }
    let mut parts = 0_u64;
    while let Some((part, after)) = delimiter.cut(rest) {
        if !is_part(part) {
            return None;
        }
        builder = builder.bytes("part", part);
        parts += 1;
        rest = after;
    }
    // Anything more would be an epilogue.
    matches!(rest, b"--" | b"--\r\n").then(|| {
        builder
            .bytes("parts", parts.to_be_bytes())
            .bytes("end", rest)
    })
}

/// Whether a delimiter's line is well ended, and the next delimiter begins a line of its own. These are
/// two line ends, even if nothing is between them.
fn is_part(piece: &[u8]) -> bool {
    let padding = piece.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    let after_padding = &piece[padding.count()..];
    after_padding
        .strip_prefix(b"\r\n")
        .is_some_and(|part| part.ends_with(b"\r\n"))
}

/// `--boundary`, to be searched for in linear time (Knuth, Morris and Pratt): the client chooses both it
/// and the body.
struct Delimiter {
    text: Vec<u8>,
    /// For each prefix of the text, by its last byte: the length of the longest shorter prefix that it
    /// ends in.
    borders: Vec<usize>,
}

impl Delimiter {
    fn new(boundary: &[u8]) -> Self {
        let mut delimiter = Self {
            text: [b"--", boundary].concat(),
            borders: vec![0],
        };
        let mut matched = 0;
        for at in 1..delimiter.text.len() {
            matched = delimiter.step(matched, delimiter.text[at]);
            delimiter.borders.push(matched);
        }
        delimiter
    }

    /// What is before the first delimiter, and what is after it.
    fn cut<'a>(&self, bytes: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let mut matched = 0;
        for (at, byte) in bytes.iter().enumerate() {
            matched = self.step(matched, *byte);
            if matched == self.text.len() {
                let (through, after) = bytes.split_at(at + 1);
                return Some((&through[..through.len() - matched], after));
            }
        }
        None
    }

    /// How much of the text the bytes read so far end in, given how much it was (less than all of it)
    /// before the last one.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        while matched > 0 && self.text[matched] != byte {
            matched = self.borders[matched - 1];
        }
        matched + usize::from(self.text[matched] == byte)
    }
}
