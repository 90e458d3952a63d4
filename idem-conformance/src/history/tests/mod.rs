//! The checker is right: it agrees with another one, and finds stores that are wrong only when calls
//! meet.

mod brute_force;
mod racing_stores;
mod small_histories;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::recorder::{End, Entry, Event, History, Moment};
use crate::call::Reply;
use crate::fixture::record;

fn moment(turn: u64) -> Moment {
    Moment {
        turn,
        since_begin: Duration::from_micros(turn),
    }
}

/// A call from `began` to `ended`, answered so; `None`: nobody knows.
fn entry(
    caller: usize,
    event: Event,
    began: u64,
    answer: Option<(u64, Option<Reply>)>,
) -> Arc<Entry> {
    let end = OnceLock::new();
    if let Some((ended, reply)) = answer {
        let ended = moment(ended);
        let _ = end.set(match reply {
            Some(reply) => End::Answered(ended, Box::new(reply)),
            None => End::Moved(ended),
        });
    }
    Arc::new(Entry {
        caller,
        event,
        began: moment(began),
        end,
    })
}

fn history(mut entries: Vec<Arc<Entry>>) -> History {
    entries.sort_by_key(|entry| entry.began);
    History {
        record: record("scope", "k"),
        entries,
    }
}
