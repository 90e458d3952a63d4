//! The parameters of an Item, read for their syntax only: RFC 9651, section 4.2.3.2.
//!
//! The draft defines none, and says nothing about others. They are ignored, as RFC 9651 wants unknown
//! ones to be; but a field whose parameters are malformed is malformed as a whole.

use super::item::Left;

#[derive(PartialEq)]
enum Number {
    Integer,
    Decimal,
}

impl Left<'_> {
    /// Any number of parameters; `None` if one of them is malformed.
    pub(super) fn parameters(&mut self) -> Option<()> {
        while self.take(b';').is_some() {
            self.count_while(|byte| byte == b' ');
            self.parameter_key()?;
            if self.take(b'=').is_some() {
                self.bare_item()?;
            }
        }
        Some(())
    }

    /// Section 4.2.3.3.
    fn parameter_key(&mut self) -> Option<()> {
        self.next_if(|byte| byte.is_ascii_lowercase() || byte == b'*')?;
        self.count_while(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(&byte)
        });
        Some(())
    }

    /// A value of any type. The first byte tells which: section 4.2.3.1.
    fn bare_item(&mut self) -> Option<()> {
        match self.next()? {
            first @ (b'-' | b'0'..=b'9') => self.rest_of_number(first).map(drop),
            b'"' => self.rest_of_string().ok().map(drop),
            b'*' | b'A'..=b'Z' | b'a'..=b'z' => self.rest_of_token(),
            b':' => self.rest_of_byte_sequence(),
            b'?' => self.next_if(|byte| matches!(byte, b'0' | b'1')).map(drop),
            b'@' => self.rest_of_date(),
            b'%' => self.rest_of_display_string(),
            _ => None,
        }
    }

    /// Section 4.2.4. An Integer has up to 15 digits; a Decimal up to 12, a point and 1 to 3 more.
    fn rest_of_number(&mut self, first: u8) -> Option<Number> {
        let digits = usize::from(first.is_ascii_digit()) + self.digits();
        if self.take(b'.').is_none() {
            return matches!(digits, 1..=15).then_some(Number::Integer);
        }
        let fraction = self.digits();
        matches!((digits, fraction), (1..=12, 1..=3)).then_some(Number::Decimal)
    }

    fn digits(&mut self) -> usize {
        self.count_while(|byte| byte.is_ascii_digit())
    }

    /// Section 4.2.6.
    fn rest_of_token(&mut self) -> Option<()> {
        self.count_while(|byte| {
            byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte)
        });
        Some(())
    }

    /// Section 4.2.7. It asks parsers to take missing padding, and bits of the last digit that are not
    /// used: so only the number of digits decides, and that there is not too much padding.
    fn rest_of_byte_sequence(&mut self) -> Option<()> {
        let digits = self.count_while(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
        let padding = self.count_while(|byte| byte == b'=');
        let most = match digits % 4 {
            0 => 0,
            2 => 2,
            3 => 1,
            _ => return None,
        };
        self.take(b':').filter(|()| padding <= most)
    }

    /// Section 4.2.9: an Integer, not a Decimal.
    fn rest_of_date(&mut self) -> Option<()> {
        let first = self.next_if(|byte| byte == b'-' || byte.is_ascii_digit())?;
        self.rest_of_number(first)
            .filter(|number| *number == Number::Integer)
            .map(drop)
    }

    /// Section 4.2.10: UTF-8, all but printable ASCII of it as percent signs and two lower-case digits.
    fn rest_of_display_string(&mut self) -> Option<()> {
        self.take(b'"')?;
        let mut text = Vec::new();
        loop {
            match self.next()? {
                b'"' => return String::from_utf8(text).ok().map(drop),
                b'%' => text.push(self.hex_digit()? * 16 + self.hex_digit()?),
                byte @ b' '..=b'~' => text.push(byte),
                _ => return None,
            }
        }
    }

    fn hex_digit(&mut self) -> Option<u8> {
        match self.next()? {
            digit @ b'0'..=b'9' => Some(digit - b'0'),
            digit @ b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        }
    }
}
