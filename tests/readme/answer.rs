//! Runs a `curl` command and compares the answer with what the README says.

use super::Command;

/// Where the README's commands expect the server.
const USUAL: &str = "127.0.0.1:3000";

/// An expectation is a status, a line of the answer, or both: `201 {"id":"…"}`. A `…` stands for
/// anything.
pub(crate) fn check(Command { line, answers }: &Command, address: &str) {
    assert!(
        !answers.is_empty(),
        "`{line}` has no `# =>` comment that says what it answers"
    );
    assert!(line.contains(USUAL), "`{line}` does not ask {USUAL}");
    let line = line
        .replace(USUAL, address)
        .replacen("curl", "curl -sSi --max-time 30", 1);
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .output()
        .unwrap();
    let answer = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    for expected in answers {
        assert!(
            says(&answer, expected),
            "`{line}` => {expected}\nbut: {answer}\n{error}"
        );
    }
}

fn says(answer: &str, expected: &str) -> bool {
    let (status, text) = match expected.split_once(' ').unwrap_or((expected, "")) {
        (status, text) if status.len() == 3 && status.parse::<u16>().is_ok() => (status, text),
        _ => ("", expected),
    };
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let is_status = status.is_empty() || head.split(' ').nth(1) == Some(status);
    // The names of headers have no case.
    let lower = text.to_lowercase();
    let in_head = || head.lines().any(|line| fits(&lower, &line.to_lowercase()));
    is_status && (text.is_empty() || fits(text, body.trim()) || in_head())
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            ends.any(|end| fits(rest, &text[end..]))
        }),
    }
}

#[test]
fn an_answer_is_compared_by_status_header_and_body() {
    let answer = "HTTP/1.1 201 Created\r\nidempotent-replayed: true\r\n\r\n{\"id\":\"p1\",\"n\":1}";
    for said in [
        "201",
        "201 {\"id\":\"…\",\"n\":1}",
        "{…}",
        "Idempotent-Replayed: true",
        "201 …",
    ] {
        assert!(says(answer, said), "{said}");
    }
    for wrong in [
        "200",
        "409 {…}",
        "201 {\"id\":\"…\",\"n\":2}",
        "{",
        "{…}x",
        "Retry-After: …",
    ] {
        assert!(!says(answer, wrong), "{wrong}");
    }
}
