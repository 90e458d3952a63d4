//! Any bytes, read as a response and as a record; and values made out of them.
#![no_main]

#[cfg(not(idem_fuzz))]
compile_error!("it needs `--cfg idem_fuzz`: run it by `cargo xtask fuzz`");

use idem_core::fuzzing::record_codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| record_codec(bytes));
