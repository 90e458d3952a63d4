//! Who holds a reservation.

use std::fmt;

/// 128 random bits that name one try at reserving, minted by the caller.
///
/// The same token is sent again when that try is resent, so that a call which lost its answer finds
/// its own reservation instead of a conflict with itself (law R10). A new try has a new token: it is
/// never an identity of a process, a host or a worker.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// A fresh token from the operating system's random source.
    ///
    /// # Panics
    /// If the operating system has no random bytes to give, as `HashMap::new` does.
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the operating system has a source of random bytes");
        Self(bytes)
    }

    /// A token from bytes that a store kept.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes to keep in a store.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        write!(f, "Token({a:02x}{b:02x}{c:02x}{d:02x}..)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn random_tokens_differ_in_every_byte_sooner_or_later() {
        let tokens: Vec<_> = (0..1000).map(|_| Token::random()).collect();
        assert_eq!(tokens.iter().collect::<HashSet<_>>().len(), 1000);
        for place in 0..16 {
            let bytes: HashSet<_> = tokens.iter().map(|token| token.as_bytes()[place]).collect();
            assert!(
                bytes.len() > 128,
                "byte {place} took {} values",
                bytes.len()
            );
        }
    }

    #[test]
    fn a_store_gets_back_the_token_that_it_kept() {
        let token = Token::random();
        assert_eq!(Token::from_bytes(*token.as_bytes()), token);
    }

    #[test]
    fn debug_shows_the_first_four_bytes() {
        let token = Token::from_bytes([0x0a, 1, 2, 0xff, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(format!("{token:?}"), "Token(0a0102ff..)");
    }
}
