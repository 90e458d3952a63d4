//! A connection to Redis, of whichever kind.

use std::fmt;
use std::time::Duration;

use idem_core::Error;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
#[cfg(feature = "cluster")]
use redis::cluster::ClusterClientBuilder;
#[cfg(feature = "cluster")]
use redis::cluster_async::ClusterConnection;
#[cfg(feature = "cluster")]
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{Client, Cmd, Pipeline, RedisResult, Value};
use tokio::time::timeout;

use crate::failure::{self, Failure};

/// A connection to a server or to a cluster, for [`RedisStore`](crate::RedisStore) and
/// [`RedisCache`](crate::RedisCache). Clones share it; all calls go over it side by side, and no pool is needed.
///
/// [`open`](Self::open) and [`open_cluster`](Self::open_cluster) make one with the limits that fit. Or turn one of
/// the driver's own into it:
///
/// - [`ConnectionManager`] connects anew when the connection is lost, and sends nothing twice. **Its default is to
///   wait 500 ms for an answer**, which a server that saves or fails over soon exceeds, and each such call is then
///   of unknown outcome: set its `response_timeout` as [`Limits::answer`] says.
/// - [`MultiplexedConnection`] does not connect anew: once it is lost, every call fails until the process makes
///   another. Its limit is set here.
/// - `ClusterConnection` (feature `cluster`) sends a command up to 16 times by itself. Every write of this crate
///   may be repeated, so that this does no harm; but an error then never says that nothing was applied.
#[derive(Clone)]
pub struct Connection {
    kind: Kind,
    /// For one call, whatever the driver does within it.
    limit: Duration,
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
enum Kind {
    Multiplexed(MultiplexedConnection),
    Manager(ConnectionManager),
    #[cfg(feature = "cluster")]
    Cluster(ClusterConnection),
}

/// Where a command goes that names no key.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// The one server.
    Only,
    /// A node of a cluster.
    #[cfg(feature = "cluster")]
    At { host: String, port: u16 },
}

