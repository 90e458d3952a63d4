//! The sources are compiled over shuttle: see `idem-core/src/sync.rs`.
#![allow(
    clippy::print_stdout,
    reason = "this is how a build script talks to cargo"
)]

fn main() {
    println!("cargo::rustc-cfg=idem_shuttle");
    // The optional parts of `idem-core` are no features of this crate.
    println!("cargo::rustc-check-cfg=cfg(feature, values(any()))");
    println!("cargo::rerun-if-changed=build.rs");
}
