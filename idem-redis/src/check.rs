//! Whether the server is set up as the store needs it.

use std::collections::{BTreeMap, BTreeSet};

use idem_core::Error;
use redis::{Cmd, Value};

use crate::ask::Node;
use crate::failure::Failure;
use crate::{Danger, RedisStore};

const SETTINGS: [&str; 4] = [
    "appendfsync",
    "no-appendfsync-on-rewrite",
    "min-replicas-to-write",
    "min-replicas-max-lag",
];

impl RedisStore {
    /// Looks at the settings of the server, or of each primary of the cluster, and gives what is dangerous: an empty
    /// list is as it should be. Nothing is changed.
    ///
    /// Run it when the process starts, and log or refuse what it finds; and now and then in a health check for
    /// operators, since servers change and primaries become replicas. It costs a few small reads of each node.
    ///
    /// ```no_run
    /// # use idem_redis::*;
    /// # async fn check(store: RedisStore) -> Result<(), Box<dyn std::error::Error>> {
    /// for danger in store.check().await? {
    ///     match danger {
    ///         // Nothing would work, or nothing would be kept.
    ///         Danger::Replica | Danger::Eviction { .. } => return Err(danger.to_string().into()),
    ///         danger => eprintln!("idempotency: {danger}"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// What a managed server refuses to tell is passed over: an empty list says that nothing was seen.
    ///
    /// Dropped: nothing happened.
    ///
    /// # Errors
    /// [Unavailable](Error::is_unavailable) if a server cannot be asked.
    pub async fn check(&self) -> Result<Vec<Danger>, Error> {
        let mut dangers = BTreeSet::new();
        for node in self.connection.nodes().await.map_err(Failure::into_error)? {
            let mut told = self.info(&node).await?;
            for name in SETTINGS {
                told.extend(self.setting(&node, name).await?);
            }
            let waits_for = self.replicas.as_ref().map_or(0, |replicas| replicas.wanted);
            let in_cluster = self.connection.is_cluster;
            dangers.extend(of_node(&told, in_cluster, waits_for.into()));
        }
        Ok(dangers.into_iter().collect())
    }

    async fn info(&self, node: &Node) -> Result<Told, Error> {
        let info = self.ask_if_allowed(&redis::cmd("INFO"), node).await?;
        let text = match &info {
            Some(Value::BulkString(text)) => String::from_utf8_lossy(text),
            Some(Value::VerbatimString { text, .. }) => text.as_str().into(),
            _ => return Ok(Told::new()),
        };
        let pairs = text.lines().filter_map(|line| line.split_once(':'));
        Ok(pairs
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect())
    }

    async fn setting(&self, node: &Node, name: &str) -> Result<Option<(String, String)>, Error> {
        let mut command = redis::cmd("CONFIG");
        command.arg("GET").arg(name);
        let value = match self.ask_if_allowed(&command, node).await? {
            Some(Value::Array(mut pair)) if pair.len() == 2 => pair.pop(),
            Some(Value::Map(mut pairs)) => pairs.pop().map(|(_, value)| value),
            _ => None,
        };
        Ok(match value {
            Some(Value::BulkString(value)) => Some((
                name.to_owned(),
                String::from_utf8_lossy(&value).into_owned(),
            )),
            _ => None,
        })
    }

    async fn ask_if_allowed(&self, command: &Cmd, node: &Node) -> Result<Option<Value>, Error> {
        match self.connection.ask_node(command, node).await {
            Ok(answer) => Ok(Some(answer)),
            Err(failure) if failure.is_not_understood() => Ok(None),
            Err(failure) => Err(failure.into_error()),
        }
    }
}

/// By name; without what the server does not tell.
type Told = BTreeMap<String, String>;

fn of_node(told: &Told, in_cluster: bool, waits_for: u64) -> Vec<Danger> {
    let mut dangers = Vec::new();
    let text = |name: &str| told.get(name).map(String::as_str);
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    if let Some(found) = text("redis_version").filter(|version| is_too_old(version)) {
        dangers.push(Danger::Version {
            found: found.to_owned(),
        });
    }
    if let Some(policy) = text("maxmemory_policy").filter(|policy| *policy != "noeviction")
        && number("maxmemory").is_some_and(|bytes| bytes > 0)
    {
        dangers.push(Danger::Eviction {
            policy: policy.to_owned(),
        });
    }
    if let Some(keys) = number("evicted_keys").filter(|keys| *keys > 0) {
        dangers.push(Danger::Evicted { keys });
    }
    match text("aof_enabled") {
        Some("0") => dangers.push(Danger::NoAppendOnlyFile),
        Some("1") => {
            if let Some(found) = text("appendfsync").filter(|found| *found != "always") {
                dangers.push(Danger::AppendFsync {
                    found: found.to_owned(),
                });
            } else if text("no-appendfsync-on-rewrite") == Some("yes") {
                dangers.push(Danger::NoFsyncOnRewrite);
            }
        }
        _ => {}
    }
    if text("aof_last_write_status").is_some_and(|status| status != "ok") {
        dangers.push(Danger::AppendFails);
    }
    if text("role") == Some("slave") {
        dangers.push(Danger::Replica);
    }
    // With answers that wait for all of them, none lags behind what was acknowledged.
    if let Some(replicas) = number("connected_slaves").filter(|replicas| *replicas > waits_for)
        && let Some(needed) = number("min-replicas-to-write")
    {
        // Either of them zero, and nothing is bounded.
        let bound = number("min-replicas-max-lag").filter(|lag| needed > 0 && *lag > 0);
        dangers.push(Danger::ReplicasMayLag { replicas, bound });
    }
    if text("cluster_enabled") == Some("1") && !in_cluster {
        dangers.push(Danger::ClusterNode);
    }
    dangers
}

fn is_too_old(version: &str) -> bool {
    let mut parts = version
        .split('.')
        .map_while(|part| part.parse::<u32>().ok());
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => (major, minor) < (6, 2),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dangers(told: &[(&str, &str)]) -> Vec<Danger> {
        let told = told
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        of_node(&told.collect(), false, 0)
    }

    #[test]
    fn what_is_not_told_is_passed_over() {
        assert_eq!(dangers(&[]), []);
        assert_eq!(dangers(&[("aof_enabled", "1")]), []);
        assert_eq!(dangers(&[("connected_slaves", "2")]), []);
        // Without a limit nothing is evicted.
        assert_eq!(
            dangers(&[("maxmemory_policy", "allkeys-lru"), ("maxmemory", "0")]),
            []
        );
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, old) in [
            ("6.0.16", true),
            ("5.0", true),
            ("6.2.0", false),
            ("7.0.15", false),
            ("10.0", false),
            ("?", false),
        ] {
            assert_eq!(is_too_old(version), old, "{version}");
        }
    }
}
