//! Reserving, case by case: every kind of record, at every boundary of its time, met by every kind of
//! request. Two tables say what must happen; neither asks the code.

use super::*;

/// What a record amounts to at some instant.
#[derive(Clone, Copy, Debug)]
enum Now {
    Vacant,
    Live,
    LiveStarted,
    /// Lapsed under `RunAgain`: it may have run, started or not.
    Lapsed,
    LapsedStarted,
    /// Lapsed under `Hold`, never started: it has not run.
    NeverRan,
    /// Lapsed under `Hold`, started.
    Held,
    Abandoned,
    Completed,
}

/// One before the lease ends, as it ends; the same of the retention; long after. And well within the
/// lease.
const INSTANTS: [u64; 6] = [50, 99, 100, 999, 1000, 1_000_000];

/// The first table: what each kind of record amounts to at each of [`INSTANTS`].
#[rustfmt::skip]
fn kinds() -> Vec<(Option<Record>, [Now; 6])> {
    use Now::*;
    let too_large = Answer::NotRetained { status: 200, body_length: 1 << 40 };
    let abandoned = [Abandoned, Abandoned, Abandoned, Abandoned, Vacant, Vacant];
    let completed = [Completed, Completed, Completed, Completed, Vacant, Vacant];
    vec![
        (None,                                        [Vacant; 6]),
        (Some(in_flight()),                           [Live, Live, Lapsed, Lapsed, Vacant, Vacant]),
        (Some(in_flight().started()),                 [LiveStarted, LiveStarted, LapsedStarted, LapsedStarted, Vacant, Vacant]),
        (Some(in_flight().held()),                    [Live, Live, NeverRan, NeverRan, Vacant, Vacant]),
        (Some(in_flight().held().started()),          [LiveStarted, LiveStarted, Held, Held, Held, Held]),
        (Some(in_flight().abandoned(40)),             abandoned),
        (Some(in_flight().started().abandoned(40)),   abandoned),
        (Some(in_flight().held().abandoned(40)),      abandoned),
        (Some(in_flight().held().started().abandoned(40)), abandoned),
        (Some(in_flight().completed()),               completed),
        (Some(in_flight().held().completed()),        completed),
        (Some(in_flight().completed_with(too_large)), completed),
    ]
}

/// The second table: what a request with the record's fingerprint is told.
///
/// Columns: another token that asks for `RunAgain`, for `Hold`; the record's own token, likewise. The
/// four letters of a column: no longest age; one longer than the record's age; equal; shorter.
///
/// `1` first attempt (R1), `W` conflict until the lease ends (R3), `T` taken over (R5), `U` unresolved
/// (R5), `P` replay (R6), `R` reserved again (R10), `S` conflict with the smallest hint (R10).
#[rustfmt::skip]
fn told(now: Now) -> [&'static str; 4] {
    match now {
        //                    other, again  other, hold  own, again  own, hold
        Now::Vacant        => ["1111",      "1111",      "1111",     "1111"],
        Now::Live          => ["WWWW",      "WWWW",      "RRRR",     "RRRR"],
        Now::LiveStarted   => ["WWWW",      "WWWW",      "SSSS",     "SSSS"],
        Now::Lapsed        => ["TTUU",      "UUUU",      "RRRR",     "RRRR"],
        Now::LapsedStarted => ["TTUU",      "UUUU",      "SSUU",     "UUUU"],
        Now::NeverRan      => ["TTUU",      "TTUU",      "RRRR",     "RRRR"],
        Now::Held          => ["UUUU",      "UUUU",      "UUUU",     "UUUU"],
        Now::Abandoned     => ["TTUU",      "TTUU",      "SSUU",     "SSUU"],
        Now::Completed     => ["PPPP",      "PPPP",      "PPPP",     "PPPP"],
    }
}

