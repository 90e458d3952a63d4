//! What the test harness does, for a binary that is its own child and so cannot have the usual one.

/// Runs the one test of this binary, unless the arguments name others.
pub(crate) fn run(name: &str, test: impl FnOnce()) {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--list") {
        return println!("{name}: test");
    }
    let exact = args.iter().any(|arg| arg == "--exact");
    let mut filters = args.iter().filter(|arg| !arg.starts_with('-')).peekable();
    let is_meant = |filter: &String| {
        if exact {
            name == filter
        } else {
            name.contains(filter)
        }
    };
    let is_wanted = filters.peek().is_none() || filters.any(is_meant);
    let (passed, filtered) = if is_wanted { (1, 0) } else { (0, 1) };
    println!("\nrunning {passed} test");
    if is_wanted {
        test();
        println!("test {name} ... ok");
    }
    println!(
        "\ntest result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; {filtered} filtered out\n"
    );
}
