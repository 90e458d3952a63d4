//! Any bytes, taken for JSON.
#![no_main]

#[cfg(not(idem_fuzz))]
compile_error!("it needs `--cfg idem_fuzz`: run it by `cargo xtask fuzz`");

#[path = "../../idem-core/src/fingerprint/property/rfc_8785.rs"]
mod rfc_8785;

use idem_core::fuzzing::canonical_json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| canonical_json(text, rfc_8785::canonicalize));