/// The requests of the second table, with the letter that it has for each.
fn requests(now: Now, instant: u64) -> impl Iterator<Item = (ReserveRequest, char)> {
    let ages = [None, Some(instant + 1), Some(instant), Some(instant - 1)];
    let columns = [
        ('b', OnLapse::RunAgain),
        ('b', OnLapse::Hold),
        ('a', OnLapse::RunAgain),
        ('a', OnLapse::Hold),
    ];
    columns
        .into_iter()
        .zip(told(now))
        .flat_map(move |((by, asked), letters)| {
            ages.into_iter()
                .zip(letters.chars())
                .map(move |(age, letter)| {
                    let request = request(by).on_lapse(asked).longest_age(age.map(ms));
                    (request, letter)
                })
        })
}

fn expected(
    letter: char,
    record: Option<&Record>,
    request: &ReserveRequest,
    instant: u64,
) -> (Outcome, Change) {
    let saved = Some(progress("saved"));
    // With a lease of 200 and a retention of 1400, half of it is left after the lease up to 100.
    let retention_end = at(if instant <= 100 { 1000 } else { instant + 1400 });
    let lease = InFlight {
        lease_end: at(instant + 200),
        abandoned: false,
        started: false,
        progress: saved.clone(),
    };
    match letter {
        '1' => {
            let first = Record {
                fingerprint: request.operation.fingerprint,
                first_reserved: at(instant),
                last_reserved: at(instant),
                retention: ms(1400),
                retention_end: at(instant + 1400),
                token: request.token,
                attempt: 1,
                on_lapse: request.on_lapse,
                state: State::InFlight(InFlight {
                    progress: None,
                    ..lease
                }),
            };
            (reserved(1, None), Change::Put(first))
        }
        'T' => {
            let taken = Record {
                fingerprint: fingerprint(),
                first_reserved: at(0),
                last_reserved: at(instant),
                retention: ms(1400),
                retention_end,
                token: token('b'),
                attempt: 4,
                on_lapse: request.on_lapse,
                state: State::InFlight(lease),
            };
            (reserved(4, saved), Change::Put(taken))
        }
        'R' => {
            let again = Record {
                retention: ms(1400),
                retention_end,
                state: State::InFlight(lease),
                ..record.unwrap().clone()
            };
            (reserved(3, saved), Change::Put(again))
        }
        'W' => conflict(100 - instant),
        'S' => conflict(1),
        'U' => unresolved(),
        'P' => {
            let State::Completed(answer) = record.unwrap().state.clone() else {
                panic!("only a completed record is replayed");
            };
            let remembered_for = ms(1000 - instant);
            let replay = Replay {
                answer,
                remembered_for,
            };
            (Outcome::Replay(replay), Change::Keep)
        }
        _ => panic!("{letter} is not in the legend"),
    }
}

#[test]
fn r1_to_r10_every_case_of_the_table() {
    let mut seen = std::collections::BTreeMap::new();
    for (record, row) in kinds() {
        for (instant, now) in INSTANTS.into_iter().zip(row) {
            for (request, letter) in requests(now, instant) {
                assert_eq!(
                    reserve(record.as_ref(), &request, at(instant)),
                    expected(letter, record.as_ref(), &request, instant),
                    "{now:?} at {instant}, {letter}: {request:?}, {record:?}"
                );
                *seen.entry(letter).or_insert(0) += 1;
            }
        }
    }
    // The table itself is whole: every letter was met.
    assert_eq!(String::from_iter(seen.keys()), "1PRSTUW");
    assert_eq!(seen.values().sum::<i32>(), 12 * 6 * 16);
}

#[test]
fn r4_another_fingerprint_is_a_mismatch_wherever_the_record_is_not_vacant() {
    for (record, row) in kinds() {
        for (instant, now) in INSTANTS.into_iter().zip(row) {
            for (mut request, letter) in requests(now, instant) {
                request.operation.fingerprint = other_fingerprint();
                let expected = match letter {
                    '1' => expected('1', None, &request, instant),
                    _ => (Outcome::Mismatch, Change::Keep),
                };
                assert_eq!(
                    reserve(record.as_ref(), &request, at(instant)),
                    expected,
                    "{now:?} at {instant}: {request:?}, {record:?}"
                );
            }
        }
    }
}
