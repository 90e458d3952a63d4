//! An Item of RFC 9651 that is a String.

use super::Reason;

/// The String of an Item, given what follows its opening quote, to the end of the field.
pub(super) fn unquote(quoted: &[u8]) -> Result<String, Reason> {
    let mut left = Left(quoted);
    let text = left.rest_of_string()?;
    left.parameters().ok_or(Reason::AfterClosingQuote)?;
    left.count_while(|byte| byte == b' ');
    match left.0 {
        [] => Ok(text),
        _ => Err(Reason::AfterClosingQuote),
    }
}

/// What is left to read. Every method takes what it reads off the front; one that fails may have taken
/// some of it.
pub(super) struct Left<'a>(&'a [u8]);

impl Left<'_> {
    /// A String (section 4.2.5) after its opening quote.
    pub(super) fn rest_of_string(&mut self) -> Result<String, Reason> {
        let mut text = String::new();
        loop {
            match self.next().ok_or(Reason::NoClosingQuote)? {
                b'"' => return Ok(text),
                b'\\' => match self.next() {
                    Some(escaped @ (b'"' | b'\\')) => text.push(escaped.into()),
                    _ => return Err(Reason::Escape),
                },
                byte @ b' '..=b'~' => text.push(byte.into()),
                _ => return Err(Reason::NotPrintable),
            }
        }
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        self.next_if(|_| true)
    }

    pub(super) fn next_if(&mut self, allowed: impl FnOnce(u8) -> bool) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        allowed(first).then(|| {
            self.0 = rest;
            first
        })
    }

    pub(super) fn take(&mut self, expected: u8) -> Option<()> {
        self.next_if(|byte| byte == expected).map(drop)
    }

    /// Takes bytes as long as they are allowed, and says how many they were.
    pub(super) fn count_while(&mut self, allowed: impl Fn(u8) -> bool) -> usize {
        let mut count = 0;
        while self.next_if(&allowed).is_some() {
            count += 1;
        }
        count
    }
}
