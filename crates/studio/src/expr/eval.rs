//! The value of a tree. Whole numbers stay whole where the result is whole: `64 / 2` is 32, `7 / 2`
//! is 3.5.

use super::{Function, Tree};
use crate::value::Value;
use std::cmp::Ordering;

type Of<'a> = &'a mut dyn FnMut(&str) -> Result<Value, String>;

impl Tree {
    pub(super) fn value(&self, of: Of<'_>) -> Result<Value, String> {
        match self {
            Tree::Literal(value) => Ok(value.clone()),
            Tree::Name(name) => of(name),
            Tree::Unary("not", inner) => Ok(Value::Switch(!switch("not", inner.value(of)?)?)),
            Tree::Unary(_, inner) => arithmetic("-", &Value::Whole(0), &inner.value(of)?),
            Tree::Binary(..) => {
                // A chain of operators is as deep on its left as it is long, and is taken without recursion.
                let (mut chain, mut first) = (Vec::new(), self);
                while let Tree::Binary(name, a, b) = first {
                    chain.push((*name, b));
                    first = a;
                }
                let first = first.value(of)?;
                chain.into_iter().rev().try_fold(first, |a, (name, b)| binary(name, a, b, of))
            }
            Tree::Call(Function::If, parts) => {
                let which = if switch("if", parts[0].value(of)?)? { 1 } else { 2 };
                parts[which].value(of)
            }
            Tree::Call(function, parts) => {
                let values = parts.iter().map(|part| part.value(of)).collect::<Result<Vec<_>, _>>()?;
                call(*function, values)
            }
        }
    }
}

fn binary(name: &str, a: Value, b: &Tree, of: Of<'_>) -> Result<Value, String> {
    if let "and" | "or" = name {
        // The right side is not looked at where the left one decides.
        return match switch(name, a)? {
            left if left == (name == "or") => Ok(Value::Switch(left)),
            _ => Ok(Value::Switch(switch(name, b.value(of)?)?)),
        };
    }
    let b = b.value(of)?;
    match name {
        "==" => Ok(Value::Switch(equal(&a, &b))),
        "!=" => Ok(Value::Switch(!equal(&a, &b))),
        "<" | "<=" | ">" | ">=" => compare(name, &a, &b),
        _ => arithmetic(name, &a, &b),
    }
}

fn switch(name: &str, value: Value) -> Result<bool, String> {
    match value {
        Value::Switch(on) => Ok(on),
        other => Err(format!("`{name}` takes true or false; `{other}` is neither")),
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a.number(), b.number()) {
        (Some(x), Some(y)) => x == y,
        _ => a == b,
    }
}

fn compare(name: &str, a: &Value, b: &Value) -> Result<Value, String> {
    let order = match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (a, b) => a.number().zip(b.number()).and_then(|(a, b)| a.partial_cmp(&b)),
    };
    let order = order.ok_or_else(|| format!("`{a}` and `{b}` cannot be compared"))?;
    Ok(Value::Switch(match name {
        "<" => order == Ordering::Less,
        "<=" => order != Ordering::Greater,
        ">" => order == Ordering::Greater,
        _ => order != Ordering::Less,
    }))
}

fn finite(x: f64) -> Result<Value, String> {
    if x.is_finite() { Ok(Value::Number(x)) } else { Err("the result is no number".to_owned()) }
}

fn number(name: &str, value: &Value) -> Result<f64, String> {
    value.number().ok_or_else(|| format!("`{name}` takes numbers; `{value}` is none"))
}

fn arithmetic(name: &str, a: &Value, b: &Value) -> Result<Value, String> {
    let (x, y) = (number(name, a)?, number(name, b)?);
    if y == 0.0 && matches!(name, "/" | "%") {
        return Err("division by 0".to_owned());
    }
    if let (Value::Whole(a), Value::Whole(b)) = (a, b) {
        let whole = match name {
            "+" => a.checked_add(*b),
            "-" => a.checked_sub(*b),
            "*" => a.checked_mul(*b),
            "%" => a.checked_rem(*b),
            "/" if a.checked_rem(*b) == Some(0) => a.checked_div(*b),
            "/" => return finite(x / y),
            _ if *b < 0 => return finite(x.powf(y)),
            _ => u32::try_from(*b).ok().and_then(|b| a.checked_pow(b)),
        };
        return whole.map(Value::Whole).ok_or_else(|| "the result is too large".to_owned());
    }
    finite(match name {
        "+" => x + y,
        "-" => x - y,
        "*" => x * y,
        "%" => x % y,
        "/" => x / y,
        _ => x.powf(y),
    })
}

fn call(function: Function, values: Vec<Value>) -> Result<Value, String> {
    let name = Function::ALL.iter().find(|(_, known)| *known == function).map_or("", |(name, _)| name);
    let numbers = values.iter().map(|value| number(name, value)).collect::<Result<Vec<f64>, _>>()?;
    let x = numbers[0];
    let best = |wanted: Ordering| {
        let better = |a: &usize, b: &usize| if numbers[*b].total_cmp(&numbers[*a]) == wanted { *b } else { *a };
        let best = (1..numbers.len()).fold(0, |a, b| better(&a, &b));
        values[best].clone()
    };
    match function {
        Function::Min => Ok(best(Ordering::Less)),
        Function::Max => Ok(best(Ordering::Greater)),
        Function::Floor => whole(x.floor()),
        Function::Ceil => whole(x.ceil()),
        Function::Round => whole(x.round()),
        Function::Abs => match values[0] {
            Value::Whole(n) => n.checked_abs().map(Value::Whole).ok_or_else(|| "the result is too large".to_owned()),
            _ => finite(x.abs()),
        },
        Function::Sqrt => finite(x.sqrt()),
        Function::Log2 => finite(x.log2()),
        Function::If => unreachable!("evaluated before its values are"),
    }
}

fn whole(x: f64) -> Result<Value, String> {
    // Every whole number of at most 2^53 has a double of its own.
    if x.abs() <= 9_007_199_254_740_992.0 {
        Ok(Value::Whole(x as i64))
    } else {
        Err("the result is too large".to_owned())
    }
}
