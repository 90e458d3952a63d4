//! Awkward names and sizes: laws R7, R9 and S1.

use super::{World, request, terms};
use crate::{
    Applied, Completion, Fingerprint, Holder, IdempotencyStore, Inspect, Key, Operation, Outcome,
    Progress, ReserveRequest, Response, Scope, Token,
};

/// Pairs of scope and key that run into each other under some separator.
fn names() -> Vec<(Vec<u8>, String)> {
    let long = "x".repeat(255);
    let name = |scope: &str, key: &str| (scope.as_bytes().to_vec(), key.to_owned());
    vec![
        name("a", "b:c"),
        name("a:b", "c"),
        name("a/b", "c"),
        name("a", "b/c"),
        name("t1", "0k"),
        name("t10", "k"),
        name("t1", "k"),
        name(&long, &long),
        name(&long, "x"),
        name("x", &long),
        name(" a", "k "),
        name("a ", " k"),
        name("A", "K"),
        name("\u{e9}", "e\u{301}"),
        name("'\"`{}%s\\", "'; DROP TABLE records;--"),
        ((0..255).collect(), "all bytes".to_owned()),
        (vec![0], "k".to_owned()),
        (vec![0, 0], "k".to_owned()),
    ]
}

async fn kept_apart<const ORDERED: bool>() {
    let world = World::<ORDERED>::default();
    let store = world.store();
    let mut holders = Vec::new();
    for (n, (scope, key)) in names().into_iter().enumerate() {
        let operation = Operation::new(
            Scope::new(scope).unwrap(),
            Key::new(key).unwrap(),
            Fingerprint::raw(n.to_be_bytes()),
        );
        let token = Token::random();
        let request = ReserveRequest::new(operation.clone(), token, terms());
        let outcome = store.reserve(&request).await.unwrap();
        assert!(matches!(outcome, Outcome::Reserved { attempt: 1, .. }));
        holders.push((operation.clone(), Holder::new(operation.record, token, 1)));
    }
    let response = |n: usize| {
        let all: Vec<u8> = (0..=255).collect();
        Response::new(n as u16)
            .header("X-Twice", all.clone())
            .header("x-twice", "")
            .body(all)
            .trailer("grpc-status", "0")
    };
    for (n, (_, holder)) in holders.iter().enumerate() {
        let answer = response(n).into();
        let completed = store.complete(holder, &answer).await.unwrap();
        assert!(matches!(completed, Completion::Completed { .. }));
    }
    for (n, (operation, _)) in holders.iter().enumerate() {
        let request = ReserveRequest::new(operation.clone(), Token::random(), terms());
        let Outcome::Replay(replay) = store.reserve(&request).await.unwrap() else {
            panic!("{n} is not replayed");
        };
        assert_eq!(replay.answer, response(n).into());
        let info = store.get(&operation.record).await.unwrap().unwrap();
        assert_eq!(info.operation, *operation);
    }
}

#[tokio::test]
async fn r7_r9_s1_names_and_answers_of_any_kind_are_kept_apart_and_come_back() {
    kept_apart::<true>().await;
    kept_apart::<false>().await;
}

#[tokio::test]
async fn s1_over_the_limit_nothing_is_written() {
    let world = World::<true>::default();
    let limit = 400;
    let store = world.store().max_value_bytes(limit);
    let request = request("k");
    store.reserve(&request).await.unwrap();
    let holder = Holder::new(request.operation.record.clone(), request.token, 1);
    let before = world.data.value(&holder.record);

    let progress = Progress::new(vec![7; limit]).unwrap();
    let error = store
        .renew(&holder, terms(), Some(&progress))
        .await
        .unwrap_err();
    assert!(error.is_too_large());
    let large = Response::new(201).body(vec![7; limit]).into();
    let error = store.complete(&holder, &large).await.unwrap_err();
    assert!(error.is_too_large() && error.applied() == Applied::No);
    assert_eq!(world.data.value(&holder.record), before);

    // To the byte.
    let overhead = encoded_len(&holder, 0).await;
    assert_eq!(encoded_len(&holder, limit - overhead).await, limit);
    let one_more = Response::new(201)
        .body(vec![7; limit - overhead + 1])
        .into();
    let error = store.complete(&holder, &one_more).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "encoded record has 401 bytes: at most 400 are allowed"
    );
}

/// How large the record becomes that is completed with so large a body; in a world of its own.
async fn encoded_len(holder: &Holder, body: usize) -> usize {
    let world = World::<false>::default();
    let store = world.store().max_value_bytes(400);
    let mut request = request("k");
    request.token = holder.token;
    store.reserve(&request).await.unwrap();
    let answer = Response::new(201).body(vec![7; body]).into();
    store.complete(holder, &answer).await.unwrap();
    world.data.value(&holder.record).unwrap().len()
}
