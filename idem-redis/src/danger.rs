//! What [`check`](crate::RedisStore::check) finds.

use std::fmt;

/// A setting of the server, or a state that it is in, which takes something away from what the store promises. It is
/// shown with what was found and with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Danger {
    /// Full, the server removes records at its own choice: their operations run again.
    #[non_exhaustive]
    Eviction {
        /// `maxmemory-policy`.
        policy: String,
    },
    /// The server has removed keys to make room since it started; records may have been among them.
    #[non_exhaustive]
    Evicted {
        /// How many.
        keys: u64,
    },
    /// A crash of the server loses everything that is younger than its last snapshot, if it makes any.
    NoAppendOnlyFile,
    /// A crash loses what was acknowledged shortly before.
    #[non_exhaustive]
    AppendFsync {
        /// `appendfsync`.
        found: String,
    },
    /// `appendfsync` is `always`, but not while the server rewrites its files: a crash then loses what was acknowledged
    /// since that began.
    NoFsyncOnRewrite,
    /// The last write to the append-only file failed: nothing can be reserved, or nothing is kept.
    AppendFails,
    /// A replica may take over that has not seen what was acknowledged: no write waits for any replica, and answers
    /// [wait](crate::RedisStore::wait_replicas) for fewer than there are.
    #[non_exhaustive]
    ReplicasMayLag {
        /// How many replicas are connected.
        replicas: u64,
        /// By how many seconds, at most, before the primary takes no more writes: `min-replicas-max-lag`, where
        /// `min-replicas-to-write` is set.
        bound: Option<u64>,
    },
    /// Nothing can be reserved: the server is a replica.
    Replica,
    /// The server is a node of a cluster, but the connection is not one to a cluster: most records are elsewhere.
    ClusterNode,
    /// Nothing can be written: the server does not know the commands that the store needs.
    #[non_exhaustive]
    Version {
        /// What the server says it is.
        found: String,
    },
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eviction { policy } => write!(
                f,
                "maxmemory-policy is {policy}: once the server is full, it forgets records, and their operations \
                 run again. CONFIG SET maxmemory-policy noeviction"
            ),
            Self::Evicted { keys } => write!(
                f,
                "the server has evicted {keys} keys since it started: records may be lost. Give it more memory, and \
                 set maxmemory-policy to noeviction"
            ),
            Self::NoAppendOnlyFile => f.write_str(
                "there is no append-only file: a crash of the server loses answers that were acknowledged. \
                 CONFIG SET appendonly yes",
            ),
            Self::AppendFsync { found } => write!(
                f,
                "appendfsync is {found}: a crash of the machine loses answers that were acknowledged just before. \
                 CONFIG SET appendfsync always"
            ),
            Self::NoFsyncOnRewrite => f.write_str(
                "no-appendfsync-on-rewrite is yes: a crash of the machine during a rewrite or a snapshot loses answers \
                 that were acknowledged. CONFIG SET no-appendfsync-on-rewrite no",
            ),
            Self::AppendFails => f.write_str(
                "the server cannot write to its append-only file: look at its disk and at its log",
            ),
            Self::ReplicasMayLag { replicas, bound } => {
                write!(
                    f,
                    "{replicas} replicas, and not every answer waits for all of them: a failover loses what they have \
                     not seen. RedisStore::wait_replicas narrows it"
                )?;
                match bound {
                    None => f.write_str(", CONFIG SET min-replicas-to-write 1 bounds by how much"),
                    Some(seconds) => write!(
                        f,
                        "; min-replicas-max-lag bounds it to about {seconds} s of acknowledged answers, and CONFIG SET \
                         makes that less"
                    ),
                }
            }
            Self::Replica => {
                f.write_str("the server is a replica, which takes no writes: connect to the primary")
            }
            Self::ClusterNode => f.write_str(
                "the server is a node of a cluster: open the connection with Connection::open_cluster",
            ),
            Self::Version { found } => write!(f, "the server is of version {found}: 6.2 is needed"),
        }
    }
}
