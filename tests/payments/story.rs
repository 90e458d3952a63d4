//! The story, on the right store and on the wrong ones.

use crate::process::{Ended, run};

const SCENES: usize = 14;

fn lines_ending(stdout: &str, verdict: &str) -> usize {
    let verdict = format!("  {verdict}");
    stdout
        .lines()
        .filter(|line| line.ends_with(&verdict))
        .count()
}

/// Every scene, and so many `more` than are played in memory.
pub(crate) fn assert_all_ok(story: &Ended, more: usize) {
    let stdout = &story.stdout;
    assert_eq!(story.status.code(), Some(0), "{stdout}{}", story.stderr);
    assert_eq!(lines_ending(stdout, "ok"), SCENES + more, "{stdout}");
    assert_eq!(lines_ending(stdout, "WRONG"), 0, "{stdout}");
    assert_eq!(story.stderr, "");
}

#[test]
fn every_scene_comes_out_as_expected() {
    assert_all_ok(&run(&[]), 0);
}

#[test]
fn a_wrong_store_is_told_by_its_scene() {
    for (sabotage, told_by) in [
        ("forget", "the same request again"),
        ("no-token", "a handler outlives its lease"),
        ("global-scope", "two clients, one key"),
    ] {
        let story = run(&["--sabotage", sabotage]);
        let stdout = &story.stdout;
        assert_eq!(story.status.code(), Some(1), "{sabotage}: {stdout}");
        let scene = stdout.lines().find(|line| line.starts_with(told_by));
        assert!(
            scene.is_some_and(|line| line.ends_with("  WRONG")),
            "{sabotage}: {stdout}"
        );
        assert!(
            stdout.lines().last().unwrap().contains(told_by),
            "{sabotage}: {stdout}"
        );
        assert!(lines_ending(stdout, "ok") > 0, "{sabotage}: {stdout}");
        assert!(!stdout.contains("no end within"), "{sabotage}: {stdout}");
        assert_eq!(story.stderr, "");
    }
}
