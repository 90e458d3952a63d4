//! How much work the randomised tests do.

#[path = "../../../src/effort.rs"]
mod of_the_crate;

pub(crate) use of_the_crate::proptest_config;
