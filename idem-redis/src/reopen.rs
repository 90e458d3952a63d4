//! A connection that was opened here is made anew when it is suspected.
//!
//! The driver connects anew when the connection is lost. It does not when the peer keeps it and says nothing (a server
//! that hangs, a network that swallows), nor when the server has become a replica; and once a new connection was
//! refused in words, it gives those words for ever. On a cluster it never asks where a silent node's slots are now.
//!
//! Callers never wait for the making: they use what is there until the next one is. It has a task of its own, so that
//! nobody who is dropped takes it along, and the pause after it begins to count however it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use idem_core::Error;
use redis::Client;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
#[cfg(feature = "cluster")]
use redis::cluster::ClusterClient;
use redis::io::tcp::{TcpSettings, socket2::TcpKeepalive};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

use crate::connection::{Kind, Limits};
use crate::failure::{self, Failure, Sign};

/// So many calls without an answer, and none with one in between, make it suspect; not before the first of them is
/// as old as a call may become.
const IN_A_ROW: u32 = 3;

/// Between the end of one making and the beginning of the next. Twice as long after each that has not helped against
/// silence.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// How a connection is made.
pub(crate) enum Maker {
    Server(Client, Box<ConnectionManagerConfig>),
    #[cfg(feature = "cluster")]
    Cluster(ClusterClient),
}

impl Maker {
    async fn make(&self) -> Result<Kind, Error> {
        let made = match self {
            Self::Server(client, config) => {
                let config = config.as_ref().clone();
                let made = ConnectionManager::new_with_config(client.clone(), config).await;
                made.map(Kind::Manager)
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(client) => client.get_async_connection().await.map(Kind::Cluster),
        };
        made.map_err(failure::of_connection)
    }
}

/// Finds a peer that is gone without a word, whatever is sent or not. One whose machine lives is found by its silence.
pub(crate) fn tcp(limits: Limits) -> TcpSettings {
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(15));
    #[cfg(any(target_os = "linux", target_os = "macos", target_os = "windows"))]
    let keepalive = keepalive.with_interval(Duration::from_secs(5));
    let settings = TcpSettings::default()
        .set_nodelay(true)
        .set_keepalive(keepalive);
    #[cfg(target_os = "linux")]
    let settings = {
        let shortest = Duration::from_secs(1);
        settings.set_user_timeout(limits.answer.saturating_mul(2).max(shortest))
    };
    #[cfg(not(target_os = "linux"))]
    let _ = limits;
    settings
}

/// What a call is sent over.
#[derive(Clone)]
pub(crate) enum Source {
    /// The user's: only the user can make it anew.
    Given(Kind),
    /// Ours.
    Opened(Arc<Opened>),
}

pub(crate) struct Opened {
    maker: Maker,
    limits: Limits,
    now: Mutex<Now>,
}

struct Now {
    kind: Kind,
    /// Which it is. What is heard of an earlier one says nothing of this one.
    number: u64,
    /// By part: see [`Source::take`].
    doubts: HashMap<u16, Doubt>,
    /// Before this, none is made.
    rests_until: Option<Instant>,
    /// The part for which one was made last, and how often in a row: until that part lives.
    made_for: Option<(u16, u32)>,
}

/// Calls without an answer since the last that had one.
struct Doubt {
    calls: u32,
    since: Instant,
}

impl Source {
    /// # Errors
    /// If it cannot be made at once.
    pub(crate) async fn open(maker: Maker, limits: Limits) -> Result<Self, Error> {
        let kind = maker.make().await?;
        Ok(Self::Opened(Arc::new(Opened {
            maker,
            limits,
            now: Mutex::new(Now {
                kind,
                number: 0,
                doubts: HashMap::new(),
                rests_until: None,
                made_for: None,
            }),
        })))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Given(kind) => kind.clone(),
            Self::Opened(opened) => opened.now().kind.clone(),
        }
    }

    /// The connection for a call, and what is to be told how it went. An answer says that its part lives: the server,
    /// or, of a cluster, some neighbouring slots, which mostly have one node.
    pub(crate) fn take(&self, part: u16) -> (Kind, Watch) {
        let (kind, opened) = match self {
            Self::Given(kind) => (kind.clone(), None),
            Self::Opened(opened) => {
                let now = opened.now();
                (now.kind.clone(), Some((Arc::clone(opened), now.number)))
            }
        };
        let watch = Watch {
            opened,
            part,
            began: Instant::now(),
        };
        (kind, watch)
    }
}

