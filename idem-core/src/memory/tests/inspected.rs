//! Purging and paging: laws P1 and P2.

use std::time::Duration;

use super::{LEASE, RETENTION, record, reserve, store};
use crate::{Condition, Cursor, IdempotencyStore, Inspect, OnLapse, Purged, Response};

#[tokio::test]
async fn p1_purge_removes_at_most_its_limit_and_says_whether_more_are_left() {
    let (store, clock) = store();
    for n in 0..25 {
        let holder = reserve(&store, format!("{n}"), OnLapse::RunAgain).await;
        store
            .complete(&holder, &Response::new(201).into())
            .await
            .unwrap();
    }
    assert_eq!(
        store.purge_expired(10).await.unwrap(),
        Purged {
            removed: 0,
            more: false
        }
    );
    clock.advance(RETENTION);
    assert_eq!(
        store.purge_expired(0).await.unwrap(),
        Purged {
            removed: 0,
            more: true
        }
    );
    assert_eq!(
        store.purge_expired(10).await.unwrap(),
        Purged {
            removed: 10,
            more: true
        }
    );
    assert_eq!(
        store.purge_expired(10).await.unwrap(),
        Purged {
            removed: 10,
            more: true
        }
    );
    assert_eq!(
        store.purge_expired(10).await.unwrap(),
        Purged {
            removed: 5,
            more: false
        }
    );
    assert!(store.is_empty());
}

#[tokio::test]
async fn p2_lapsed_pages_through_all_that_lapsed_oldest_first() {
    let (store, clock) = store();
    let mut expected = Vec::new();
    for n in 0..17 {
        let holder = reserve(&store, format!("{n}"), OnLapse::RunAgain).await;
        expected.push(holder.record);
        clock.advance(Duration::from_millis(1));
    }
    clock.advance(LEASE);
    let abandoned = reserve(&store, "abandoned", OnLapse::RunAgain).await;
    store.abandon(&abandoned).await.unwrap();
    expected.push(abandoned.record);
    reserve(&store, "live", OnLapse::RunAgain).await;
    let done = reserve(&store, "done", OnLapse::RunAgain).await;
    store
        .complete(&done, &Response::new(201).into())
        .await
        .unwrap();

    for limit in [1, 2, 5, 18, 100] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = store.lapsed(after.as_ref(), limit).await.unwrap();
            assert!(page.records.len() <= limit);
            found.extend(page.records);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let ids: Vec<_> = found
            .iter()
            .map(|info| info.operation.record.clone())
            .collect();
        assert_eq!(ids, expected, "pages of {limit}");
        assert!(matches!(found[0].condition, Condition::Lapsed { .. }));
        assert!(matches!(found[17].condition, Condition::Abandoned { .. }));
    }
}

#[tokio::test]
async fn p2_a_record_that_lapses_again_during_a_walk_is_not_listed_twice() {
    let (store, clock) = store();
    let holder = reserve(&store, "a", OnLapse::RunAgain).await;
    clock.advance(Duration::from_millis(1));
    reserve(&store, "b", OnLapse::RunAgain).await;
    clock.advance(LEASE);
    let first = store.lapsed(None, 1).await.unwrap();
    assert_eq!(first.records[0].operation.record, record("a"));
    store
        .renew(&holder, super::request("-").terms, None)
        .await
        .unwrap();
    clock.advance(LEASE);
    let second = store.lapsed(first.next.as_ref(), 10).await.unwrap();
    let ids: Vec<_> = second
        .records
        .iter()
        .map(|info| &info.operation.record)
        .collect();
    assert_eq!(ids, [&record("b")]);
}

#[tokio::test]
async fn p2_an_expired_record_is_absent() {
    let (store, clock) = store();
    reserve(&store, "k", OnLapse::RunAgain).await;
    clock.advance(RETENTION);
    assert_eq!(store.get(&record("k")).await.unwrap(), None);
    assert_eq!(store.lapsed(None, 10).await.unwrap().records, []);
    assert_eq!(store.len(), 1, "not purged yet");
}

#[tokio::test]
async fn a_cursor_of_another_store_is_an_error_and_not_a_panic() {
    let (store, _) = store();
    for bytes in [
        &b""[..],
        b"short",
        b"12345678",
        b"12345678\x05abc",
        b"12345678\x00k",
    ] {
        let error = store
            .lapsed(Some(&Cursor::from_bytes(bytes)), 10)
            .await
            .unwrap_err();
        assert!(error.is_invalid());
    }
}
