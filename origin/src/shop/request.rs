//! What a customer asks for: the parser of `POST /orders` bodies, which names the field to blame.

use serde_json::Value;

use crate::id::Id;
use crate::problem::Problem;

const MAX_LINES: usize = 20;
const MAX_QUANTITY: i64 = 99;
/// The bytes of the column.
const MOST_SKU: usize = 64;

/// A well-formed order. The parser is the only constructor.
pub(super) struct OrderRequest {
    pub(super) cart: Vec<Line>,
    pub(super) pay: Pay,
    pub(super) email: String,
}

/// How an order is paid.
pub(super) enum Pay {
    /// At once, with this card.
    Card(Card),
    /// Later: the payment provider calls back.
    Later,
}

pub(super) struct Line {
    pub(super) sku: String,
    pub(super) quantity: i64,
}

/// A card's number, digits only. It is never stored and never shown.
pub(super) struct Card(String);

impl OrderRequest {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Problem> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| invalid("", &format!("is not JSON: {error}")))?;
        Ok(Self {
            cart: parse_cart(&body["cart"])?,
            pay: Pay::parse(&body)?,
            email: parse_email(&body["email"])?,
        })
    }
}

impl Pay {
    fn parse(body: &Value) -> Result<Self, Problem> {
        match &body["pay"] {
            Value::Null => Card::parse(&body["card"]).map(Self::Card),
            Value::String(when) if when == "later" => Ok(Self::Later),
            _ => Err(invalid("pay", "must be \"later\", or left out")),
        }
    }
}

impl Card {
    fn parse(card: &Value) -> Result<Self, Problem> {
        let number = text(&card["number"], "card.number")?.replace([' ', '-'], "");
        if !is_card_number(&number) {
            return Err(invalid("card.number", "must have 12 to 19 digits"));
        }
        let is_month = |month: &str| matches!(month.parse(), Ok(1..=12_u8));
        match text(&card["expiry"], "card.expiry")?.split_once('/') {
            Some((month, year))
                if [month, year]
                    .iter()
                    .all(|part| part.len() == 2 && is_digits(part))
                    && is_month(month) => {}
            _ => {
                return Err(invalid(
                    "card.expiry",
                    "must be a month and a year, as in 12/30",
                ));
            }
        }
        let cvc = text(&card["cvc"], "card.cvc")?;
        if !(3..=4).contains(&cvc.len()) || !is_digits(cvc) {
            return Err(invalid("card.cvc", "must have 3 or 4 digits"));
        }
        Ok(Self(number))
    }

    pub(super) fn number(&self) -> &str {
        &self.0
    }

    pub(super) fn last4(&self) -> &str {
        &self.0[self.0.len() - 4..]
    }
}

/// The refusal of a body that makes no order. An empty `field` is the body itself.
pub(super) fn invalid(field: impl Into<String>, what: &str) -> Problem {
    let field = field.into();
    let subject = if field.is_empty() { "The body" } else { &field };
    let detail = format!("{subject} {what}. Nothing was ordered or charged.");
    Problem::new(422, "order_invalid", "This is not a valid order", detail).in_field(field)
}

fn parse_cart(cart: &Value) -> Result<Vec<Line>, Problem> {
    let lines = cart
        .as_array()
        .ok_or_else(|| invalid("cart", "must be a list"))?;
    if !(1..=MAX_LINES).contains(&lines.len()) {
        return Err(invalid(
            "cart",
            &format!("must have 1 to {MAX_LINES} lines"),
        ));
    }
    lines.iter().enumerate().map(parse_line).collect()
}

fn parse_line((index, line): (usize, &Value)) -> Result<Line, Problem> {
    let quantity = line["quantity"]
        .as_i64()
        .filter(|count| (1..=MAX_QUANTITY).contains(count));
    let field = format!("cart[{index}].quantity");
    Ok(Line {
        sku: sku(&line["sku"], &format!("cart[{index}].sku"))?,
        quantity: quantity.ok_or_else(|| {
            invalid(
                field,
                &format!("must be a whole number from 1 to {MAX_QUANTITY}"),
            )
        })?,
    })
}

fn sku(value: &Value, field: &str) -> Result<String, Problem> {
    let sku = Id::parse_up_to(text(value, field)?, MOST_SKU);
    sku.map(|sku| sku.as_str().to_owned())
        .map_err(|error| invalid(field, &format!("is not in the catalogue: {error}")))
}

