//! The commands in the shell blocks of a Markdown text.

pub(crate) struct Command {
    pub(crate) line: String,
    /// Its `# =>` comments, on the same line or on those that follow.
    pub(crate) answers: Vec<String>,
}

pub(crate) fn in_markdown(text: &str) -> Vec<Command> {
    let joined = text.replace("\\\n", "");
    let mut commands: Vec<Command> = Vec::new();
    let mut fence = None;
    for line in joined.lines().map(str::trim) {
        if let Some(language) = line.strip_prefix("```") {
            fence = if fence.is_none() {
                Some(language)
            } else {
                None
            };
        } else if let Some("sh" | "bash" | "shell" | "console") = fence {
            let comment = if line.starts_with('#') {
                Some(0)
            } else {
                line.find(" #")
            };
            let (command, comment) = line.split_at(comment.unwrap_or(line.len()));
            if !command.is_empty() {
                commands.push(Command {
                    line: command.trim_end().into(),
                    answers: Vec::new(),
                });
            }
            if let Some(answer) = comment.trim_start().strip_prefix("# =>") {
                let command = commands.last_mut().expect("an answer follows its command");
                command.answers.push(answer.trim().into());
            }
        }
    }
    commands
}

#[test]
fn commands_lose_their_comments_and_keep_their_answers() {
    let text = "```rust\nnot;\n```\n```sh\ncargo run    # the story\n# a remark\ncurl a \\\n-d b   \
                # => 201 {…}\n# => Retry-After: 1\n```\ncargo test\n```bash\ncargo doc\n```";
    let commands = in_markdown(text);
    let lines: Vec<_> = commands
        .iter()
        .map(|command| command.line.as_str())
        .collect();
    assert_eq!(lines, ["cargo run", "curl a -d b", "cargo doc"]);
    assert_eq!(commands[1].answers, ["201 {…}", "Retry-After: 1"]);
    assert!(commands[0].answers.is_empty() && commands[2].answers.is_empty());
}
