//! The laws: ordinary functions, each on a fresh store.

pub mod concurrency;
pub mod exact_time;
pub mod histories;
pub mod model;
pub mod reserve;
