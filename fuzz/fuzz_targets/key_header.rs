//! Any bytes, taken for the value of the header that has the key.
#![no_main]

#[cfg(not(idem_fuzz))]
compile_error!("it needs `--cfg idem_fuzz`: run it by `cargo xtask fuzz`");

#[path = "../../idem-tower/src/key_header/property/sfv_string.rs"]
mod sfv_string;

use idem_tower::fuzzing::key_header;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &[u8]| key_header(value, sfv_string::sfv_string));