/// Over one call. **Dropped, nobody waited for the answer any longer**: that counts as one that did not come.
pub(crate) struct Watch {
    opened: Option<(Arc<Opened>, u64)>,
    part: u16,
    began: Instant,
}

impl Watch {
    pub(crate) fn heard(mut self, failure: Option<&Failure>) {
        self.tell(failure.map_or(Sign::Lives, Failure::sign));
    }

    fn tell(&mut self, sign: Sign) {
        if let Some((opened, number)) = self.opened.take()
            && opened.is_suspect(number, self.part, self.began, sign)
        {
            opened.make_anew();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tell(Sign::Doubtful);
    }
}

impl Opened {
    /// Whether another is to be made; if so, nobody else is told so until that is over.
    fn is_suspect(&self, number: u64, part: u16, began: Instant, sign: Sign) -> bool {
        let mut now = self.now();
        if now.number != number {
            return false;
        }
        let suspect = match sign {
            Sign::Lives => {
                now.doubts.remove(&part);
                now.made_for.take_if(|(made_for, _)| *made_for == part);
                false
            }
            Sign::Doubtful => {
                let first = Doubt {
                    calls: 0,
                    since: began,
                };
                let doubt = now.doubts.entry(part).or_insert(first);
                doubt.calls = doubt.calls.saturating_add(1);
                doubt.since = doubt.since.min(began);
                doubt.calls >= IN_A_ROW && doubt.since.elapsed() >= self.limits.answer
            }
            Sign::Wrong => true,
        };
        let at = Instant::now();
        if !suspect || now.rests_until.is_some_and(|until| at < until) {
            return false;
        }
        // What answers, and is wrong, costs little to ask again.
        now.made_for = (sign == Sign::Doubtful).then(|| {
            let before = now.made_for.map_or(0, |(_, times)| times);
            (part, before.saturating_add(1))
        });
        // Longer than any making takes: a task that never runs again keeps nobody else from it.
        now.rests_until = at.checked_add(self.longest() + PAUSE);
        true
    }

    /// For all tries of the driver at one connection.
    fn longest(&self) -> Duration {
        let tries = self.limits.connect.saturating_mul(5);
        tries.min(Duration::from_secs(3600)) + PAUSE
    }

    fn make_anew(self: Arc<Self>) {
        let making = Making(self);
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let opened = &making.0;
            match timeout(opened.longest(), opened.maker.make()).await {
                Ok(Ok(kind)) => {
                    opened.swap(kind);
                    tracing::info!("the connection to Redis was suspect and has been made anew");
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the connection to Redis is suspect, and no other can be made");
                }
                Err(_) => tracing::warn!("no other connection to Redis can be made in time"),
            }
        });
    }

    fn swap(&self, kind: Kind) {
        let mut now = self.now();
        let before = std::mem::replace(&mut now.kind, kind);
        now.number += 1;
        now.doubts.clear();
        drop(now);
        // Calls that are still on it keep it until they end.
        drop(before);
    }

    /// Nobody panics in between.
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// However it ends, also with its runtime: then the pause begins.
struct Making(Arc<Opened>);

impl Drop for Making {
    fn drop(&mut self) {
        let mut now = self.0.now();
        let times = now.made_for.map_or(1, |(_, times)| times);
        now.rests_until = Instant::now().checked_add(pause_after(times));
    }
}

/// After so many in a row that have not helped.
fn pause_after(times: u32) -> Duration {
    let doubled = PAUSE.saturating_mul(1 << times.saturating_sub(1).min(8));
    doubled.min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_help_is_done_less_and_less_often() {
        let pauses: Vec<_> = [1, 2, 3, 4, 5, u32::MAX]
            .map(|times| pause_after(times).as_secs())
            .into();
        assert_eq!(pauses, [1, 2, 4, 8, 8, 8]);
    }
}