impl Connection {
    /// Connects to a server, such as `redis://user:password@host:6379/0`, `redis+unix:///run/redis.sock`, or
    /// `rediss://…` with the feature `tls`. Connects anew when the connection is lost.
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
        let client = Client::open(url).map_err(failure::of_connection)?;
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(limits.answer))
            .set_connection_timeout(Some(limits.connect))
            .set_number_of_retries(2)
            .set_max_delay(Duration::from_millis(200));
        let manager = ConnectionManager::new_with_config(client, config).await;
        let manager = manager.map_err(failure::of_connection)?;
        Ok(Self::from(manager).answer_within(limits.answer))
    }

    /// Connects to a cluster by the URLs of some of its nodes.
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
        let client = ClusterClientBuilder::new(urls.collect::<Vec<String>>())
            .connection_timeout(limits.connect)
            .response_timeout(limits.answer)
            .build()
            .map_err(failure::of_connection)?;
        let connection = client.get_async_connection().await;
        let connection = connection.map_err(failure::of_connection)?;
        Ok(Self::from(connection).answer_within(limits.answer))
    }

    /// Sets for how long a call waits for its answer, at most; a shorter limit of the driver's stays. Keep it
    /// shorter than the executor's wait for a call.
    #[must_use]
    pub fn answer_within(mut self, limit: Duration) -> Self {
        if let Kind::Multiplexed(connection) = &mut self.kind {
            connection.set_response_timeout(limit);
        }
        self.limit = limit;
        self
    }

    fn of(kind: Kind) -> Self {
        Self {
            kind,
            limit: Limits::default().answer,
        }
    }

    /// A command that names its key.
    pub(crate) async fn ask(&self, command: &Cmd) -> Result<Value, Failure> {
        self.in_time(async {
            match self.kind.clone() {
                Kind::Multiplexed(mut connection) => command.query_async(&mut connection).await,
                Kind::Manager(mut connection) => command.query_async(&mut connection).await,
                #[cfg(feature = "cluster")]
                Kind::Cluster(mut connection) => command.query_async(&mut connection).await,
            }
        })
        .await
    }

    /// Commands in a row, to the node that has the key `name`. Each has its answer, which may be an error.
    pub(crate) async fn ask_in_a_row(
        &self,
        commands: Pipeline,
        name: &str,
    ) -> Result<Vec<Value>, Failure> {
        #[cfg(not(feature = "cluster"))]
        let _ = name;
        let count = commands.len();
        self.in_time(async {
            match self.kind.clone() {
                Kind::Multiplexed(mut connection) => {
                    connection.send_packed_commands(&commands, 0, count).await
                }
                Kind::Manager(mut connection) => {
                    connection.send_packed_commands(&commands, 0, count).await
                }
                #[cfg(feature = "cluster")]
                Kind::Cluster(mut connection) => {
                    let route = Route::with_key(name, SlotAddr::Master);
                    let route = SingleNodeRoutingInfo::SpecificNode(route);
                    connection.route_pipeline(commands, 0, count, route).await
                }
            }
        })
        .await
    }

    /// A command to this node.
    pub(crate) async fn ask_node(&self, command: &Cmd, node: &Node) -> Result<Value, Failure> {
        match (&self.kind, node) {
            #[cfg(feature = "cluster")]
            (Kind::Cluster(connection), Node::At { host, port }) => {
                let mut connection = connection.clone();
                let route = SingleNodeRoutingInfo::ByAddress {
                    host: host.clone(),
                    port: *port,
                };
                let asked =
                    connection.route_command(command.clone(), RoutingInfo::SingleNode(route));
                self.in_time(async { asked.await?.extract_error() }).await
            }
            _ => self.ask(command).await,
        }
    }

    /// Every node that has records: the server, or the primaries of a cluster.
    pub(crate) async fn nodes(&self) -> Result<Vec<Node>, Failure> {
        #[cfg(feature = "cluster")]
        if let Kind::Cluster(connection) = &self.kind {
            let mut connection = connection.clone();
            let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
            let asked = connection.route_command(redis::cmd("PING"), all);
            let answers = self.in_time(async { asked.await?.extract_error() }).await?;
            let Value::Map(answers) = answers else {
                return Err(Failure::strange());
            };
            let nodes = answers.into_iter().map(|(address, _)| node_at(&address));
            return nodes.collect::<Option<_>>().ok_or_else(Failure::strange);
        }
        Ok(vec![Node::Only])
    }

    /// A call of a store, which may ask more than once: in all, it takes no longer than the limit.
    pub(crate) async fn in_limit<T>(
        &self,
        call: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let called = timeout(self.limit, call).await;
        called.unwrap_or_else(|elapsed| Err(Failure::late(elapsed)))
    }

    async fn in_time<T>(&self, asked: impl Future<Output = RedisResult<T>>) -> Result<T, Failure> {
        match timeout(self.limit, asked).await {
            Ok(asked) => asked.map_err(|error| Failure::of(error, self.resends())),
            Err(elapsed) => Err(Failure::late(elapsed)),
        }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        // Only that client sends again.
        self.resends()
    }

    /// What an answer is, if it is an error of the server.
    pub(crate) fn refusal(&self, answer: &Value) -> Option<Failure> {
        match answer {
            Value::ServerError(error) => Some(Failure::of(error.clone().into(), self.resends())),
            _ => None,
        }
    }

    /// Whether the driver may have sent a command before, and been applied, when it reports an error.
    fn resends(&self) -> bool {
        match &self.kind {
            Kind::Multiplexed(_) | Kind::Manager(_) => false,
            #[cfg(feature = "cluster")]
            Kind::Cluster(_) => true,
        }
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

#[cfg(feature = "cluster")]
fn node_at(address: &Value) -> Option<Node> {
    let text = match address {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
        Value::SimpleString(text) => text,
        _ => return None,
    };
    let (host, port) = text.rsplit_once(':')?;
    Some(Node::At {
        host: host.to_owned(),
        port: port.parse().ok()?,
    })
}

impl From<MultiplexedConnection> for Connection {
    /// With the [`Limits::answer`] of 1.5 s, in the place of the one that it had.
    fn from(connection: MultiplexedConnection) -> Self {
        Self::of(Kind::Multiplexed(connection)).answer_within(Limits::default().answer)
    }
}

impl From<ConnectionManager> for Connection {
    /// With the [`Limits::answer`] of 1.5 s, or its own if that is shorter.
    fn from(manager: ConnectionManager) -> Self {
        Self::of(Kind::Manager(manager))
    }
}

#[cfg(feature = "cluster")]
impl From<ClusterConnection> for Connection {
    /// With the [`Limits::answer`] of 1.5 s, or its own if that is shorter.
    fn from(connection: ClusterConnection) -> Self {
        Self::of(Kind::Cluster(connection))
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
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
