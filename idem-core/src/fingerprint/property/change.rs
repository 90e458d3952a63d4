//! Another value that is much like the first.

use super::model::{Json, Number};
use super::spell::Choices;

/// Changes something small, somewhere. It may come out as the value that it was.
pub(crate) fn change(value: &mut Json, choices: &mut Choices) {
    match value {
        Json::Array(values) if !values.is_empty() && choices.coin() => {
            let place = choices.below(values.len());
            return change(&mut values[place], choices);
        }
        Json::Object(members) if !members.is_empty() && choices.coin() => {
            let place = choices.below(members.len());
            let inner = members.values_mut().nth(place).unwrap();
            return change(inner, choices);
        }
        _ => {}
    }
    match value {
        Json::Null => *value = Json::String("null".to_owned()),
        Json::Bool(value) => *value = choices.coin(),
        Json::Number(number) => change_number(number, choices),
        Json::String(text) => change_text(text, choices),
        Json::Array(values) => {
            let place = choices.below(values.len() + 1);
            match choices.below(3) {
                0 => values.insert(place, Json::Null),
                1 => values.rotate_left(place),
                _ => *value = Json::Array(vec![value.clone()]),
            }
        }
        Json::Object(members) => {
            let place = choices.below(members.len() + 1);
            match members.keys().nth(place).cloned() {
                Some(mut name) => {
                    let inner = members.remove(&name).unwrap();
                    change_text(&mut name, choices);
                    members.insert(name, inner);
                }
                None => {
                    members.insert("a".to_owned(), Json::Null);
                }
            }
        }
    }
}

fn change_number(number: &mut Number, choices: &mut Choices) {
    let (negative, digits, exponent) = (number.negative, number.digits.clone(), number.exponent);
    *number = match choices.below(4) {
        0 => Number::new(!negative, &digits, exponent),
        1 => Number::new(negative, &digits, exponent + 1),
        2 => Number::new(negative, &format!("{digits}1"), exponent - 1),
        _ => Number::new(negative, &format!("1{digits}"), exponent),
    };
}

fn change_text(text: &mut String, choices: &mut Choices) {
    match choices.below(4) {
        0 => text.push('\u{301}'),
        1 => text.insert(0, ' '),
        2 => *text = text.to_uppercase(),
        _ => *text = text.replace('\u{e9}', "e\u{301}"),
    }
}
