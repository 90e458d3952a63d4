//! The members of an object, sorted by name.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// The members of one object, in the order of the text.
pub(super) struct Members<'a> {
    /// Where the first of them begins in the canonical spelling.
    start: usize,
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    name: Cow<'a, str>,
    /// Where its name and value stand in the canonical spelling.
    spelling: Range<usize>,
}

impl<'a> Members<'a> {
    pub(super) fn new(start: usize) -> Self {
        Self {
            start,
            members: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, name: Cow<'a, str>, spelling: Range<usize>) {
        self.members.push(Member { name, spelling });
    }

    /// Puts the members, which end the canonical spelling, in order; `None` if two have one name.
    pub(super) fn sort(mut self, canonical: &mut Vec<u8>) -> Option<()> {
        if self.is_sorted() {
            return Some(());
        }
        self.members.sort_by(|a, b| utf16_order(&a.name, &b.name));
        if !self.is_sorted() {
            return None;
        }
        let mut sorted = Vec::with_capacity(canonical.len() - self.start);
        for member in self.members {
            if !sorted.is_empty() {
                sorted.push(b',');
            }
            sorted.extend_from_slice(canonical.get(member.spelling)?);
        }
        canonical.truncate(self.start);
        canonical.append(&mut sorted);
        Some(())
    }

    /// In order, no name twice.
    fn is_sorted(&self) -> bool {
        self.members
            .is_sorted_by(|a, b| utf16_order(&a.name, &b.name).is_lt())
    }
}

/// Compares by UTF-16 code units, as RFC 8785 (section 3.2.3) sorts.
fn utf16_order(a: &str, b: &str) -> Ordering {
    let mut pairs = a.as_bytes().iter().zip(b.as_bytes());
    match pairs.find(|(a, b)| a != b) {
        Some((a, b)) => utf16_rank(*a).cmp(&utf16_rank(*b)),
        None => a.len().cmp(&b.len()),
    }
}

/// UTF-8 bytes compare as code points do, and code points as UTF-16 code units do, but for one thing:
/// the surrogates, D800 to DFFF, of what lies above U+FFFF (in UTF-8 from F0) come before U+E000 to
/// U+FFFF (in UTF-8 EE and EF). So those first bytes change places.
fn utf16_rank(byte: u8) -> u8 {
    match byte {
        0xee | 0xef => byte + 5,
        0xf0..=0xf4 => byte - 2,
        _ => byte,
    }
}
