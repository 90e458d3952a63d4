//! What is kept of an answer, and of progress.

use bytes::Bytes;
use idem_core::{Answer, Header, Progress, Response};

use crate::decisions::{Decisions, LIMIT, limited, respond, right};

/// A response of these parts.
fn response(status: u16, headers: &[Header], body: &[u8], trailers: &[Header]) -> Response {
    let mut made = Response::new(status).body(body.to_vec());
    for Header { name, value } in headers {
        made = made.header(name, value.clone());
    }
    for Header { name, value } in trailers {
        made = made.trailer(name, value.clone());
    }
    made
}

/// The same with other headers.
fn with_headers(old: &Response, headers: &[Header]) -> Response {
    response(old.status(), headers, old.body_bytes(), old.trailers())
}

/// The same with another body.
fn with_body(old: &Response, body: &[u8]) -> Response {
    response(old.status(), old.headers(), body, old.trailers())
}

pub(super) fn stores() -> Vec<Decisions> {
    vec![
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    response(200, old.headers(), old.body_bytes(), old.trailers())
                })
            },
            ..right("status replaced by 200")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    let mut headers = old.headers().to_vec();
                    headers.sort_by(|one, other| one.name.cmp(&other.name));
                    with_headers(old, &headers)
                })
            },
            ..right("headers reordered")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    let mut merged: Vec<Header> = Vec::new();
                    for line in old.headers() {
                        match merged.iter_mut().find(|before| before.name == line.name) {
                            Some(before) => {
                                before.value =
                                    [&before.value[..], b", ", &line.value].concat().into()
                            }
                            None => merged.push(line.clone()),
                        }
                    }
                    with_headers(old, &merged)
                })
            },
            ..right("headers merged at commas")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    let mut headers = old.headers().to_vec();
                    headers
                        .iter_mut()
                        .for_each(|line| line.name.make_ascii_lowercase());
                    with_headers(old, &headers)
                })
            },
            ..right("header names lower-cased")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    let mut headers = old.headers().to_vec();
                    for line in &mut headers {
                        line.value = String::from_utf8_lossy(&line.value).into_owned().into();
                    }
                    with_headers(old, &headers)
                })
            },
            ..right("non-UTF-8 values replaced")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    with_body(old, String::from_utf8_lossy(old.body_bytes()).as_bytes())
                })
            },
            ..right("body as lossy text")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| match std::str::from_utf8(old.body_bytes()) {
                    Ok(text) if text.trim_start().starts_with(['{', '[']) => {
                        let spaceless: String = text.split_whitespace().collect();
                        with_body(old, spaceless.as_bytes())
                    }
                    _ => old.clone(),
                })
            },
            ..right("body re-serialised as JSON")
        },
        Decisions {
            answer: |answer| match answer.full() {
                Some(old) if old.body_bytes().is_empty() => Answer::NotRetained {
                    status: old.status(),
                    body_length: 0,
                },
                _ => answer.clone(),
            },
            ..right("empty body lost")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    response(old.status(), old.headers(), old.body_bytes(), &[])
                })
            },
            ..right("trailers dropped")
        },
        Decisions {
            answer: |answer| match answer {
                Answer::NotRetained { status, .. } => Answer::from(Response::new(*status)),
                full => full.clone(),
            },
            ..right("too large answers forgotten")
        },
        Decisions {
            answer: |answer| {
                respond(answer, |old| {
                    let kept = old.body_bytes().len().min(65_535);
                    with_body(old, &old.body_bytes()[..kept])
                })
            },
            ..right("a response cut at a length")
        },
        Decisions {
            accepts: |answer| {
                (limited("").accepts)(answer).and_then(|()| {
                    match answer.full().map_or(0, Response::encoded_len) {
                        size if size > LIMIT - 10 => Err(idem_core::Error::too_large(
                            "response",
                            size as u64,
                            LIMIT as u64,
                        )),
                        _ => Ok(()),
                    }
                })
            },
            ..limited("a limit lower than stated")
        },
        Decisions {
            accepts: |_| Ok(()),
            answer: |answer| {
                respond(answer, |old| {
                    let kept = old.body_bytes().len().min(LIMIT - 100);
                    with_body(old, &old.body_bytes()[..kept])
                })
            },
            ..limited("a limit that cuts")
        },
        Decisions {
            progress: |progress| {
                let text = String::from_utf8_lossy(progress.as_bytes()).into_owned();
                Progress::new(text).unwrap_or_else(|_| progress.clone())
            },
            ..right("progress as text")
        },
        Decisions {
            progress: |progress| {
                let kept = progress.as_bytes().len().min(32_768);
                Progress::new(Bytes::slice(progress.as_bytes(), ..kept)).expect("it is shorter")
            },
            ..right("progress cut at a length")
        },
    ]
}
