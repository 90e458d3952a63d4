//! purge × reserve: what is removed was expired at that moment, a fresh reservation never (law P1).

use super::*;
use crate::machine::view;
use crate::memory::lock;

type Purge = fn(&MemoryStore);

fn a_fresh_reservation_stays(by: Purge) {
    let (store, clock) = held();
    complete(&store, &holder(1, 1), &answer("old"));
    let moment = Duration::from_millis(1);
    clock.advance(RETENTION - moment);
    let purge = {
        let store = store.clone();
        thread::spawn(move || {
            clock.advance(moment);
            by(&store);
        })
    };
    // A call on another record sweeps as well.
    let other = {
        let store = store.clone();
        thread::spawn(move || reserve(&store, &asks_for("another", 2)))
    };
    let mine = reserve(&store, &asks(3));
    purge.join().unwrap();
    assert!(is_reserved(&other.join().unwrap(), 1));

    store.check();
    if is_reserved(&mine, 1) {
        let completed = complete(&store, &holder(3, 1), &answer("new"));
        assert!(
            matches!(completed, Completion::Completed { .. }),
            "the reservation is gone: {completed:?}"
        );
    } else {
        assert!(replays(&mine, &answer("old")), "{mine:?}");
        assert!(is_reserved(&reserve(&store, &asks(4)), 1), "not expired");
    }
    let live = at_once(store.get(&record("another"))).unwrap();
    assert!(live.is_some(), "the other reservation is gone");
}

#[test]
fn no_sweep_takes_a_fresh_reservation() {
    holds("purge × reserve × reserve", || {
        a_fresh_reservation_stays(|store| {
            at_once(store.purge_expired(10)).unwrap();
        });
    });
}

#[test]
fn a_purge_by_a_stale_list_takes_a_fresh_reservation() {
    fails(
        "fault: purge by a stale list",
        "the reservation is gone",
        || {
            a_fresh_reservation_stays(|store| {
                let now = store.0.clock.now();
                for shard in &store.0.shards {
                    let expired: Vec<_> = lock(shard)
                        .iter()
                        .filter(|(id, record)| view(id, record, now).is_none())
                        .map(|(id, _)| id.clone())
                        .collect();
                    for id in expired {
                        lock(shard).apply(&id, Change::Remove);
                    }
                }
            });
        },
    );
}
