//! Another fingerprint: R4.

use idem_core::{Fingerprint, OnLapse, Operation, Outcome};

use crate::check::{assert_conflict, assert_replay, assert_reserved, assert_unchanged};
use crate::fixture::{
    HOUR, JUST_NOW, a_mismatch, a_try, a_try_on_hold, abandon, age, answer, ask, complete, lease,
    operation, renew, reserve, shown, try_at,
};
use crate::{Harness, Store};

/// Whoever asks for something else, and however, is told so, and nothing changes.
async fn assert_mismatch(store: &dyn Store, key: &str) {
    let before = shown(store, &operation(key, "a").record).await;
    for other in [
        a_mismatch(key),
        a_mismatch(key).resent(),
        a_mismatch(key).on_lapse(OnLapse::Hold),
        a_mismatch(key).longest_age(Some(age(0))),
    ] {
        let outcome = ask(store, &other).await;
        assert_eq!(outcome, Outcome::Mismatch, "of {key}");
    }
    let after = shown(store, &before.operation.record).await;
    assert_unchanged(&before, &after, JUST_NOW);
}

/// R4
pub async fn r4_another_fingerprint_is_a_mismatch_while_it_runs(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("k")).await;
    let started = reserve(store, &a_try("started")).await;
    renew(store, &started).await;
    harness.advance(HOUR).await;
    assert_mismatch(store, "k").await;
    assert_mismatch(store, "started").await;
    assert_conflict(&ask(store, &a_try("k")).await, lease(0));
}

/// R4
pub async fn r4_another_fingerprint_is_a_mismatch_once_completed(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    complete(store, &holder, "paid").await;
    harness.advance(HOUR).await;
    assert_mismatch(store, "k").await;
    assert_replay(&ask(store, &a_try("k")).await, &answer("paid"));
}

/// R4
pub async fn r4_another_fingerprint_is_a_mismatch_once_lapsed(harness: &dyn Harness) {
    let store = &*harness.store();
    reserve(store, &a_try("lapsed")).await;
    reserve(store, &a_try_on_hold("never started")).await;
    let unresolved = reserve(store, &a_try_on_hold("unresolved")).await;
    renew(store, &unresolved).await;
    harness.advance(2 * HOUR).await;
    for key in ["lapsed", "never started", "unresolved"] {
        assert_mismatch(store, key).await;
    }
    assert_reserved(&ask(store, &a_try("lapsed")).await, 2);
}

/// R4
pub async fn r4_another_fingerprint_is_a_mismatch_once_abandoned(harness: &dyn Harness) {
    let store = &*harness.store();
    let holder = reserve(store, &a_try("k")).await;
    abandon(store, &holder).await;
    harness.advance(HOUR).await;
    assert_mismatch(store, "k").await;
    assert_reserved(&ask(store, &a_try("k")).await, 2);
}

/// R4
pub async fn r4_the_holder_s_own_token_is_no_excuse(harness: &dyn Harness) {
    let store = &*harness.store();
    let mut request = a_try("k");
    reserve(store, &request).await;
    request.operation = operation("k", "b");
    assert_eq!(ask(store, &request).await, Outcome::Mismatch);
    assert_eq!(ask(store, &request.resent()).await, Outcome::Mismatch);
}

/// R4
pub async fn r4_every_bit_of_a_fingerprint_counts(harness: &dyn Harness) {
    let store = &*harness.store();
    let digest: [u8; 32] = std::array::from_fn(|at| at as u8 * 7);
    let asking = |version, digest| Operation {
        fingerprint: Fingerprint::from_parts(version, digest),
        ..operation("k", "a")
    };
    reserve(store, &try_at(asking(1, digest))).await;
    for bit in 0..256 {
        let mut other = digest;
        other[bit / 8] ^= 1 << (bit % 8);
        let outcome = ask(store, &try_at(asking(1, other))).await;
        assert_eq!(outcome, Outcome::Mismatch, "bit {bit} differs");
    }
    for version in [0, 2, 255] {
        let outcome = ask(store, &try_at(asking(version, digest))).await;
        assert_eq!(outcome, Outcome::Mismatch, "of version {version}");
    }
    assert_conflict(&ask(store, &try_at(asking(1, digest))).await, lease(1));
}
