//! RFC 8785 as others implement it.

/// The canonical form, or why there is none.
pub(crate) fn canonicalize(text: &[u8]) -> Result<String, String> {
    let value: serde_json::Value =
        serde_json::from_slice(text).map_err(|error| error.to_string())?;
    serde_json_canonicalizer::to_string(&value).map_err(|error| error.to_string())
}
