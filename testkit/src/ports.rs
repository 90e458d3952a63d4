//! Ports for servers that have to be told one.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

use crate::random::Seed;

/// Below the range from which systems take the ports of outgoing connections: nobody is given one of
/// these by chance while a server that is down for a moment does not hold it.
const FIRST: u64 = 20_000;
const LAST: u64 = 32_000;

/// A TCP port of 127.0.0.1 that no other holder of a [`Port`] has, in this process or another.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// The claim: the UDP port of the same number, which nobody else wants. The system gives it back
    /// when the process ends.
    _claim: UdpSocket,
}

impl Port {
    /// A free one, claimed until it is dropped.
    ///
    /// # Panics
    ///
    /// If 1000 of them are taken.
    #[must_use]
    pub fn claim() -> Self {
        // Always a new seed: a replayed test may run beside what still holds its ports.
        let mut random = Seed::new("ports").rng("ports", u64::from(std::process::id()));
        for _ in 0..1000 {
            let number = u16::try_from(FIRST + random.below(LAST - FIRST)).unwrap();
            if let Some(port) = Self::claim_number(number) {
                return port;
            }
        }
        panic!("no port from {FIRST} to {LAST} is free");
    }

    fn claim_number(number: u16) -> Option<Self> {
        let claim = UdpSocket::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        // Somebody who claims nothing may be there.
        TcpListener::bind((Ipv4Addr::LOCALHOST, number)).ok()?;
        Some(Self {
            number,
            _claim: claim,
        })
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.number))
    }
}

/// Starts something on a port, and once more on another as long as it says that somebody who claims
/// nothing took the port meanwhile.
#[track_caller]
pub(crate) fn on_a_port<T>(start: impl Fn(&Port) -> Result<T, String>) -> (T, Port) {
    for _ in 0..5 {
        let port = Port::claim();
        match start(&port) {
            Ok(started) => return (started, port),
            Err(reason) if reason.contains("ddress already in use") => {}
            Err(reason) => panic!("{reason}"),
        }
    }
    panic!("five ports in a row were taken by somebody else");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_claimed_until_it_is_dropped() {
        let port = Port::claim();
        let number = port.number();
        assert!(Port::claim_number(number).is_none());
        let listener = TcpListener::bind(port.address()).unwrap();
        drop(port);
        assert!(Port::claim_number(number).is_none(), "it is in use");
        drop(listener);
        // Unless another test was quicker, which is as good.
        if let Some(again) = Port::claim_number(number) {
            assert_eq!(again.number(), number);
        }
    }

    #[test]
    fn a_port_that_somebody_took_is_left_to_him() {
        let tries = std::cell::Cell::new(0);
        let (third, _) = on_a_port(|_| {
            tries.set(tries.get() + 1);
            if tries.get() < 3 {
                return Err("bind: Address already in use".to_owned());
            }
            Ok(tries.get())
        });
        assert_eq!(third, 3);
    }
}
