//! The handler: checks the payment, charges it, answers. Whatever it answers is the answer for good,
//! an invalid payment and a declined card included.

use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::{IntoResponse as _, Response};
use idempotency::Reservation;
use serde::{Deserialize, Serialize};

use crate::principal::Principal;
use crate::problem::{Kind, Problem};
use crate::provider::{Charge, Charged, Order, Provider};

/// Names the one effect of a payment, for its derived key.
pub(crate) const CHARGE: &str = "charge";

/// What a client asks for. Amounts stay decimal text: no payment ever goes through a float.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) amount: String,
    pub(crate) currency: String,
    pub(crate) customer_id: String,
}

/// What a client gets.
#[derive(Serialize)]
struct Payment<'a> {
    id: &'a str,
    status: &'static str,
    amount: &'a str,
    currency: &'a str,
    customer_id: &'a str,
    /// Which run of the operation answered.
    attempt: u32,
}

pub(crate) async fn pay(
    provider: &Provider,
    principal: Principal,
    body: &[u8],
    reservation: &Reservation,
) -> Response {
    let request = match Request::read(body) {
        Ok(request) => request,
        Err(reason) => return Problem::new(Kind::InvalidPayment, reason).into_response(),
    };
    let order = Order {
        client: principal.name,
        amount: request.amount,
        currency: request.currency,
        customer_id: request.customer_id,
    };
    // The same key on every attempt: if this process dies here, the next attempt charges nothing.
    let provider_key = reservation.derived_key(CHARGE);
    match provider.charge(&provider_key, order).await {
        Charged::Paid(charge) => {
            let headers = [
                (CONTENT_TYPE, "application/json".to_owned()),
                (LOCATION, location(&charge)),
            ];
            let body = paid(&charge, reservation.attempt());
            (StatusCode::CREATED, headers, body).into_response()
        }
        Charged::Declined => Problem::new(
            Kind::CardDeclined,
            "this answer stands: to pay with another card, send a new Idempotency-Key",
        )
        .into_response(),
    }
}

/// Where the payment of a charge is.
pub(crate) fn location(charge: &Charge) -> String {
    format!("/payments/{}", charge.id)
}

/// The body of the answer for a charge that was made.
pub(crate) fn paid(charge: &Charge, attempt: u32) -> String {
    let payment = Payment {
        id: &charge.id,
        status: "paid",
        amount: &charge.order.amount,
        currency: &charge.order.currency,
        customer_id: &charge.order.customer_id,
        attempt,
    };
    serde_json::to_string(&payment).expect("strings and a number are JSON")
}

impl Request {
    /// The payment that a body asks for, or what is wrong with it and what is allowed.
    pub(crate) fn read(body: &[u8]) -> Result<Self, String> {
        let request: Self = serde_json::from_slice(body).map_err(|error| {
            format!("{error}; the body is JSON with the strings amount, currency and customer_id")
        })?;
        if !is_amount(&request.amount) {
            return Err(
                "amount: digits, a point and two digits, more than zero: \"150.00\"".into(),
            );
        }
        if !is_currency(&request.currency) {
            return Err("currency: three capital letters: \"BRL\"".into());
        }
        if !is_customer_id(&request.customer_id) {
            return Err("customer_id: 1 to 64 letters, digits, `_` or `-`: \"cus_812\"".into());
        }
        Ok(request)
    }
}

/// Exactly two decimals, more than zero, one spelling for each amount.
fn is_amount(text: &str) -> bool {
    let Some((whole, cents)) = text.split_once('.') else {
        return false;
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let whole_is_plain = whole == "0" || (!whole.starts_with('0') && digits(whole));
    (1..=12).contains(&whole.len())
        && whole_is_plain
        && cents.len() == 2
        && digits(cents)
        && (whole, cents) != ("0", "00")
}

fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn is_customer_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}
