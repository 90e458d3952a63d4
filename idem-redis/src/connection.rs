//! A connection to Redis, of whichever kind.

use std::fmt;
use std::time::Duration;

use idem_core::Error;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
#[cfg(feature = "cluster")]
use redis::cluster::ClusterClientBuilder;
#[cfg(feature = "cluster")]
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo as _};

use crate::failure;
use crate::reopen::{self, Maker, Source};

/// A connection to a server or to a cluster, for [`RedisStore`](crate::RedisStore) and
/// [`RedisCache`](crate::RedisCache). Clones share it; all calls go over it side by side, and no pool is needed.
///
/// [`open`](Self::open) and [`open_cluster`](Self::open_cluster) make one with the limits that fit, and make it anew,
/// at most about once a second, and every eight seconds while that does not help, when
/// - three calls in a row had no answer, and the first of them is older than [`Limits::answer`]: the peer may hang, or
///   the network swallow what is sent. On a cluster that is counted for every 256 slots;
/// - the server says that it is a replica: another may have its address by now;
/// - the password, or the connection itself, was refused when the driver connected anew.
///
/// Callers do not wait for that; those who come before it is done fail as before.
///
/// Or turn one of the driver's own into it. **Such a connection is never made anew here**, only by what the driver
/// does, which waits for a silent peer for as long as the machine does (on Linux about a quarter of an hour):
///
/// - [`ConnectionManager`] connects anew when the connection is lost, and sends nothing twice. **Its default is to
///   wait 500 ms for an answer**, which a server that saves or fails over soon exceeds, and each such call is then
///   of unknown outcome: set its `response_timeout` as [`Limits::answer`] says. A server that becomes a replica, or
///   that refuses the password once, is its server until the process makes another.
/// - [`MultiplexedConnection`] does not connect anew: once it is lost, every call fails until the process makes
///   another. Its limit is set here.
/// - `ClusterConnection` (feature `cluster`) sends a command up to 16 times by itself. Every write of this crate
///   may be repeated, so that this does no harm; but an error then never says that nothing was applied. While a node
///   is silent, it does not ask who has its slots now. Let it read from primaries only.
#[derive(Clone)]
pub struct Connection {
    pub(crate) source: Source,
    pub(crate) is_cluster: bool,
    /// For one call, whatever the driver does within it.
    pub(crate) limit: Duration,
    /// By which more can be made; none of one that the driver made.
    pub(crate) origin: Option<Origin>,
}

/// Where a connection leads to.
#[derive(Clone)]
pub(crate) struct Origin {
    /// To the server, or to one node of the cluster.
    pub(crate) client: Client,
    connect: Duration,
}

/// How long a connection waits. The driver's own defaults are never used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// For how long a call waits, whatever it has to ask; whoever gets no answer is told that the outcome is unknown.
    /// By default 1.5 s: shorter than the executor [waits](idem_core::Builder::store_timeouts) for a store, so that
    /// the store's own limit is what is met first.
    pub answer: Duration,
    /// For how long a connection may take to be made. By default 1 s.
    pub connect: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            answer: Duration::from_millis(1500),
            connect: Duration::from_secs(1),
        }
    }
}

impl Limits {
    /// Sets [`answer`](Self::answer).
    #[must_use]
    pub fn answer(mut self, limit: Duration) -> Self {
        self.answer = limit;
        self
    }

    /// Sets [`connect`](Self::connect).
    #[must_use]
    pub fn connect(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }
}

#[derive(Clone)]
pub(crate) enum Kind {
    Multiplexed(MultiplexedConnection),
    Manager(ConnectionManager),
    #[cfg(feature = "cluster")]
    Cluster(ClusterConnection),
}

impl Kind {
    fn is_cluster(&self) -> bool {
        match self {
            Self::Multiplexed(_) | Self::Manager(_) => false,
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => true,
        }
    }
}

impl Connection {
    /// Connects to a server, such as `redis://user:password@host:6379/0`, `redis+unix:///run/redis.sock`, or
    /// `rediss://…` with the feature `tls`. Connects anew when the connection is lost or suspect.
    ///
    /// Dropped: nothing is left behind.
    ///
    /// # Errors
    /// [Unavailable](Error::is_unavailable) if the server cannot be reached. Not transient if the URL cannot be
    /// read, or the server refuses the user or the password.
    pub async fn open(url: &str) -> Result<Self, Error> {
        Self::open_within(url, Limits::default()).await
    }

