//! Inventing JSON values, and spelling one in many ways.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::body::dice::Dice;

#[derive(Clone, Debug)]
pub(super) enum Value {
    Array(Vec<Self>),
    Bool(bool),
    Null,
    /// Whether it is negative, its digits (no zeros at either end), and the power of ten.
    Number(bool, String, i32),
    /// Members with different names.
    Object(Vec<(String, Self)>),
    String(String),
}

impl Value {
    pub(super) fn invent(dice: &mut Dice, depth: usize) -> Self {
        match dice.below(if depth == 0 { 4 } else { 8 }) {
            0 => Self::Null,
            1 => Self::Bool(dice.below(2) == 0),
            2 => Self::Number(dice.below(2) == 0, invent_digits(dice), invent_power(dice)),
            3 => Self::String(invent_text(dice)),
            4 | 5 => Self::Array(
                (0..dice.below(5))
                    .map(|_| Self::invent(dice, depth - 1))
                    .collect(),
            ),
            _ => Self::Object(
                (0..dice.below(5))
                    .map(|n| {
                        (
                            invent_text(dice) + &n.to_string(),
                            Self::invent(dice, depth - 1),
                        )
                    })
                    .collect(),
            ),
        }
    }

    /// How many values inside have nothing inside themselves.
    pub(super) fn leaves(&self) -> usize {
        match self {
            Self::Array(elements) if !elements.is_empty() => {
                elements.iter().map(Self::leaves).sum()
            }
            Self::Object(members) if !members.is_empty() => {
                members.iter().map(|(_, value)| value.leaves()).sum()
            }
            _ => 1,
        }
    }

    /// The same value with another one in place of a leaf.
    pub(super) fn with_changed_leaf(&self, leaf: usize, dice: &mut Dice) -> Self {
        let mut changed = self.clone();
        changed.change(leaf, dice);
        changed
    }

    fn change(&mut self, mut leaf: usize, dice: &mut Dice) {
        let inner: Vec<&mut Self> = match self {
            Self::Array(elements) => elements.iter_mut().collect(),
            Self::Object(members) => members.iter_mut().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        };
        if inner.is_empty() {
            *self = self.other(dice);
            return;
        }
        for value in inner {
            let leaves = value.leaves();
            if leaf < leaves {
                return value.change(leaf, dice);
            }
            leaf -= leaves;
        }
    }

    /// Another leaf, as close as can be.
    fn other(&self, dice: &mut Dice) -> Self {
        match self {
            Self::Array(_) => Self::Object(Vec::new()),
            Self::Bool(is) => Self::Bool(!is),
            Self::Null => Self::String("null".into()),
            Self::Number(negative, digits, power) => match dice.below(4) {
                0 => Self::Number(!negative, digits.clone(), *power),
                1 => Self::Number(*negative, digits.clone(), power + 1),
                2 => Self::Number(*negative, format!("{digits}1"), *power),
                _ => Self::String(format!("{digits}e{power}")),
            },
            Self::Object(_) => Self::Null,
            Self::String(text) => Self::String(match dice.below(2) {
                0 => format!("{text} "),
                _ => format!("\\{text}"),
            }),
        }
    }
}

fn invent_digits(dice: &mut Dice) -> String {
    let middle: String = (0..dice.below(30))
        .map(|_| dice.pick(&['0', '7']))
        .collect();
    format!("{}{middle}{}", dice.pick(&[1, 5, 9]), dice.pick(&[1, 5, 9]))
}

fn invent_power(dice: &mut Dice) -> i32 {
    i32::try_from(dice.below(60)).unwrap() - 40
}

fn invent_text(dice: &mut Dice) -> String {
    const CHARACTERS: &[char] = &[
        'a', 'b', '0', ' ', '"', '\\', '/', '\n', '\t', '\0', '\u{1f}', '\u{7f}', 'é', '€',
        '\u{e000}', '\u{ffff}', '😀', ',', ':', '{', '~',
    ];
    (0..dice.below(6)).map(|_| dice.pick(CHARACTERS)).collect()
}

/// One of the many JSON texts that say `value`.
pub(super) fn spell(value: &Value, dice: &mut Dice) -> String {
    let spelled = match value {
        Value::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(|value| spell(value, dice)).collect();
            format!("[{}{}]", space(dice), elements.join(","))
        }
        Value::Bool(is) => is.to_string(),
        Value::Null => "null".to_string(),
        Value::Number(negative, digits, power) => {
            let sign = if *negative { "-" } else { "" };
            format!("{sign}{}", spell_number(digits, *power, dice))
        }
        Value::Object(members) => {
            let members: Vec<_> = dice
                .shuffle(members)
                .iter()
                .map(|(name, value)| {
                    let (before, behind) = (space(dice), space(dice));
                    format!(
                        "{before}{}{behind}:{}",
                        spell_string(name, dice),
                        spell(value, dice)
                    )
                })
                .collect();
            format!("{{{}{}}}", members.join(","), space(dice))
        }
        Value::String(text) => spell_string(text, dice),
    };
    format!("{}{spelled}{}", space(dice), space(dice))
}

fn space(dice: &mut Dice) -> &'static str {
    dice.pick(&["", "", " ", "\n", "\r\n\t"])
}

fn spell_number(digits: &str, power: i32, dice: &mut Dice) -> String {
    let zeros = dice.below(4);
    let digits = format!("{digits}{}", "0".repeat(zeros));
    let places = dice.below(digits.len() + 3);
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (integer, fraction) = padded.split_at(padded.len() - places);
    let integer = match integer.trim_start_matches('0') {
        "" => "0",
        integer => integer,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let exponent = power - i32::try_from(zeros).unwrap() + i32::try_from(places).unwrap();
    if exponent == 0 && dice.below(2) == 0 {
        return format!("{integer}{point}{fraction}");
    }
    let sign = match exponent {
        ..0 => "-",
        _ => dice.pick(&["", "+"]),
    };
    let (e, zeros) = (dice.pick(&["e", "E"]), dice.pick(&["", "0", "00"]));
    format!(
        "{integer}{point}{fraction}{e}{sign}{zeros}{}",
        exponent.unsigned_abs()
    )
}

fn spell_string(text: &str, dice: &mut Dice) -> String {
    let mut spelled = String::from("\"");
    for character in text.chars() {
        let short = match character {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '/' => Some("\\/"),
            '\n' => Some("\\n"),
            '\t' => Some("\\t"),
            _ => None,
        };
        let may_stand = character >= ' ' && !matches!(character, '"' | '\\');
        match (dice.below(3), short) {
            (0, _) if may_stand => spelled.push(character),
            (1, Some(short)) => spelled.push_str(short),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    spelled.push_str(&match dice.below(2) {
                        0 => format!("\\u{unit:04x}"),
                        _ => format!("\\u{unit:04X}"),
                    });
                }
            }
        }
    }
    spelled + "\""
}
