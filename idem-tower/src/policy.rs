//! What a server publishes about its keys.

use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use idem_core::{Key, OnConflict, OnLapse};
use serde_json::{Value, json};

use crate::outcome::whole_seconds;
use crate::problem::ProblemKind;
use crate::settings::{KeySource, Settings};

#[derive(Clone, Debug)]
struct AnswersKept {
    limit: usize,
    within: Duration,
}

/// What the IETF draft (idempotency-key-header, section 2.5.2) says that a server must publish, from the
/// live settings of a layer: see [`IdempotencyLayer::policy`](crate::IdempotencyLayer::policy).
///
/// `Display` is Markdown.
#[derive(Clone, Debug)]
pub struct Policy {
    header: Option<String>,
    key_form: String,
    required: bool,
    methods: Vec<String>,
    compared_headers: Vec<String>,
    remembered_after_request: Duration,
    remembered_after_answer: Duration,
    in_flight: String,
    waits_up_to: Option<Duration>,
    retry_after_seconds: u64,
    after_interruption: String,
    answers_kept: String,
    headers_not_replayed: Vec<String>,
    store_down: String,
    request_limit: usize,
    /// None where the layer keeps no answers.
    answers: Option<AnswersKept>,
    documentation: Option<String>,
    problems: Vec<(ProblemKind, u16, String)>,
}

impl Policy {
    pub(crate) fn of(settings: &Settings) -> Self {
        let terms = settings.idempotency.terms();
        let style = &settings.problems;
        let status = |kind| style.status_of(kind).as_u16();
        let refusal = status(ProblemKind::InFlight);
        let (in_flight, waits_up_to) = match settings.idempotency.on_conflict() {
            OnConflict::Reject => (format!("refused with {refusal} at once"), None),
            OnConflict::Wait { up_to } => {
                let waits = format!("waits for the answer, then {refusal}");
                (waits, Some(up_to))
            }
        };
        let unresolved = status(ProblemKind::Unresolved);
        let executor = &settings.idempotency;
        let after_interruption = match (executor.on_lapse(), executor.longest_age()) {
            (OnLapse::RunAgain, None) => "the next request runs again".to_owned(),
            (OnLapse::RunAgain, Some(age)) => format!(
                "the next request runs again, up to {age:?} after the first; later {unresolved} unresolved"
            ),
            (OnLapse::Hold, _) => format!("{unresolved} unresolved, until it was looked into"),
        };
        let store_down = if settings.is_open() {
            "requests run unprotected, and so does every retry of them".to_owned()
        } else {
            let away = status(ProblemKind::StoreUnavailable);
            format!("{away}, and nothing runs")
        };
        let kinds = ProblemKind::ALL.iter().copied();
        // What the layer leaves to the handler it knows nothing of.
        let by_layer = |text: String| {
            if settings.by_hand {
                "as the handler decides".to_owned()
            } else {
                text
            }
        };
        Self {
            header: match &settings.key {
                KeySource::Header(name) => Some(name.to_string()),
                KeySource::Parts(_) | KeySource::Body(_) => None,
            },
            key_form: match (&settings.key_form, &settings.key) {
                (Some(form), _) => form.description.clone(),
                (None, KeySource::Header(_)) => format!(
                    "1 to {} bytes, bare or as a quoted string of RFC 9651",
                    Key::MAX_LEN
                ),
                (None, _) => format!("1 to {} bytes of UTF-8", Key::MAX_LEN),
            },
            required: settings.key_required,
            methods: texts(&settings.methods),
            compared_headers: texts(&settings.fingerprint_headers),
            remembered_after_request: terms.retention(),
            remembered_after_answer: terms.retention() / 2,
            in_flight: by_layer(in_flight),
            waits_up_to: waits_up_to.filter(|_| !settings.by_hand),
            retry_after_seconds: whole_seconds(settings.retry_after),
            after_interruption: by_layer(after_interruption),
            answers_kept: by_layer(settings.answers.description().to_owned()),
            headers_not_replayed: texts(&settings.header_rules.not_replayed()),
            store_down: by_layer(store_down),
            request_limit: settings.request_limit,
            answers: (!settings.by_hand).then(|| AnswersKept {
                limit: settings.answer_limit.min(executor.response_limit()),
                within: settings.capture_for,
            }),
            documentation: style.documentation_url.clone(),
            problems: kinds
                .map(|kind| (kind, style.status_of(kind).as_u16(), style.type_of(kind)))
                .collect(),
        }
    }