fn parse_email(email: &Value) -> Result<String, Problem> {
    let email = text(email, "email")?;
    let is_address = |(name, host): (&str, &str)| {
        !name.is_empty() && !host.is_empty() && !host.contains('@') && email.len() <= 254
    };
    let is_plain = !email.contains(|c: char| c.is_whitespace() || c.is_control());
    match email.split_once('@').is_some_and(is_address) && is_plain {
        true => Ok(email.to_owned()),
        false => Err(invalid("email", "must be an e-mail address")),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str, Problem> {
    value
        .as_str()
        .ok_or_else(|| invalid(field, "must be a text"))
}

/// Whether a text is what a card has for a number, without spaces.
pub(crate) fn is_card_number(text: &str) -> bool {
    (12..=19).contains(&text.len()) && is_digits(text)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order() -> Value {
        json!({
            "cart": [{"sku": "mug", "quantity": 1}],
            "card": {"number": "4242 4242 4242 4242", "expiry": "12/30", "cvc": "123"},
            "email": "a@b.c",
        })
    }

    #[track_caller]
    fn refuses(pointer: &str, value: Value, detail: &str) {
        let mut body = order();
        *body.pointer_mut(pointer).unwrap() = value;
        let problem = OrderRequest::parse(body.to_string().as_bytes())
            .err()
            .unwrap();
        let answer: Value = serde_json::from_slice(&problem.to_answer().body).unwrap();
        assert_eq!(
            answer["detail"],
            format!("{detail}. Nothing was ordered or charged.")
        );
    }

    #[test]
    fn an_order_is_read() {
        let request = OrderRequest::parse(order().to_string().as_bytes())
            .ok()
            .unwrap();
        assert_eq!(
            (request.cart[0].sku.as_str(), request.cart[0].quantity),
            ("mug", 1)
        );
        let Pay::Card(card) = &request.pay else {
            panic!("it is paid at once");
        };
        assert_eq!((card.number(), card.last4()), ("4242424242424242", "4242"));
        assert_eq!(request.email, "a@b.c");
    }

    #[test]
    fn an_invalid_order_is_refused_with_its_field() {
        refuses("", json!(7), "cart must be a list");
        refuses("/cart", json!([]), "cart must have 1 to 20 lines");
        refuses("/cart/0", json!("mug"), "cart[0].sku must be a text");
        for quantity in [
            json!(0),
            json!(100),
            json!(1.5),
            json!("1"),
            json!(u64::MAX),
            json!(null),
        ] {
            refuses(
                "/cart/0/quantity",
                quantity,
                "cart[0].quantity must be a whole number from 1 to 99",
            );
        }
        for number in ["4242", "4242 4242 4242 424x", "４２４２４２４２４２４２"] {
            refuses(
                "/card/number",
                json!(number),
                "card.number must have 12 to 19 digits",
            );
        }
        for expiry in ["13/30", "00/30", "1/30", "+1/30", "12-30", "12/2030"] {
            refuses(
                "/card/expiry",
                json!(expiry),
                "card.expiry must be a month and a year, as in 12/30",
            );
        }
        refuses("/card/cvc", json!("12"), "card.cvc must have 3 or 4 digits");
        let long = format!("{}@b.c", "a".repeat(251));
        for email in ["a", "@b", "a@", "a@b@c", "a b@c", "a@b\n", &long] {
            refuses("/email", json!(email), "email must be an e-mail address");
        }
        refuses(
            "/cart/0/sku",
            json!("x".repeat(65)),
            "cart[0].sku is not in the catalogue: it has 65 bytes, and 64 is the most",
        );
    }

    #[test]
    fn an_order_that_is_paid_later_needs_no_card() {
        let mut body = order();
        body["pay"] = json!("later");
        body["card"] = Value::Null;
        let request = OrderRequest::parse(body.to_string().as_bytes());
        assert!(matches!(request.ok().unwrap().pay, Pay::Later));
        body["pay"] = json!("never");
        assert!(OrderRequest::parse(body.to_string().as_bytes()).is_err());
    }

    #[test]
    fn a_body_that_is_not_json_is_refused() {
        let problem = OrderRequest::parse(b"{").err().unwrap();
        let answer = String::from_utf8(problem.to_answer().body).unwrap();
        assert!(answer.contains("The body is not JSON: EOF"), "{answer}");
    }
}
