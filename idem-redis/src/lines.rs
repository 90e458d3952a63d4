//! Connections of a store's own, each for one call at a time: what one call waits for holds up no other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::Client;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::connection::{Connection, Origin};
use crate::failure::Failure;
#[cfg(feature = "cluster")]
use crate::slots::Slots;

/// How many calls may wait at one node at a time: so many connections at most. Others wait for their turn.
const AT_A_TIME: usize = 32;

/// To the server, or to every node of a cluster that was needed.
pub(crate) struct Lines {
    origin: Origin,
    /// For an answer, and for all that a call takes.
    limit: Duration,
    nodes: Mutex<HashMap<Address, Arc<Node>>>,
    #[cfg(feature = "cluster")]
    cluster: Option<(Connection, Slots)>,
}

/// None: the one server.
type Address = Option<(String, u16)>;

struct Node {
    client: Client,
    turns: Arc<Semaphore>,
    /// Nothing is on its way on these.
    idle: Mutex<Vec<Connection>>,
}

/// A connection that no other call uses. **Dropped, it is closed**: an answer may still be on its way, and would be
/// taken for that of the next call.
pub(crate) struct Line {
    pub(crate) connection: Connection,
    leads: Leads,
    _turn: OwnedSemaphorePermit,
}

/// What has led to a node. **Dropped before the node has answered**, by a failure or by whoever waited no longer, it
/// is made anew: the key may have another node by now, and a silent one says nothing.
struct Leads {
    lines: Arc<Lines>,
    node: Arc<Node>,
    answered: bool,
}

impl Drop for Leads {
    fn drop(&mut self) {
        if !self.answered {
            self.lines.forget(&self.node);
        }
    }
}

impl Lines {
    /// None for a connection that the driver made: it does not say where it leads to.
    pub(crate) fn beside(connection: &Connection) -> Option<Self> {
        Some(Self {
            origin: connection.origin.clone()?,
            limit: connection.limit,
            nodes: Mutex::default(),
            #[cfg(feature = "cluster")]
            cluster: connection
                .is_cluster
                .then(|| (connection.clone(), Slots::default())),
        })
    }

    /// One to the node that has the key `name`. Nothing is sent on it yet.
    pub(crate) async fn take(self: &Arc<Self>, name: &str) -> Result<Line, Failure> {
        let node = self.node_of(name).await?;
        let turn = Arc::clone(&node.turns).acquire_owned().await;
        // It is never closed.
        let turn = turn.map_err(|_| Failure::strange())?;
        let idle = locked(&node.idle).pop();
        let leads = Leads {
            lines: Arc::clone(self),
            node,
            answered: false,
        };
        let connection = match idle {
            Some(connection) => connection,
            None => self.origin.connect(&leads.node.client, self.limit).await?,
        };
        Ok(Line {
            connection,
            leads,
            _turn: turn,
        })
    }

    async fn node_of(&self, name: &str) -> Result<Arc<Node>, Failure> {
        #[cfg(feature = "cluster")]
        if let Some((connection, slots)) = &self.cluster {
            let here = self.origin.client.get_connection_info();
            let (host, port) = slots.owner(name, connection, here.addr()).await?;
            let there = here
                .clone()
                .set_addr(crate::slots::at(here.addr(), &host, port)?);
            return self.node(Some((host, port)), there);
        }
        #[cfg(not(feature = "cluster"))]
        let _ = name;
        let here = self.origin.client.get_connection_info().clone();
        self.node(None, here)
    }

    fn node(&self, address: Address, info: redis::ConnectionInfo) -> Result<Arc<Node>, Failure> {
        let mut nodes = locked(&self.nodes);
        if let Some(node) = nodes.get(&address) {
            return Ok(Arc::clone(node));
        }
        let node = Arc::new(Node {
            client: Client::open(info).map_err(crate::failure::of_connection)?,
            turns: Arc::new(Semaphore::new(AT_A_TIME)),
            idle: Mutex::default(),
        });
        nodes.insert(address, Arc::clone(&node));
        Ok(node)
    }

    /// This node does not answer, or is not the one: what leads to it is made anew.
    fn forget(&self, node: &Node) {
        locked(&node.idle).clear();
        #[cfg(feature = "cluster")]
        if let Some((_, slots)) = &self.cluster {
            slots.forget();
        }
    }
}

impl Line {
    /// The call has its answer, or has failed. Only a connection on which nothing is on its way is kept.
    pub(crate) fn done(mut self, failure: Option<&Failure>) {
        self.leads.answered = failure.is_none_or(Failure::was_answered);
        if self.leads.answered {
            locked(&self.leads.node.idle).push(self.connection);
        }
    }

    /// As the caller is told: on a cluster, never that nothing was applied.
    pub(crate) fn failed(&self, failure: Failure) -> Failure {
        #[cfg(feature = "cluster")]
        if self.leads.lines.cluster.is_some() {
            return failure.possibly_applied();
        }
        failure
    }
}

/// Nobody panics in between.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
