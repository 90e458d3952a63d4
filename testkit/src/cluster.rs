//! A Redis cluster of three primaries with a replica each.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crate::ports::Port;
use crate::redis::{Append, Redis, RedisBuilder};
use crate::resp::{Connection, Reply};
use crate::until::until;

const PRIMARIES: usize = 3;
const SLOTS: usize = 16_384;

/// How long a node is silent before it counts as dead. Shorter, and a busy machine loses nodes that live.
const NODE_TIMEOUT: Duration = Duration::from_secs(2);

/// For a cluster to agree on anything.
const AGREEMENT: Duration = Duration::from_secs(60);

/// Six nodes: 0 to 2 begin as the primaries, node `n + 3` as the replica of node `n`. To start it takes
/// seconds, so a test binary starts one and keeps it in a static.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    /// The ports of the nodes' own connections.
    bus: Vec<Port>,
}

/// A line of `CLUSTER NODES`.
#[derive(Debug)]
struct Node {
    id: String,
    port: u16,
    flags: String,
    primary: String,
    linked: bool,
    has_slots: bool,
}

impl RedisCluster {
    /// A cluster that agrees on itself, with replicas that are in step.
    ///
    /// # Panics
    ///
    /// If there is no Redis on the machine, or the nodes do not become a cluster.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        Self::start_with(Redis::builder().append(Append::Always))
    }

    /// The same of nodes with these settings.
    ///
    /// # Panics
    ///
    /// If there is no Redis on the machine, or the nodes do not become a cluster.
    #[must_use]
    #[track_caller]
    pub fn start_with(node: RedisBuilder) -> Self {
        let timeout = NODE_TIMEOUT.as_millis().to_string();
        let bus: Vec<_> = (0..2 * PRIMARIES).map(|_| Port::claim()).collect();
        let start = |bus: &Port| {
            node.clone()
                .setting("cluster-enabled", "yes")
                .setting("cluster-port", &bus.number().to_string())
                .setting("cluster-node-timeout", &timeout)
                // A replica always stands for election, and stays with its primary.
                .setting("cluster-replica-validity-factor", "0")
                .setting("cluster-allow-replica-migration", "no")
                .setting("repl-diskless-sync-delay", "0")
                .start()
        };
        let nodes: Vec<_> = thread::scope(|scope| {
            let starting: Vec<_> = bus.iter().map(|bus| scope.spawn(|| start(bus))).collect();
            let started = starting.into_iter().map(|node| node.join().unwrap());
            started.collect()
        });
        let cluster = Self { nodes, bus };
        cluster.join();
        cluster
    }

    /// Where every node listens, whatever its part.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(Redis::address).collect()
    }

    /// Its nodes. Kill one to see what happens.
    #[must_use]
    pub fn nodes(&self) -> &[Redis] {
        &self.nodes
    }

    /// The node that holds the key now.
    ///
    /// # Panics
    ///
    /// If nobody does for a minute.
    #[must_use]
    pub fn primary_of(&self, key: &str) -> usize {
        until("a primary of the key", AGREEMENT, || {
            (0..self.nodes.len()).find(|&node| {
                let got = self.try_ask(node, &["GET", key]);
                matches!(got, Some(Reply::Text(_) | Reply::Nil))
            })
        })
    }

    /// Kills the primary and waits until its replica has taken its place everywhere. Returns the
    /// replica.
    ///
    /// # Panics
    ///
    /// If no replica takes it within a minute.
    pub fn fail_over(&self, primary: usize) -> usize {
        let replica = self.replica_of(primary);
        self.nodes[primary].kill();
        self.until_promoted(replica);
        replica
    }

    /// The same, but for so long before the kill the replica hears nothing of what the primary is told: all of that
    /// is lost.
    ///
    /// # Panics
    ///
    /// If no replica takes it within a minute.
    pub fn fail_over_behind(&self, primary: usize, lag: Duration) -> usize {
        let replica = self.replica_of(primary);
        // It cannot connect anew while it is paused.
        self.nodes[replica].pause();
        self.nodes[primary].ask(&["CLIENT", "KILL", "TYPE", "replica"]);
        // why: for so long the primary goes on alone
        thread::sleep(lag);
        self.nodes[primary].kill();
        self.nodes[replica].go_on();
        self.until_promoted(replica);
        replica
    }

    fn replica_of(&self, primary: usize) -> usize {
        let view = self.view(primary).expect("the primary answers");
        let id = node_of(&view, "myself").id.clone();
        let replica = view.iter().find(|node| node.primary == id);
        self.by_port(replica.expect("the primary has a replica").port)
    }

    fn until_promoted(&self, replica: usize) {
        let port = self.nodes[replica].address().port();
        until("the promotion of a replica", AGREEMENT, || {
            let alive = (0..self.nodes.len()).filter(|&node| self.nodes[node].pid().is_some());
            let promoted = |node| {
                let view = self.view(node)?;
                let promoted = view.iter().find(|node| node.port == port)?;
                let whole = self.state_is_ok(node);
                (whole && promoted.flags.contains("master") && promoted.has_slots).then_some(())
            };
            alive.map(promoted).all(|seen| seen.is_some()).then_some(())
        });
    }

    /// Starts a killed node again and waits until the cluster is whole, with this node as a replica if
    /// another took its place.
    ///
    /// # Panics
    ///
    /// If it is not whole within a minute.
    pub fn start_again(&self, node: usize) {
        self.nodes[node].start_again();
        self.until_whole();
    }

    fn join(&self) {
        let ask = |node: usize, command: &[&str]| self.nodes[node].ask(command);
        for node in 0..PRIMARIES {
            let (first, next) = (SLOTS * node / PRIMARIES, SLOTS * (node + 1) / PRIMARIES);
            let (first, last) = (first.to_string(), (next - 1).to_string());
            ask(node, &["CLUSTER", "ADDSLOTSRANGE", &first, &last]);
        }
        for node in 0..self.nodes.len() {
            let epoch = (node + 1).to_string();
            ask(node, &["CLUSTER", "SET-CONFIG-EPOCH", &epoch]);
            if node > 0 {
                let port = self.nodes[node].address().port().to_string();
                let bus = self.bus[node].number().to_string();
                ask(0, &["CLUSTER", "MEET", "127.0.0.1", &port, &bus]);
            }
        }
        for replica in PRIMARIES..self.nodes.len() {
            let Reply::Text(primary) = ask(replica - PRIMARIES, &["CLUSTER", "MYID"]) else {
                panic!("a node has an id");
            };
            until("a replica that knows its primary", AGREEMENT, || {
                let reply = self.try_ask(replica, &["CLUSTER", "REPLICATE", &primary])?;
                (reply == Reply::Text("OK".into())).then_some(())
            });
        }
        self.until_whole();
    }

    /// Every node sees six that live, the same three primaries, and is in step if it is a replica.
    fn until_whole(&self) {
        until("a whole cluster", AGREEMENT, || {
            let whole = |node| {
                let view = self.view(node)?;
                let failing = view.iter().any(|node| node.flags.contains("fail"));
                let primaries = view.iter().filter(|node| node.has_slots).count();
                let linked = view.iter().all(|node| node.linked);
                let as_expected = view.len() == self.nodes.len() && primaries == PRIMARIES;
                let whole = as_expected && linked && !failing && self.state_is_ok(node);
                (whole && self.is_in_step(node)).then_some(())
            };
            let mut nodes = 0..self.nodes.len();
            nodes.all(|node| whole(node).is_some()).then_some(())
        });
    }

    fn is_in_step(&self, node: usize) -> bool {
        let info = self.try_ask(node, &["INFO", "replication"]);
        let Some(Reply::Text(info)) = info else {
            return false;
        };
        // A primary has its replica, a replica its primary.
        info.contains("master_link_status:up") || info.contains("state=online")
    }

    fn state_is_ok(&self, node: usize) -> bool {
        let info = self.try_ask(node, &["CLUSTER", "INFO"]);
        matches!(info, Some(Reply::Text(info)) if info.contains("cluster_state:ok"))
    }

    fn view(&self, node: usize) -> Option<Vec<Node>> {
        match self.try_ask(node, &["CLUSTER", "NODES"])? {
            Reply::Text(lines) => lines.lines().map(Node::read).collect(),
            _ => None,
        }
    }

    fn try_ask(&self, node: usize, command: &[&str]) -> Option<Reply> {
        let mut redis = Connection::tcp(self.nodes[node].address()).ok()?;
        redis.ask(command).ok()
    }

    fn by_port(&self, port: u16) -> usize {
        let mut addresses = self.nodes.iter().map(Redis::address);
        addresses
            .position(|address| address.port() == port)
            .unwrap()
    }
}

