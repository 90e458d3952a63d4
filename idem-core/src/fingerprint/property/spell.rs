//! One of the many spellings of a value.

use super::model::{Json, Number};

/// A stream of choices, each stream the same for the same seed.
pub(crate) struct Choices(u64);

impl Choices {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of the numbers below `count`, by a step of SplitMix64.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % count as u64).unwrap()
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// A spelling of `value`, with white space around it.
pub(crate) fn spell(value: &Json, choices: &mut Choices) -> String {
    let before = white_space(choices);
    let text = match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => spell_number(number, choices),
        Json::String(text) => spell_string(text, choices),
        Json::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| spell(value, choices)).collect();
            format!("[{}{}]", white_space(choices), values.join(","))
        }
        Json::Object(members) => {
            let mut left: Vec<_> = members.iter().collect();
            let mut spelled = Vec::new();
            while !left.is_empty() {
                let (name, value) = left.swap_remove(choices.below(left.len()));
                let name = spell_string(name, choices);
                let [before, after] = [white_space(choices), white_space(choices)];
                spelled.push(format!("{before}{name}{after}:{}", spell(value, choices)));
            }
            format!("{{{}{}}}", white_space(choices), spelled.join(","))
        }
    };
    before + &text + &white_space(choices)
}

fn white_space(choices: &mut Choices) -> String {
    let count = choices.below(12).saturating_sub(8);
    (0..count)
        .map(|_| choices.one_of(&[" ", "\t", "\n", "\r"]))
        .collect()
}

fn spell_string(text: &str, choices: &mut Choices) -> String {
    let spelled: String = text
        .chars()
        .map(|character| spell_character(character, choices))
        .collect();
    format!("\"{spelled}\"")
}

fn spell_character(character: char, choices: &mut Choices) -> String {
    let raw = character.to_string();
    let mut spellings = vec![
        character
            .encode_utf16(&mut [0; 2])
            .iter()
            .map(|unit| match choices.coin() {
                true => format!("\\u{unit:04x}"),
                false => format!("\\u{unit:04X}"),
            })
            .collect(),
    ];
    if !matches!(character, '\0'..='\u{1f}' | '"' | '\\') {
        spellings.push(raw);
    }
    let letters = [
        ('"', "\\\""),
        ('\\', "\\\\"),
        ('/', "\\/"),
        ('\u{8}', "\\b"),
        ('\t', "\\t"),
        ('\n', "\\n"),
        ('\u{c}', "\\f"),
        ('\r', "\\r"),
    ];
    let letters = letters.iter().filter(|(special, _)| *special == character);
    spellings.extend(letters.map(|(_, escape)| (*escape).to_owned()));
    spellings.swap_remove(choices.below(spellings.len()))
}

fn spell_number(number: &Number, choices: &mut Choices) -> String {
    if number.digits.is_empty() {
        let integer = choices.one_of(&["0", "-0"]);
        let fraction = choices.one_of(&["", ".0", ".000"]);
        let exponent = choices.one_of(&["", "e0", "E-7", "e+12", "e00400"]);
        return format!("{integer}{fraction}{exponent}");
    }
    let sign = if number.negative { "-" } else { "" };
    // Trailing zeros, and a point somewhere: both are made up for by the exponent.
    let (zeros, decimals) = plain_layout(number)
        .filter(|_| choices.coin())
        .unwrap_or_else(|| {
            let zeros = choices.below(4);
            (zeros, choices.below(number.digits.len() + zeros + 3))
        });
    let exponent = number.exponent - zeros as i64 + decimals as i64;
    let digits = format!("{}{}", number.digits, "0".repeat(zeros));
    let padded = format!("{digits:0>width$}", width = decimals + 1);
    let (integer, fraction) = padded.split_at(padded.len() - decimals);
    let point = if decimals > 0 { "." } else { "" };
    let exponent = spell_exponent(exponent, choices);
    format!("{sign}{integer}{point}{fraction}{exponent}")
}

/// How many zeros and decimals spell a number of moderate size without an exponent.
fn plain_layout(number: &Number) -> Option<(usize, usize)> {
    let exponent = number.exponent;
    (exponent.abs() <= 600).then(|| {
        let length = usize::try_from(exponent.abs()).unwrap();
        if exponent > 0 {
            (length, 0)
        } else {
            (0, length)
        }
    })
}

fn spell_exponent(exponent: i64, choices: &mut Choices) -> String {
    if exponent == 0 && choices.coin() {
        return String::new();
    }
    let letter = choices.one_of(&["e", "E"]);
    let sign = match exponent {
        ..0 => "-",
        0 => choices.one_of(&["", "+", "-"]),
        1.. => choices.one_of(&["", "+"]),
    };
    let zeros = choices.one_of(&["", "0", "00000000000"]);
    format!("{letter}{sign}{zeros}{}", exponent.abs())
}
