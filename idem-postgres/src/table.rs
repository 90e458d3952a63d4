//! Which table: names that come from outside, strictly checked, since they become part of statements.

use std::fmt;

use idem_core::Error;

/// The table of the records, in its schema. The name of the schema is optional: without it, the
/// connection's `search_path` decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    schema: Option<String>,
    name: String,
}

/// Longer ones Postgres would cut, and two names could become one. What is made beside the table has
/// a longer name: `_version`.
const MAX_LEN: usize = 63 - "_purge_idx".len();

impl Table {
    /// A table of this name, in the schema that the `search_path` finds.
    ///
    /// # Errors
    /// [Invalid](Error::is_invalid) unless it is 1 to 53 of `a`–`z`, `0`–`9` and `_`, not beginning with
    /// a digit.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        Ok(Self {
            schema: None,
            name: checked("table", name.into())?,
        })
    }

    /// The same in this schema.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn in_schema(mut self, schema: impl Into<String>) -> Result<Self, Error> {
        self.schema = Some(checked("schema", schema.into())?);
        Ok(self)
    }

    /// The name of the table of the schema's version, which stands beside.
    pub(crate) fn version(&self) -> Self {
        Self {
            schema: self.schema.clone(),
            name: format!("{}_version", self.name),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }
}

impl Default for Table {
    /// `idempotency_records`
    fn default() -> Self {
        Self {
            schema: None,
            name: "idempotency_records".to_owned(),
        }
    }
}

fn checked(what: &str, name: String) -> Result<String, Error> {
    let fits = (1..=MAX_LEN).contains(&name.len())
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if fits {
        Ok(name)
    } else {
        Err(Error::invalid(format!(
            "the name of the {what} is not allowed: it has 1 to {MAX_LEN} of a-z, 0-9 and _, and does not \
             begin with a digit"
        )))
    }
}

/// As it stands in a statement: quoted, so that a name may be a word of SQL.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "\"{schema}\".\"{}\"", self.name),
            None => write!(f, "\"{}\"", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_quoted_and_strictly_checked() {
        let table = Table::new("select").unwrap().in_schema("pay_1").unwrap();
        assert_eq!(table.to_string(), r#""pay_1"."select""#);
        assert_eq!(table.version().to_string(), r#""pay_1"."select_version""#);
        let long = "a".repeat(54);
        for name in ["", "1a", "A", "a b", "a\"", "a;", "a.b", "ä", "a\0", &long] {
            assert!(Table::new(name).unwrap_err().is_invalid(), "{name}");
            assert!(Table::default().in_schema(name).is_err(), "{name}");
        }
        assert!(Table::new(&long[1..]).is_ok());
    }
}
