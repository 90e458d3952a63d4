//! RFC 9651 as others implement it.

use sfv::{BareItem, Item, Parser};

/// The String that is an Item, whatever its parameters. `None` if the field is no Item, or another type.
pub(crate) fn sfv_string(value: &[u8]) -> Option<String> {
    match Parser::new(value).parse::<Item>().ok()?.bare_item {
        BareItem::String(text) => Some(text.into()),
        _ => None,
    }
}
