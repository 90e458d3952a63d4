//! Which node of a cluster has a key.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_core::Error;
use redis::{ConnectionAddr, Value};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::failure::Failure;

/// How many there are in a cluster.
const SLOTS: u16 = 16_384;

/// While a cluster is not whole each call finds it wrong: no node is asked for more often than this.
const SETTLES: Duration = Duration::from_millis(100);

/// The primaries as a node told them last; asked anew once it turns out to be wrong.
#[derive(Default)]
pub(crate) struct Slots(Mutex<Option<Told>>);

#[derive(Clone)]
struct Told {
    ranges: Arc<Vec<Range>>,
    at: Instant,
}

#[derive(Debug, PartialEq)]
struct Range {
    first: u16,
    last: u16,
    /// None: the host that was asked.
    host: Option<String>,
    port: u16,
}

impl Slots {
    /// Host and port of the primary of this key.
    pub(crate) async fn owner(
        &self,
        name: &str,
        cluster: &Connection,
        asked: &ConnectionAddr,
    ) -> Result<(String, u16), Failure> {
        let known = self.told().clone();
        let ranges = match known {
            Some(told) => told.ranges,
            None => {
                let mut command = redis::cmd("CLUSTER");
                command.arg("SLOTS");
                let ranges = read(&cluster.ask(&command).await?).ok_or_else(Failure::strange)?;
                let ranges = Arc::new(ranges);
                *self.told() = Some(Told {
                    ranges: Arc::clone(&ranges),
                    at: Instant::now(),
                });
                ranges
            }
        };
        let slot = slot(name.as_bytes());
        let mut ranges = ranges.iter();
        let Some(range) = ranges.find(|range| (range.first..=range.last).contains(&slot)) else {
            self.forget();
            let nobody = Error::unavailable("the cluster is not whole", "no node has the slot");
            return Err(nobody.into());
        };
        let host = range.host.clone().or_else(|| host_of(asked));
        let host = host.ok_or_else(Failure::strange)?;
        Ok((host, range.port))
    }

    /// What was told just now stays a moment longer.
    pub(crate) fn forget(&self) {
        self.told().take_if(|told| told.at.elapsed() >= SETTLES);
    }

    /// Nobody panics in between.
    fn told(&self) -> MutexGuard<'_, Option<Told>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of another node, reached as this one is.
pub(crate) fn at(like: &ConnectionAddr, host: &str, port: u16) -> Result<ConnectionAddr, Error> {
    match like {
        ConnectionAddr::Tcp(..) => Ok(ConnectionAddr::Tcp(host.to_owned(), port)),
        ConnectionAddr::TcpTls {
            insecure,
            tls_params,
            ..
        } => Ok(ConnectionAddr::TcpTls {
            host: host.to_owned(),
            port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        }),
        _ => Err(Error::invalid("a cluster is reached by TCP")),
    }
}

fn host_of(address: &ConnectionAddr) -> Option<String> {
    match address {
        ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => Some(host.clone()),
        _ => None,
    }
}

/// The answer of `CLUSTER SLOTS`: first, last, the primary by host, port and more, its replicas.
fn read(answer: &Value) -> Option<Vec<Range>> {
    let Value::Array(ranges) = answer else {
        return None;
    };
    let range = |range: &Value| {
        let Value::Array(range) = range else {
            return None;
        };
        let [
            Value::Int(first),
            Value::Int(last),
            Value::Array(primary),
            ..,
        ] = &range[..]
        else {
            return None;
        };
        let [host, Value::Int(port), ..] = &primary[..] else {
            return None;
        };
        Some(Range {
            first: u16::try_from(*first).ok()?,
            last: u16::try_from(*last).ok()?,
            host: match host {
                Value::BulkString(host) if !host.is_empty() => {
                    Some(String::from_utf8(host.clone()).ok()?)
                }
                _ => None,
            },
            port: u16::try_from(*port).ok()?,
        })
    };
    ranges.iter().map(range).collect()
}

/// The slot of a name without braces: CRC-16 of all of it, as XMODEM counts it. The driver's own `Slot` does not tell
/// its number.
pub(crate) fn slot(name: &[u8]) -> u16 {
    let mut crc: u16 = 0;
    for &byte in name {
        crc ^= u16::from(byte) << 8;
        for _ in 0..8 {
            let carried = crc & 0x8000 != 0;
            crc <<= 1;
            if carried {
                crc ^= 0x1021;
            }
        }
    }
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use redis::cluster_routing::Slot;

    use super::*;

    #[test]
    fn a_name_has_the_slot_that_servers_give_it() {
        // As `CLUSTER KEYSLOT` of Redis 7.0.15 says.
        for (name, expected) in [("123456789", 12739), ("idem:acct_812:order-17", 13190)] {
            let slot = slot(name.as_bytes());
            assert_eq!(slot, expected, "{name}");
            assert_eq!(Slot::new(slot), Some(Slot::for_key(name)), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_told_is_forgotten_but_not_at_once() {
        let slots = Slots::default();
        *slots.told() = Some(Told {
            ranges: Arc::default(),
            at: Instant::now(),
        });
        slots.forget();
        assert!(slots.told().is_some());
        tokio::time::advance(SETTLES).await;
        slots.forget();
        assert!(slots.told().is_none());
    }

    #[test]
    fn the_primaries_are_read_and_nothing_else() {
        let text = |text: &str| Value::BulkString(text.into());
        let node = |host: Value, port| Value::Array(vec![host, Value::Int(port), text("id")]);
        let range = |first, last, host| {
            let primary = node(host, 7001);
            let replica = node(text("10.0.0.9"), 7009);
            Value::Array(vec![Value::Int(first), Value::Int(last), primary, replica])
        };
        let answer = Value::Array(vec![
            range(0, 8191, text("10.0.0.1")),
            range(8192, 16383, Value::Nil),
        ]);
        let read_range = |first, last, host: Option<&str>| Range {
            first,
            last,
            host: host.map(str::to_owned),
            port: 7001,
        };
        assert_eq!(
            read(&answer),
            Some(vec![
                read_range(0, 8191, Some("10.0.0.1")),
                read_range(8192, 16383, None)
            ])
        );
        assert_eq!(read(&Value::Okay), None);
        assert_eq!(read(&Value::Array(vec![Value::Int(1)])), None);
    }
}
