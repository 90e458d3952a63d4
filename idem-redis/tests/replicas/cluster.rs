//! Calls that wait, on a cluster.

use std::time::Duration;

use idem_core::{IdempotencyStore, Outcome};
use idem_redis::{Connection, Limits, RedisStore};
use testkit::Redis;

use crate::support::{CLUSTER, a_prefix, request, reserve};
use crate::{PATIENCE, is_unconfirmed};

/// Each key over a connection to the node that has it.
#[tokio::test]
async fn on_a_cluster_only_the_keys_of_a_hanging_replica_are_unconfirmed() {
    let urls = CLUSTER.nodes().iter().map(Redis::url);
    let limits = Limits::default().answer(2 * PATIENCE).connect(PATIENCE);
    let connection = Connection::open_cluster_within(urls, limits).await.unwrap();
    let prefix = a_prefix();
    let plain = RedisStore::new(connection).with_prefix(prefix.clone());
    // Long enough for a replica that lives, on a busy machine.
    let store = plain.wait_replicas(1, Duration::from_millis(1500)).unwrap();
    let paused = 1;
    let (mut here, mut elsewhere) = (0, 0);
    let mut unknown = Vec::new();
    for number in 0..24 {
        let request = request(&format!("k{number}"));
        let record = &request.operation.record;
        let name = format!("{}:acct_812:{}", prefix.as_str(), record.key.as_str());
        // Nodes 0 to 2 are the primaries; the replica of node n is node n + 3.
        if CLUSTER.primary_of(&name) != paused {
            elsewhere += 1;
            reserve(&store, &request).await;
        } else if here == 0 {
            here += 1;
            CLUSTER.nodes()[paused + 3].pause();
            is_unconfirmed(store.reserve(&request).await);
            CLUSTER.nodes()[paused + 3].go_on();
            unknown.push(request);
        }
    }
    println!("{elsewhere} keys elsewhere, {here} with the replica that hung");
    assert!(here > 0 && elsewhere > 3);
    for request in unknown {
        let resent = store.reserve(&request.resent()).await.unwrap();
        assert!(
            matches!(resent, Outcome::Reserved { attempt: 1, .. }),
            "{resent:?}"
        );
    }
}
