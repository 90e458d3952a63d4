//! A connection that was opened here is made anew when it is suspected.
//!
//! The driver connects anew when the connection is lost. It does not when the peer keeps it and says nothing (a server
//! that hangs, a network that swallows), nor when the server has become a replica; and once a new connection was
//! refused in words, it gives those words for ever. On a cluster it never asks where a silent node's slots are now.
//!
//! Callers never wait for the making: they use what is there until the next one is. It has a task of its own, so that
//! nobody who is dropped takes it along, and the pause after it begins to count however it ends.

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
use crate::failure::{self, Failure};
use crate::suspicion::{Sign, Suspicion};

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
    now: Mutex<Now>,
}

struct Now {
    kind: Kind,
    /// Which it is. What is heard of an earlier one says nothing of this one.
    number: u64,
    suspicion: Suspicion,
}

impl Source {
    /// # Errors
    /// If it cannot be made at once.
    pub(crate) async fn open(maker: Maker, limits: Limits) -> Result<Self, Error> {
        let kind = maker.make().await?;
        Ok(Self::Opened(Arc::new(Opened {
            maker,
            now: Mutex::new(Now {
                kind,
                number: 0,
                suspicion: Suspicion::new(limits),
            }),
        })))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Given(kind) => kind.clone(),
            Self::Opened(opened) => opened.now().kind.clone(),
        }
    }

    /// The connection for a call to this [part](Suspicion), and what is to be told how it went.
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
    /// Whether another is to be made.
    fn is_suspect(&self, number: u64, part: u16, began: Instant, sign: Sign) -> bool {
        let mut now = self.now();
        now.number == number && now.suspicion.hears(part, began, sign)
    }

    fn make_anew(self: Arc<Self>) {
        let longest = self.now().suspicion.longest_making();
        let making = Making(self);
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let opened = &making.0;
            match timeout(longest, opened.maker.make()).await {
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
        now.suspicion.made();
        drop(now);
        // Calls that are still on it keep it until they end.
        drop(before);
    }

    /// Nobody panics in between.
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// However it ends, also with its runtime, it is over.
struct Making(Arc<Opened>);

impl Drop for Making {
    fn drop(&mut self) {
        self.0.now().suspicion.making_is_over();
    }
}
