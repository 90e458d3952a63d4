//! # Where they are
//! Each law is an ordinary function, in the module named after what it is about, on a fresh store.

pub mod abandon;
pub mod cached;
pub mod complete;
pub mod concurrency;
pub mod dead_tokens;
pub mod durability;
pub mod exact_time;
pub mod expiry;
pub mod histories;
pub mod hold;
pub mod inspect;
pub mod late_copies;
pub mod mismatch;
pub mod model;
pub mod purge;
pub mod races;
pub mod release;
pub mod renew;
pub mod resend;
pub mod reserve;
pub mod responses;
pub mod retention;
pub mod scopes;
pub mod sizes;
pub mod takeover;
pub mod time;
pub mod waiting;
