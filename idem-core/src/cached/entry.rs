//! What is kept in a cache, and its binary form.

use crate::codec::{Reader, decode_answer, encode_answer};
use crate::{Answer, Error, Fingerprint, Token};

/// What is kept in a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A reservation that was granted.
    Mark {
        fingerprint: Fingerprint,
        token: Token,
    },
    /// What stands for a completed operation.
    Copy {
        fingerprint: Fingerprint,
        answer: Answer,
    },
}

const VERSION: u8 = 1;

impl Entry {
    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        match self {
            Self::Mark { fingerprint, .. } | Self::Copy { fingerprint, .. } => fingerprint,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, self.fingerprint().version()];
        out.extend(self.fingerprint().as_bytes());
        match self {
            Self::Mark { token, .. } => {
                out.push(0);
                out.extend(token.as_bytes());
            }
            Self::Copy { answer, .. } => {
                out.push(1);
                encode_answer(&mut out, answer);
            }
        }
        out
    }

    /// `None` for what this version cannot read: as good as nothing.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        Self::read(bytes).ok()
    }

    fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new("cache entry", bytes);
        input.version(VERSION)?;
        let fingerprint = Fingerprint::from_parts(input.u8()?, input.array()?);
        let entry = match input.u8()? {
            0 => Self::Mark {
                fingerprint,
                token: Token::from_bytes(input.array()?),
            },
            1 => Self::Copy {
                fingerprint,
                answer: decode_answer(&mut input)?,
            },
            _ => return Err(input.corrupt("unknown kind")),
        };
        input.end()?;
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Response;

    #[test]
    fn entries_come_back_and_damaged_ones_are_nothing() {
        let fingerprint = Fingerprint::raw("x");
        let response = Response::new(201).header("a", &b"\xff"[..]).body("paid");
        for entry in [
            Entry::Mark {
                fingerprint,
                token: Token::random(),
            },
            Entry::Copy {
                fingerprint,
                answer: response.into(),
            },
            Entry::Copy {
                fingerprint,
                answer: Answer::NotRetained {
                    status: 200,
                    body_length: 7,
                },
            },
        ] {
            let bytes = entry.encode();
            assert_eq!(Entry::decode(&bytes).as_ref(), Some(&entry));
            for cut in 0..bytes.len() {
                assert_eq!(Entry::decode(&bytes[..cut]), None);
            }
            let longer = [&bytes[..], b"x"].concat();
            assert_eq!(Entry::decode(&longer), None);
            let newer = [&[VERSION + 1], &bytes[1..]].concat();
            assert_eq!(Entry::decode(&newer), None);
        }
    }
}
