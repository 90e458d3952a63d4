//! What the command line asks for. Every refusal says in one line what is wrong and what is allowed.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use idempotency::{OnConflict, OnLapse};
use lexopt::{Arg, Parser, ValueExt as _};

use crate::cache::CacheUrl;
use crate::sabotage::Sabotage;
use crate::store::StoreUrl;

pub(crate) const HELP: &str = "\
payments                                           play the story
payments --sabotage forget|no-token|global-scope   play it on a wrong store
payments --store STORE [--cache CACHE]             and with what needs a store that is shared
payments serve                                     serve, with any of:
    --listen 127.0.0.1:3000
    --store sled|sled:FOLDER|memory|postgres://USER@HOST/DATABASE
           |redis://HOST:PORT|redis-cluster://HOST:PORT,HOST:PORT
    --cache memory|redis://HOST:PORT               before one that is shared
    --lease 30s
    --retention 24h
    --on-conflict reject|wait:5s
    --on-lapse run-again|hold
    --provider-latency 0ms
    --provider-window 24h
    --provider-ledger FILE";

const SERVE_FLAGS: &str = "--listen, --store, --cache, --lease, --retention, --on-conflict, \
    --on-lapse, --provider-latency, --provider-window, --provider-ledger or --help";

#[derive(Debug)]
pub(crate) enum Command {
    Help,
    Story(Story),
    Serve(Serve),
}

#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) sabotage: Option<Sabotage>,
    /// Where the scenes play that do not play in memory.
    pub(crate) store: Option<StoreUrl>,
    pub(crate) cache: Option<CacheUrl>,
}

impl Story {
    fn is_plain(&self) -> bool {
        self.sabotage.is_none() && self.store.is_none() && self.cache.is_none()
    }
}

#[derive(Debug)]
pub(crate) struct Serve {
    pub(crate) listen: SocketAddr,
    pub(crate) store: StoreUrl,
    pub(crate) cache: Option<CacheUrl>,
    pub(crate) lease: Duration,
    pub(crate) retention: Duration,
    pub(crate) on_conflict: OnConflict,
    pub(crate) on_lapse: OnLapse,
    pub(crate) provider_latency: Duration,
    pub(crate) provider_window: Duration,
    /// Where the provider keeps its memory; without it, it forgets with the process.
    pub(crate) provider_ledger: Option<PathBuf>,
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
            store: StoreUrl::SledForNow,
            cache: None,
            lease: Duration::from_secs(30),
            retention: Duration::from_secs(24 * 60 * 60),
            on_conflict: OnConflict::Reject,
            on_lapse: OnLapse::RunAgain,
            provider_latency: Duration::ZERO,
            provider_window: Duration::from_secs(24 * 60 * 60),
            provider_ledger: None,
        }
    }
}

pub(crate) fn parse(mut args: Parser) -> Result<Command, String> {
    let mut story = Story::default();
    while let Some(arg) = next(&mut args)? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("sabotage") => {
                story.sabotage = Some(value(&mut args, "--sabotage", str::parse)?);
            }
            Arg::Long("store") => story.store = Some(value(&mut args, "--store", str::parse)?),
            Arg::Long("cache") => story.cache = Some(value(&mut args, "--cache", str::parse)?),
            Arg::Value(word) if word == "serve" && story.is_plain() => return parse_serve(args),
            other => {
                return Err(unexpected(
                    other,
                    "nothing, serve, --sabotage, --store, --cache or --help",
                ));
            }
        }
    }
    if story.cache.is_some() && story.store.is_none() {
        return Err("--cache is for a store: give --store postgres:// or redis://".into());
    }
    Ok(Command::Story(story))
}

fn parse_serve(mut args: Parser) -> Result<Command, String> {
    let mut flags = Serve::default();
    while let Some(arg) = next(&mut args)? {
        match arg {
            Arg::Long("help") | Arg::Short('h') => return Ok(Command::Help),
            Arg::Long("listen") => flags.listen = value(&mut args, "--listen", address)?,
            Arg::Long("store") => flags.store = value(&mut args, "--store", str::parse)?,
            Arg::Long("cache") => flags.cache = Some(value(&mut args, "--cache", str::parse)?),
            Arg::Long("lease") => flags.lease = value(&mut args, "--lease", duration)?,
            Arg::Long("retention") => flags.retention = value(&mut args, "--retention", duration)?,
            Arg::Long("on-conflict") => {
                flags.on_conflict = value(&mut args, "--on-conflict", on_conflict)?;
            }
            Arg::Long("on-lapse") => flags.on_lapse = value(&mut args, "--on-lapse", on_lapse)?,
            Arg::Long("provider-latency") => {
                flags.provider_latency = value(&mut args, "--provider-latency", duration)?;
            }
            Arg::Long("provider-window") => {
                flags.provider_window = value(&mut args, "--provider-window", duration)?;
            }
            Arg::Long("provider-ledger") => {
                flags.provider_ledger = Some(value(&mut args, "--provider-ledger", file)?);
            }
            other => return Err(unexpected(other, SERVE_FLAGS)),
        }
    }
    Ok(Command::Serve(flags))
}

fn next(args: &mut Parser) -> Result<Option<Arg<'_>>, String> {
    args.next().map_err(|error| error.to_string())
}

/// The value of a flag. `read` says what is allowed if it is not that.
fn value<T>(
    args: &mut Parser,
    flag: &str,
    read: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, String> {
    // No value at all is answered like an empty one, which no flag takes.
    let text = args.value().and_then(|value| value.string());
    let text = text.unwrap_or_default();
    read(&text).map_err(|allowed| format!("{flag} {text:?} is not allowed: {allowed}"))
}

fn unexpected(arg: Arg<'_>, allowed: &str) -> String {
    let given = match arg {
        Arg::Long(name) => format!("--{name}"),
        Arg::Short(letter) => format!("-{letter}"),
        Arg::Value(word) => word.to_string_lossy().into_owned(),
    };
    format!("{given:?} is not allowed here: give {allowed}")
}

fn address(text: &str) -> Result<SocketAddr, String> {
    SocketAddr::from_str(text)
        .map_err(|_| "give an IP address and a port, such as 127.0.0.1:3000".into())
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "give a duration, such as 500ms, 30s or 24h".into())
}

fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("give the path of a file".into()),
        _ => Ok(text.into()),
    }
}

fn on_conflict(text: &str) -> Result<OnConflict, String> {
    match text.split_once(':') {
        None if text == "reject" => Ok(OnConflict::Reject),
        Some(("wait", up_to)) => Ok(OnConflict::Wait {
            up_to: duration(up_to)?,
        }),
        _ => Err("give reject, or wait and a duration, such as wait:5s".into()),
    }
}

fn on_lapse(text: &str) -> Result<OnLapse, String> {
    match text {
        "run-again" => Ok(OnLapse::RunAgain),
        "hold" => Ok(OnLapse::Hold),
        _ => Err("give run-again or hold".into()),
    }
}
