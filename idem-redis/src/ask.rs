//! How commands are sent over a connection, and for how long they are waited for.

#[cfg(feature = "cluster")]
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{Arg, Cmd, Pipeline, RedisResult, Value};
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
        let (kind, watch) = self.source.take(self.part(|| key_of(command)));
        let asked = self.in_time(async {
            match kind {
                Kind::Multiplexed(mut connection) => command.query_async(&mut connection).await,
                Kind::Manager(mut connection) => command.query_async(&mut connection).await,
                #[cfg(feature = "cluster")]
                Kind::Cluster(mut connection) => command.query_async(&mut connection).await,
            }
        });
        let asked = asked.await;
        watch.heard(asked.as_ref().err());
        asked
    }

    /// Commands in a row, to the node that has the key `name`. Each has its answer, which may be an error.
    pub(crate) async fn ask_in_a_row(
        &self,
        commands: Pipeline,
        name: &str,
    ) -> Result<Vec<Value>, Failure> {
        let (kind, watch) = self.source.take(self.part(|| Some(name.as_bytes())));
        let count = commands.len();
        let asked = self.in_time(async {
            match kind {
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
        });
        let asked = asked.await;
        match &asked {
            Ok(answers) => {
                let refused = answers.iter().find_map(|answer| self.refusal(answer));
                watch.heard(refused.as_ref());
            }
            Err(failure) => watch.heard(Some(failure)),
        }
        asked
    }

    /// Of a cluster, which 256 slots the key is in.
    fn part<'a>(&self, key: impl FnOnce() -> Option<&'a [u8]>) -> u16 {
        #[cfg(feature = "cluster")]
        if self.is_cluster {
            return key().map_or(0, |key| crate::slots::slot(key) / 256);
        }
        let _ = key;
        0
    }

    /// A command to this node.
    pub(crate) async fn ask_node(&self, command: &Cmd, node: &Node) -> Result<Value, Failure> {
        match (self.source.kind(), node) {
            #[cfg(feature = "cluster")]
            (Kind::Cluster(mut connection), Node::At { host, port }) => {
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
        if let Kind::Cluster(mut connection) = self.source.kind() {
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

    /// What an answer is, if it is an error of the server.
    pub(crate) fn refusal(&self, answer: &Value) -> Option<Failure> {
        match answer {
            Value::ServerError(error) => Some(Failure::of(error.clone().into(), self.resends())),
            _ => None,
        }
    }

    /// Whether the driver may have sent a command before, and been applied, when it reports an error.
    /// Only the client of a cluster sends again.
    fn resends(&self) -> bool {
        self.is_cluster
    }
}

/// Of a command of this crate.
fn key_of(command: &Cmd) -> Option<&[u8]> {
    let mut arguments = command.args_iter().map(|argument| match argument {
        Arg::Simple(bytes) => Some(bytes),
        _ => None,
    });
    match arguments.next()?? {
        b"EVAL" | b"EVALSHA" => arguments.nth(2)?,
        _ => arguments.next()?,
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