fn node_of<'a>(view: &'a [Node], flag: &str) -> &'a Node {
    let mut nodes = view.iter();
    nodes.find(|node| node.flags.contains(flag)).unwrap()
}

impl Node {
    /// `ID 127.0.0.1:PORT@BUS FLAGS PRIMARY PING PONG EPOCH LINK SLOTS…`
    fn read(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split(' ').collect();
        let [id, address, flags, primary, _, _, _, link, slots @ ..] = words.as_slice() else {
            return None;
        };
        let port = address.split_once(':')?.1.split_once('@')?.0;
        Some(Self {
            id: (*id).to_owned(),
            port: port.parse().ok()?,
            flags: (*flags).to_owned(),
            primary: (*primary).to_owned(),
            linked: *link == "connected",
            has_slots: !slots.is_empty(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_nodes_is_understood() {
        let primary = "07c3 127.0.0.1:30004@31004,host slave e7d1 0 1426238317239 4 connected";
        let node = Node::read(primary).unwrap();
        assert_eq!((node.port, node.primary.as_str()), (30004, "e7d1"));
        assert!(node.linked && !node.has_slots);
        let failed = "e7d1 127.0.0.1:30001@31001 master,fail - 0 0 1 disconnected 0-5460";
        let node = Node::read(failed).unwrap();
        assert!(node.has_slots && !node.linked && node.flags.contains("fail"));
    }
}