    /// The same with limits of one's own.
    ///
    /// Dropped: nothing is left behind.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_within(url: &str, limits: Limits) -> Result<Self, Error> {
        make_tls_possible();
        let client = client(url, limits)?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(limits.answer))
            .set_connection_timeout(Some(limits.connect))
            .set_number_of_retries(2)
            .set_max_delay(Duration::from_millis(200));
        let maker = Maker::Server(client.clone(), Box::new(config));
        Self::opened(client, maker, limits).await
    }

    /// Connects to a cluster by the URLs of some of its nodes. Asks them anew when a connection is lost or suspect.
    ///
    /// Dropped: nothing is left behind.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "cluster")]
    pub async fn open_cluster<U: AsRef<str>>(
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, Error> {
        Self::open_cluster_within(urls, Limits::default()).await
    }

    /// The same with limits of one's own.
    ///
    /// Dropped: nothing is left behind.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "cluster")]
    pub async fn open_cluster_within<U: AsRef<str>>(
        urls: impl IntoIterator<Item = U>,
        limits: Limits,
    ) -> Result<Self, Error> {
        make_tls_possible();
        let urls = urls.into_iter().map(|url| url.as_ref().to_owned());
        let urls: Vec<String> = urls.collect();
        let Some(first) = urls.first() else {
            return Err(Error::invalid("a cluster is opened by at least one URL"));
        };
        let node = client(first, limits)?;
        let cluster = ClusterClientBuilder::new(urls)
            .connection_timeout(limits.connect)
            .response_timeout(limits.answer)
            .tcp_settings(reopen::tcp(limits))
            .build()
            .map_err(failure::of_connection)?;
        Self::opened(node, Maker::Cluster(cluster), limits).await
    }

    async fn opened(client: Client, maker: Maker, limits: Limits) -> Result<Self, Error> {
        let connect = limits.connect;
        let source = Source::open(maker, limits).await?;
        Ok(Self {
            is_cluster: source.kind().is_cluster(),
            source,
            limit: limits.answer,
            origin: Some(Origin { client, connect }),
        })
    }

    /// Sets for how long a call waits for its answer, at most; a shorter limit of the driver's stays. Keep it
    /// shorter than the executor's wait for a call.
    #[must_use]
    pub fn answer_within(mut self, limit: Duration) -> Self {
        if let Source::Given(Kind::Multiplexed(connection)) = &mut self.source {
            connection.set_response_timeout(limit);
        }
        self.limit = limit;
        self
    }

    fn of(kind: Kind) -> Self {
        Self {
            is_cluster: kind.is_cluster(),
            source: Source::Given(kind),
            limit: Limits::default().answer,
            origin: None,
        }
    }
}

fn client(url: &str, limits: Limits) -> Result<Client, Error> {
    let info = url.into_connection_info().map_err(failure::of_connection)?;
    Client::open(info.set_tcp_settings(reopen::tcp(limits))).map_err(failure::of_connection)
}

impl Origin {
    /// A connection of its own to this server: once it is lost, it stays lost, and nothing is sent twice.
    pub(crate) async fn connect(
        &self,
        client: &Client,
        answer: Duration,
    ) -> Result<Connection, Error> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect))
            .set_response_timeout(Some(answer));
        let connected = client.get_multiplexed_async_connection_with_config(&config);
        let connection = connected.await.map_err(failure::of_connection)?;
        Ok(Connection::from(connection).answer_within(answer))
    }
}

/// The driver takes the cryptography that the process has chosen for rustls, and panics where there is none.
fn make_tls_possible() {
    #[cfg(feature = "tls")]
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Whoever was faster has chosen for all.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

impl From<MultiplexedConnection> for Connection {
    /// With the [`Limits::answer`] of 1.5 s, in the place of the one that it had. It is never made anew.
    fn from(connection: MultiplexedConnection) -> Self {
        Self::of(Kind::Multiplexed(connection)).answer_within(Limits::default().answer)
    }
}

impl From<ConnectionManager> for Connection {
    /// With the [`Limits::answer`] of 1.5 s, or its own if that is shorter. It is never made anew but by the driver.
    fn from(manager: ConnectionManager) -> Self {
        Self::of(Kind::Manager(manager))
    }
}

#[cfg(feature = "cluster")]
impl From<ClusterConnection> for Connection {
    /// With the [`Limits::answer`] of 1.5 s, or its own if that is shorter. It is never made anew but by the driver.
    fn from(connection: ClusterConnection) -> Self {
        Self::of(Kind::Cluster(connection))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.source.kind() {
            Kind::Multiplexed(_) => "multiplexed",
            Kind::Manager(_) => "manager",
            #[cfg(feature = "cluster")]
            Kind::Cluster(_) => "cluster",
        };
        f.debug_struct("Connection")
            .field("kind", &kind)
            .field("limit", &self.limit)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_is_gone_is_found_also_while_nothing_is_sent() {
        let client = client("redis://127.0.0.1", Limits::default()).unwrap();
        let settings = client.get_connection_info().tcp_settings();
        assert!(settings.keepalive().is_some() && settings.nodelay());
        #[cfg(target_os = "linux")]
        assert_eq!(settings.user_timeout(), Some(Duration::from_secs(3)));
    }
}
