//! The scenes of the story, a function each. They return what they have seen.

pub(crate) mod answers;
pub(crate) mod at_once;
pub(crate) mod interrupted;
pub(crate) mod killed;
pub(crate) mod one_transaction;

const ANA: &str = "acct_ana";
const BOB: &str = "acct_bob";

const PAYMENT: &str = r#"{"amount":"150.00","currency":"BRL","customer_id":"cus_812"}"#;
