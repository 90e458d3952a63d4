//! What is left of the text.

/// The part of a text that has not been read yet.
pub(super) struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, left where it is.
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.bytes().next()
    }

    /// Whether the text goes on with `token`, which is then read.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        let after = self.rest.strip_prefix(token);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Reads `token`; `None` if the text goes on with anything else.
    pub(super) fn expect(&mut self, token: &str) -> Option<()> {
        self.eat(token).then_some(())
    }

    /// Reads one character.
    pub(super) fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    /// Reads the next `length` bytes; `None` if there are fewer, or if they end within a character.
    pub(super) fn take(&mut self, length: usize) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads decimal digits, perhaps none.
    pub(super) fn digits(&mut self) -> &'a str {
        self.take_until(|byte| !byte.is_ascii_digit())
    }

    /// Reads up to the first byte that is a stop, or to the end. A stop must begin a character.
    pub(super) fn take_until(&mut self, is_stop: fn(u8) -> bool) -> &'a str {
        let length = self.rest.as_bytes().iter().position(|byte| is_stop(*byte));
        self.take(length.unwrap_or(self.rest.len()))
            .unwrap_or_default()
    }

    /// Skips the four characters that RFC 8259 calls white space, and no other.
    pub(super) fn skip_white_space(&mut self) {
        self.take_until(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }
}
