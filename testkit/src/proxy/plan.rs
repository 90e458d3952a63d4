//! Which request meets which fault.

use std::fmt;
use std::time::Duration;

use crate::random::Seed;

/// What happens to a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The server never sees the request; the client's connection is cut.
    DropRequest,
    /// The server gets the request; once its answer begins, the client's connection is cut instead.
    DropAnswer,
    /// The server gets the request only after this time, also if the client has gone by then.
    DelayRequest(Duration),
    /// The client gets the answer only after this time.
    DelayAnswer(Duration),
    /// The server gets so many bytes of the request's first chunk, then both connections are cut.
    CutRequest {
        /// So many; none: the connection is cut at once.
        after: usize,
    },
    /// The server gets the request, the client so many bytes of its answer; then both connections are
    /// cut.
    CutAnswer {
        /// So many.
        after: usize,
    },
    /// The server never sees the request, and the client's connection stays open until the client has
    /// had enough.
    Stall,
}

impl Fault {
    /// One of each kind after which the client goes on: before the server has it and after, cut within and between,
    /// and late by so much.
    #[must_use]
    pub fn of_every_kind(late: Duration) -> Vec<Self> {
        vec![
            Self::DropRequest,
            Self::DropAnswer,
            Self::CutRequest { after: 7 },
            Self::CutAnswer { after: 3 },
            Self::DelayRequest(late),
            Self::DelayAnswer(late),
        ]
    }
}

/// The first bytes of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Which connection through this proxy, from 1.
    pub connection: u64,
    /// Which request of that connection, from 1.
    pub number: u64,
    /// Which request of all through this proxy, from 1.
    pub total: u64,
    /// As much of it as came at once.
    pub bytes: &'a [u8],
}

impl Request<'_> {
    /// Whether the text is in it.
    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        let mut windows = self.bytes.windows(text.len().max(1));
        windows.any(|window| window == text.as_bytes())
    }
}

/// Decides for every request.
pub struct Plan(Box<dyn FnMut(&Request<'_>) -> Fault + Send>);

impl Plan {
    /// No faults.
    #[must_use]
    pub fn none() -> Self {
        Self::from_fn(|_| Fault::None)
    }

    /// Whatever the function says.
    pub fn from_fn(decide: impl FnMut(&Request<'_>) -> Fault + Send + 'static) -> Self {
        Self(Box::new(decide))
    }

    /// These, one request after the other, and then none.
    pub fn script(faults: impl IntoIterator<Item = Fault, IntoIter: Send + 'static>) -> Self {
        let mut faults = faults.into_iter();
        Self::from_fn(move |_| faults.next().unwrap_or(Fault::None))
    }

    /// This one, for the first request that contains the text.
    #[must_use]
    pub fn once(text: &str, fault: Fault) -> Self {
        let (text, mut left) = (text.to_owned(), Some(fault));
        Self::from_fn(move |request| {
            if request.contains(&text) {
                left.take().unwrap_or(Fault::None)
            } else {
                Fault::None
            }
        })
    }

    /// One request in `one_in` meets one of the faults. It depends on the seed and on the numbers of
    /// connection and request only, not on how connections take turns.
    #[must_use]
    pub fn seeded(seed: &Seed, one_in: u64, faults: Vec<Fault>) -> Self {
        let all = seed.rng("proxy", 0);
        Self::from_fn(move |request| {
            let connection = all.stream("connection", request.connection);
            let mut rng = connection.stream("request", request.number);
            if rng.one_in(one_in) {
                *rng.pick(&faults)
            } else {
                Fault::None
            }
        })
    }

    pub(super) fn decide(&mut self, request: &Request<'_>) -> Fault {
        (self.0)(request)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(connection: u64, number: u64, bytes: &[u8]) -> Request<'_> {
        Request {
            connection,
            number,
            total: 0,
            bytes,
        }
    }

    #[test]
    fn a_script_is_followed_once() {
        let mut plan = Plan::script([Fault::None, Fault::DropAnswer]);
        let faults = [1, 2, 3].map(|number| plan.decide(&request(1, number, b"")));
        assert_eq!(faults, [Fault::None, Fault::DropAnswer, Fault::None]);
    }

    #[test]
    fn a_text_is_met_once() {
        let mut plan = Plan::once("INCR", Fault::Stall);
        let bytes: [&[u8]; 4] = [b"", b"GET", b"x INCR y", b"INCR"];
        let faults = bytes.map(|bytes| plan.decide(&request(1, 1, bytes)));
        let expected = [Fault::None, Fault::None, Fault::Stall, Fault::None];
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_seed_decides_the_same_in_any_order() {
        let seed = Seed::new("any");
        let plan = || Plan::seeded(&seed, 3, vec![Fault::DropRequest, Fault::DropAnswer]);
        let mut places: Vec<_> = (1..=10)
            .flat_map(|c| (1..=30).map(move |n| (c, n)))
            .collect();
        let decide = |plan: &mut Plan, places: &[(u64, u64)]| -> Vec<_> {
            let decide = |&(c, n): &(u64, u64)| ((c, n), plan.decide(&request(c, n, b"")));
            places.iter().map(decide).collect()
        };
        let forward = decide(&mut plan(), &places);
        places.reverse();
        let mut backward = decide(&mut plan(), &places);
        backward.reverse();
        assert_eq!(forward, backward);
        let met = forward.iter().filter(|(_, fault)| *fault != Fault::None);
        assert!((60..140).contains(&met.count()), "{seed}");
    }
}
