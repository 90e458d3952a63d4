//! renew × abandon: a heartbeat that arrives late does not bring an abandoned record back (law C7).

use super::*;
use crate::machine;

type Renew = fn(&MemoryStore, &Holder) -> Update;

fn terms() -> Terms {
    asks(1).terms
}

fn an_abandoned_record_is_free(by: Renew) {
    let (store, _) = held();
    let heartbeat = {
        let store = store.clone();
        thread::spawn(move || by(&store, &holder(1, 1)))
    };
    let other = {
        let store = store.clone();
        thread::spawn(move || reserve(&store, &asks(2)))
    };
    assert_eq!(abandon(&store, &holder(1, 1)), Update::Done);
    let outcomes = [reserve(&store, &asks(3)), other.join().unwrap()];
    let renewed = heartbeat.join().unwrap();

    assert!(
        matches!(renewed, Update::Done | Update::Superseded),
        "{renewed:?}"
    );
    let taken: Vec<_> = (0..2).filter(|&n| is_reserved(&outcomes[n], 2)).collect();
    let [successor] = taken[..] else {
        panic!("not free, or twice: {outcomes:?}");
    };
    assert!(is_conflict(&outcomes[1 - successor]), "{outcomes:?}");
    let successor = holder([3, 2][successor], 2);
    let completed = complete(&store, &successor, &answer("paid"));
    assert!(
        matches!(completed, Completion::Completed { .. }),
        "a dead token wrote: {completed:?}"
    );
}

#[test]
fn a_late_heartbeat_revives_nothing() {
    holds("renew × abandon × reserve", || {
        an_abandoned_record_is_free(|store, holder| {
            at_once(store.renew(holder, terms(), None)).unwrap()
        });
    });
}

#[test]
fn a_renewal_in_two_steps_revives_an_abandoned_record() {
    fails("fault: renew in two steps", "a dead token wrote", || {
        an_abandoned_record_is_free(|store, holder| {
            in_two_steps(store, &holder.record, |record, now| {
                machine::renew(record, holder, terms(), None, now)
            })
        });
    });
}
