//! While the first request runs, and when nobody knows how it ended.

use std::time::Duration;

use idem_core::{Builder, OnConflict, OnLapse};

use super::problems::{in_flight, key_reused, not_retained, outcome_unknown, unresolved};
use super::row::{Does, Reply, Row, answer, post, ran, replay, reply, row};
use crate::support::PATIENCE;

const LEASE: Duration = Duration::from_secs(60);

fn patient(builder: Builder) -> Builder {
    let up_to = PATIENCE;
    builder.on_conflict(OnConflict::Wait { up_to })
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        row("while the first runs, the second is told when to come back")
            .first_still_runs()
            .twice(post("k"), ran(1), in_flight("1"))
            .runs(1),
        row("while the first runs, it is told apart over another version of HTTP")
            .first_still_runs()
            .across()
            .twice(post("k"), ran(1), in_flight("1"))
            .runs(1),
        row("when to come back can be set, and is rounded up")
            .layer(|layer| layer.retry_after(Duration::from_millis(2001)))
            .first_still_runs()
            .twice(post("k"), ran(1), in_flight("3"))
            .runs(1),
        row("nobody is told to come back at once")
            .layer(|layer| layer.retry_after(Duration::ZERO))
            .first_still_runs()
            .twice(post("k"), ran(1), in_flight("1"))
            .runs(1),
        row("nobody waits for longer than the lease, rounded up")
            .layer(|layer| layer.retry_after(Duration::from_secs(30)))
            .first_still_runs()
            .after(LEASE - Duration::from_millis(1500))
            .twice(post("k"), ran(1), in_flight("2"))
            .runs(1),
        row("where that is set, the second waits for the answer, and gets it")
            .executor(patient)
            .first_runs_until_waited_for()
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("one that waits runs itself, if the first lets it")
            .executor(patient)
            .handlers([reply(503).body("oh"), Reply::default()])
            .first_runs_until_waited_for()
            .twice(post("k"), answer(503).body("oh"), ran(2))
            .runs(2),
        row("one that waits runs itself, if the first panics")
            .executor(patient)
            .handlers([Reply::default().does(Does::Panic), Reply::default()])
            .first_runs_until_waited_for()
            .twice(post("k"), outcome_unknown(), ran(2))
            .runs(2),
        row("one that waits is told that the answer was too large to keep")
            .executor(patient)
            .layer(|layer| layer.answer_limit(4))
            .first_runs_until_waited_for()
            .twice(post("k"), ran(1), not_retained(201))
            .runs(1),
        row("one that has waited for long enough is told when to come back")
            .executor(|builder| {
                let up_to = Duration::from_millis(1);
                builder.on_conflict(OnConflict::Wait { up_to })
            })
            .first_still_runs()
            .twice(post("k"), ran(1), in_flight("1"))
            .runs(1),
        row("nobody waits for the answer to another body")
            .executor(patient)
            .first_still_runs()
            .first(post("k"), ran(1))
            .second(post("k").body("pay more"), key_reused())
            .runs(1),
        row("while the first runs, another body is reuse")
            .first_still_runs()
            .first(post("k"), ran(1))
            .second(post("k").body("pay more"), key_reused())
            .runs(1),
        row("while the first runs, another key runs")
            .first_still_runs()
            .first(post("k"), ran(1))
            .second(post("l"), ran(2))
            .runs(2),
        row("while the first runs, the same key of another client runs")
            .first_still_runs()
            .first(post("k"), ran(1))
            .second(post("k").client("ben"), ran(2))
            .runs(2),
        row("one whose lease is over is overtaken, and gets the answer that stands")
            .first_still_runs()
            .after(LEASE)
            .twice(post("k"), replay(2), ran(2))
            .runs(2),
        row("under Hold, one whose lease is over is not overtaken, and may still end")
            .executor(|builder| builder.on_lapse(OnLapse::Hold))
            .first_still_runs()
            .after(LEASE)
            .twice(post("k"), ran(1), unresolved())
            .runs(1),
        row("under Hold, a panic leaves the operation in flight for its lease")
            .executor(|builder| builder.on_lapse(OnLapse::Hold))
            .handler(Reply::default().does(Does::Panic))
            .twice(post("k"), outcome_unknown(), in_flight("1"))
            .runs(1),
        row("under Hold, a panic leaves the operation unresolved")
            .executor(|builder| builder.on_lapse(OnLapse::Hold))
            .handler(Reply::default().does(Does::Panic))
            .after(LEASE)
            .twice(post("k"), outcome_unknown(), unresolved())
            .runs(1),
        row("under Hold, an unresolved operation is still no other's")
            .executor(|builder| builder.on_lapse(OnLapse::Hold))
            .handler(Reply::default().does(Does::Panic))
            .after(LEASE)
            .first(post("k"), outcome_unknown())
            .second(post("k").body("pay more"), key_reused())
            .runs(1),
        row("after a panic the retry runs again, as the second attempt")
            .handlers([
                Reply::default().does(Does::Panic),
                reply(201)
                    .header("content-type", "text/plain")
                    .body("run {attempt}"),
            ])
            .twice(post("k"), outcome_unknown(), ran(2))
            .runs(2),
        row("after a panic the key is still no other's")
            .handler(Reply::default().does(Does::Panic))
            .first(post("k"), outcome_unknown())
            .second(post("k").body("pay more"), key_reused())
            .runs(1),
        row("an answer that breaks off is not an answer, and the retry runs again")
            .handlers([Reply::default().does(Does::BreakOff), Reply::default()])
            .twice(post("k"), outcome_unknown(), ran(2))
            .runs(2),
        row("under Hold, an answer that breaks off leaves the operation unresolved")
            .executor(|builder| builder.on_lapse(OnLapse::Hold))
            .handler(Reply::default().does(Does::BreakOff))
            .after(LEASE)
            .twice(post("k"), outcome_unknown(), unresolved())
            .runs(1),
        row("an answer is remembered after its lease")
            .after(LEASE * 2)
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("an answer is remembered for half of the retention")
            .after(Duration::from_secs(12 * 3600 - 1))
            .twice(post("k"), ran(1), replay(1))
            .runs(1),
        row("a key is forgotten after the retention, and is free for anything")
            .after(Duration::from_secs(24 * 3600))
            .first(post("k"), ran(1))
            .second(post("k").body("pay more"), ran(2))
            .runs(2),
    ]
}
