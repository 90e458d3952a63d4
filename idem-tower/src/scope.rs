//! Whose request it is: the application says so, always.

use http::request::Parts;
use idem_core::Scope;

/// Says whose request it is, by what earlier layers found out about it. Any
/// `Fn(&Parts) -> Option<Scope>` is one.
///
/// There is no default: a scope that two clients share is one client's answer in the hands of another.
/// Use the stable principal (account, tenant), not the credential, which changes when it is rotated.
/// Read it from what an authentication layer *outside* put into the request's extensions; a header that
/// the client chooses freely is no proof of anything.
///
/// `None` means that nobody is known: the request is refused with 500
/// [`no-scope`](crate::ProblemKind::NoScope) and the handler does not run.
///
/// ```
/// use http::request::Parts;
/// use idem_core::Scope;
///
/// #[derive(Clone)]
/// struct Account(String); // put there by the authentication layer
///
/// let by_account = |parts: &Parts| {
///     let account = parts.extensions.get::<Account>()?;
///     Scope::new(&account.0).ok()
/// };
/// # fn is_one(_: impl idem_tower::ScopeExtractor) {} is_one(by_account);
/// ```
pub trait ScopeExtractor: Send + Sync + 'static {
    /// The scope of the request with these parts.
    fn scope(&self, parts: &Parts) -> Option<Scope>;
}

impl<F> ScopeExtractor for F
where
    F: Fn(&Parts) -> Option<Scope> + Send + Sync + 'static,
{
    fn scope(&self, parts: &Parts) -> Option<Scope> {
        self(parts)
    }
}
