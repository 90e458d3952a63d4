//! A content type: RFC 9110, section 8.3.1.

/// The most characters of a boundary: RFC 2046, section 5.1.1.
const MAX_BOUNDARY: usize = 70;

/// `type/subtype; name=value`, well-formed to the last byte.
pub(super) struct MediaType<'a> {
    essence: String,
    parameters: Vec<Parameter<'a>>,
}

struct Parameter<'a> {
    /// In lower case.
    name: String,
    /// As it was sent, with the quotes that it may have.
    value: &'a [u8],
}

impl<'a> MediaType<'a> {
    /// `None` if anything is malformed, or more than visible ASCII, spaces and tabs: others may then read
    /// it in another way.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let (kind, rest) = token(white_space(line))?;
        let (subtype, mut rest) = token(rest.strip_prefix(b"/")?)?;
        let mut parameters = Vec::new();
        loop {
            rest = white_space(rest);
            if rest.is_empty() {
                let essence = format!("{}/{}", lower_case(kind), lower_case(subtype));
                return Some(Self {
                    essence,
                    parameters,
                });
            }
            rest = white_space(rest.strip_prefix(b";")?);
            // RFC 9110 allows for a semicolon with nothing after it.
            if let Some((name, after)) = token(rest) {
                let after = after.strip_prefix(b"=")?;
                let (value, after) = token(after).or_else(|| quoted_string(after))?;
                parameters.push(Parameter {
                    name: lower_case(name),
                    value,
                });
                rest = after;
            }
        }
    }

    /// The type and the subtype, in lower case.
    pub(super) fn essence(&self) -> &str {
        &self.essence
    }

    pub(super) fn is_json(&self) -> bool {
        self.essence == "application/json"
            || self
                .essence
                .strip_suffix("+json")
                .is_some_and(|before| !before.ends_with('/'))
    }

    /// The boundary, if this is `multipart/*` and there can be no two opinions on it.
    pub(super) fn boundary(&self) -> Option<&'a [u8]> {
        if !self.essence.starts_with("multipart/") {
            return None;
        }
        // Parameters such as `boundary*0` (RFC 2231) say the same in a way that few understand.
        let mut boundaries = self
            .parameters
            .iter()
            .filter(|p| p.name.starts_with("boundary"));
        let boundary = boundaries.next().filter(|p| p.name == "boundary")?;
        let value = match boundary.value {
            [b'"', inside @ .., b'"'] => inside,
            value => value,
        };
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=?".contains(byte);
        let plain = (1..=MAX_BOUNDARY).contains(&value.len()) && value.iter().all(allowed);
        (plain && boundaries.next().is_none()).then_some(value)
    }

    /// The parameters but `charset=utf-8`, which is what JSON is written in anyway, in their order: names
    /// in lower case, values as they were sent.
    pub(super) fn but_utf_8(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        let is_utf_8 = |p: &&Parameter<'_>| {
            let value = match p.value {
                [b'"', inside @ .., b'"'] => inside,
                value => value,
            };
            p.name == "charset" && value.eq_ignore_ascii_case(b"utf-8")
        };
        let others = self.parameters.iter().filter(move |p| !is_utf_8(p));
        others.map(|parameter| (parameter.name.as_str(), parameter.value))
    }

    /// The parameters but the boundary, in their order: names in lower case, values as they were sent.
    pub(super) fn but_boundary(&self) -> impl Iterator<Item = (&str, &'a [u8])> {
        let others = self.parameters.iter().filter(|p| p.name != "boundary");
        others.map(|parameter| (parameter.name.as_str(), parameter.value))
    }
}

/// What is left after spaces and tabs.
fn white_space(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

/// A token of at least one character, and what follows it.
fn token(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let length = text.iter().take_while(|byte| allowed(byte)).count();
    (length > 0).then(|| text.split_at(length))
}

/// A quoted string with its quotes, and what follows it.
fn quoted_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut bytes = text.iter().enumerate();
    bytes.next().filter(|(_, first)| **first == b'"')?;
    loop {
        match bytes.next()? {
            (last, b'"') => return Some(text.split_at(last + 1)),
            (_, b'\\') => drop(bytes.next().filter(|(_, escaped)| is_text(**escaped))?),
            (_, &byte) if is_text(byte) => {}
            _ => return None,
        }
    }
}

fn is_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~')
}

fn lower_case(token: &[u8]) -> String {
    token
        .iter()
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}
