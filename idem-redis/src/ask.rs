//! How commands are sent over a connection, and for how long they are waited for.

#[cfg(feature = "cluster")]
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{Cmd, Pipeline, RedisResult, Value};
use tokio::time::timeout;

use crate::connection::{Connection, Kind};
use crate::failure::Failure;

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
