//! Whose request it is.

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::middleware::Next;
use axum::response::Response;
use idempotency::Scope;

use crate::problem::{Kind, Problem};

/// The client that a request comes from.
#[derive(Clone, Debug)]
pub(crate) struct Principal {
    pub(crate) name: String,
    pub(crate) scope: Scope,
}

/// Leaves the principal in the request's extensions, or refuses the request.
pub(crate) async fn authenticate(mut request: Request, next: Next) -> Result<Response, Problem> {
    let principal = Principal::of(request.headers())?;
    request.extensions_mut().insert(principal);
    Ok(next.run(request).await)
}

impl Principal {
    /// Reads `Authorization: Bearer <client>`.
    ///
    /// Here the token is the client's name. A real server looks up the account that the token belongs
    /// to, and scopes by that: after a token is rotated, the same client's retry must still find its
    /// key.
    fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut lines = headers.get_all(AUTHORIZATION).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(refused(
                "send exactly one line `Authorization: Bearer <client>`",
            ));
        };
        let name = line
            .to_str()
            .ok()
            .and_then(|line| line.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"))
            .map(|(_, token)| token.trim_start_matches(' '))
            .filter(|token| is_token68(token))
            .ok_or_else(|| refused("the form is `Authorization: Bearer <client>`"))?;
        let scope = Scope::new(name).map_err(|_| refused("a client has at most 255 characters"))?;
        Ok(Self {
            name: name.to_owned(),
            scope,
        })
    }
}

/// RFC 6750 section 2.1: what a bearer token is made of.
fn is_token68(token: &str) -> bool {
    let body = token.trim_end_matches('=');
    !body.is_empty()
        && body
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

fn refused(detail: &str) -> Problem {
    Problem::new(Kind::Unauthorized, detail)
}