    /// The policy as Markdown, for a page of documentation.
    pub fn to_markdown(&self) -> String {
        self.to_string()
    }

    /// The policy as a JSON object, for machines. Durations are in seconds, rounded down.
    pub fn to_json(&self) -> String {
        let problem = |(kind, status, uri): &(ProblemKind, u16, String)| json!({ "type": uri, "status": status, "title": kind.title() });
        let policy = json!({
            "header": self.header,
            "key_form": self.key_form,
            "required": self.required,
            "methods": self.methods,
            "compared_headers": self.compared_headers,
            "remembered_seconds": {
                "after_first_request": self.remembered_after_request.as_secs(),
                "after_answer": self.remembered_after_answer.as_secs(),
            },
            "in_flight": self.in_flight,
            "waits_up_to_seconds": self.waits_up_to.map(|up_to| up_to.as_secs()),
            "retry_after_seconds": self.retry_after_seconds,
            "after_interruption": self.after_interruption,
            "answers_kept": self.answers_kept,
            "headers_not_replayed": self.headers_not_replayed,
            "store_down": self.store_down,
            "largest_request_body": self.request_limit,
            "largest_answer_kept": self.answers.as_ref().map(|kept| kept.limit),
            "longest_answer_kept_seconds": self.answers.as_ref().map(|kept| kept.within.as_secs()),
            "replay_header": "Idempotent-Replayed: true",
            "documentation": self.documentation,
            "problems": self.problems.iter().map(problem).collect::<Vec<Value>>(),
        });
        policy.to_string()
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What the application has written must not end the cell.
        let mut row = |what: &str, is: &str| {
            let is = is.replace('|', "\\|").replace(['\r', '\n'], " ");
            writeln!(f, "| {what} | {is} |")
        };
        row("Idempotency", "")?;
        row("---", "---")?;
        match &self.header {
            Some(header) => row("header", &format!("`{header}`"))?,
            None => row("key", "taken from the request")?,
        }
        row("form of a key", &self.key_form)?;
        row("required", if self.required { "yes" } else { "no" })?;
        row("methods", &self.methods.join(", "))?;
        if !self.compared_headers.is_empty() {
            let headers = names(&self.compared_headers);
            row("headers that make another request", &headers)?;
        }
        row(
            "remembered",
            &format!(
                "at least {:?} after the first request, and {:?} after the answer",
                self.remembered_after_request, self.remembered_after_answer
            ),
        )?;
        let mut in_flight = self.in_flight.to_owned();
        if let Some(up_to) = self.waits_up_to {
            write!(in_flight, " (waits up to {up_to:?})")?;
        }
        write!(
            in_flight,
            " (try again after {} s)",
            self.retry_after_seconds
        )?;
        row("while the first request runs", &in_flight)?;
        row("after an interruption", &self.after_interruption)?;
        row("answers that are kept", &self.answers_kept)?;
        let headers = names(&self.headers_not_replayed);
        row("headers that are not replayed", &headers)?;
        row("replays are marked", "`Idempotent-Replayed: true`")?;
        row("while the store is down", &self.store_down)?;
        row(
            "largest request body",
            &format!("{} bytes", self.request_limit),
        )?;
        if let Some(AnswersKept { limit, within }) = &self.answers {
            let kept = format!("about {limit} bytes, headers included, whole within {within:?}");
            row("largest answer kept", &kept)?;
        }
        if let Some(documentation) = &self.documentation {
            row("documentation", &format!("<{documentation}>"))?;
        }
        writeln!(
            f,
            "\n| status | `type` of the problem | title |\n| --- | --- | --- |"
        )?;
        for (kind, status, uri) in &self.problems {
            let uri = uri.replace('|', "\\|");
            writeln!(f, "| {status} | `{uri}` | {} |", kind.title())?;
        }
        Ok(())
    }
}

fn texts<T: ToString>(of: &[T]) -> Vec<String> {
    of.iter().map(ToString::to_string).collect()
}

/// As code, one after the other.
fn names(headers: &[String]) -> String {
    let names: Vec<_> = headers.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
