//! The kinds of hostile requests, and what an exchange is.

macro_rules! kinds {
    ($($kind:ident: $weight:literal,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Kind {
            $($kind,)*
        }

        /// How often each comes, of all.
        pub(crate) const KINDS: &[(Kind, u64)] = &[$((Kind::$kind, $weight),)*];
    };
}

kinds! {
    Valid: 60,
    AnothersKey: 40,
    AnotherPayload: 20,
    MalformedKey: 60,
    ManyKeyLines: 20,
    NoKey: 15,
    NoCredential: 15,
    Spoofed: 15,
    Bomb: 15,
    Method: 20,
    Body: 50,
    Chunked: 40,
    ExpectContinue: 10,
    DeclaredTooLarge: 15,
    CountedTooLarge: 4,
    LargeHeader: 2,
    TooLargeHeader: 2,
    TooManyHeaders: 10,
    RequestLine: 60,
    HeaderBytes: 60,
    Flipped: 80,
    Noise: 40,
    LengthTooSmall: 30,
    LengthTooLarge: 40,
    BadChunks: 50,
    TwoFramings: 20,
    Trickle: 20,
    Pipelined: 30,
    HalfClosed: 30,
    HungUp: 30,
    Http2Valid: 20,
    Http2Noise: 30,
    Http2Frames: 30,
    Http2Resets: 10,
    Http2HungUp: 20,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Reads,
    /// Says that nothing more will come, and reads.
    HalfCloses,
    HangsUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// So many answers, each with one of these statuses.
    Answers(usize, &'static [u16]),
    /// Well-formed answers, or none.
    Perhaps,
    /// One answer over HTTP/2.
    Http2Answer,
    /// Whatever HTTP/2 has to say.
    Http2,
}

#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) kind: Kind,
    /// Whose connection it is.
    pub(crate) client: usize,
    pub(crate) writes: Vec<Vec<u8>>,
    pub(crate) then: Then,
    pub(crate) expected: Expected,
}
