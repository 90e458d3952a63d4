//! The scripts: each is one atomic step, on one key.

use redis::{Cmd, Script, Value};

use crate::connection::Connection;
use crate::failure::Failure;

/// A script by its digest, or by its text to a server that has not seen it yet.
pub(crate) struct Step {
    text: &'static str,
    digest: String,
}

/// Every script, with what they share before it.
pub(crate) struct Steps {
    pub(crate) reserve: Step,
    pub(crate) complete: Step,
    pub(crate) renew: Step,
    pub(crate) abandon: Step,
    pub(crate) release: Step,
    pub(crate) get: Step,
    pub(crate) lapsed: Step,
    pub(crate) seen: Step,
}

macro_rules! step {
    ($file:literal) => {
        Step::new(concat!(include_str!("lua/record.lua"), include_str!($file)))
    };
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self {
            reserve: step!("lua/reserve.lua"),
            complete: step!("lua/complete.lua"),
            renew: step!("lua/renew.lua"),
            abandon: step!("lua/abandon.lua"),
            release: step!("lua/release.lua"),
            get: step!("lua/get.lua"),
            lapsed: step!("lua/lapsed.lua"),
            seen: step!("lua/seen.lua"),
        }
    }
}

impl Step {
    fn new(text: &'static str) -> Self {
        Self {
            text,
            digest: Script::new(text).get_hash().to_owned(),
        }
    }

    /// Runs it on the key `name`. A server forgets scripts when it starts, when it takes over from another
    /// and when it is told to: then nothing was applied, and the text goes along, once.
    pub(crate) async fn run(
        &self,
        connection: &Connection,
        name: &str,
        arguments: &[&[u8]],
    ) -> Result<Value, Failure> {
        let by_digest = command("EVALSHA", &self.digest, name, arguments);
        match connection.ask(&by_digest).await {
            Err(failure) if failure.is_no_script() => {
                let by_text = command("EVAL", self.text, name, arguments);
                connection.ask(&by_text).await
            }
            asked => asked,
        }
    }
}

fn command(command: &str, script: &str, name: &str, arguments: &[&[u8]]) -> Cmd {
    let mut command = redis::cmd(command);
    command.arg(script).arg(1).arg(name);
    for argument in arguments {
        command.arg(*argument);
    }
    command
}
