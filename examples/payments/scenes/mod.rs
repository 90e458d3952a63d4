//! The scenes of the story, a function each. They return what they have seen.

pub(crate) mod answers;
pub(crate) mod at_once;
pub(crate) mod interrupted;
pub(crate) mod killed;
pub(crate) mod one_transaction;
pub(crate) mod two_servers;

use std::process;
use std::time::SystemTime;

const ANA: &str = "acct_ana";
const BOB: &str = "acct_bob";

const PAYMENT: &str = r#"{"amount":"150.00","currency":"BRL","customer_id":"cus_812"}"#;

/// One that this store has never seen: others may have played here before.
fn new_customer() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since.unwrap_or_default().as_nanos();
    format!("cus_{}_{now}", process::id())
}
