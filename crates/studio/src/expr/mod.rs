//! Expressions over the values of a point: `core.count / 2`, `lock != 'tas' or threads <= 16`.
//!
//! | file | holds |
//! | --- | --- |
//! | `lex` | from text to words |
//! | `parse` | from words to a tree |
//! | `eval` | the value of a tree |

mod eval;
mod lex;
mod parse;

use crate::value::Value;
use std::fmt;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    text: String,
    tree: Tree,
}

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Literal(Value),
    Name(String),
    Unary(&'static str, Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
    Call(Function, Vec<Tree>),
}

/// A function of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Min,
    Max,
    Floor,
    Ceil,
    Round,
    Abs,
    Sqrt,
    Log2,
    If,
}

impl Function {
    const ALL: [(&'static str, Function); 9] = [
        ("min", Function::Min),
        ("max", Function::Max),
        ("floor", Function::Floor),
        ("ceil", Function::Ceil),
        ("round", Function::Round),
        ("abs", Function::Abs),
        ("sqrt", Function::Sqrt),
        ("log2", Function::Log2),
        ("if", Function::If),
    ];
}

/// What is wrong with the text of an expression, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of characters before the fault.
    pub at: usize,
    /// What is wrong.
    pub what: String,
}

impl Fault {
    fn new(at: usize, what: impl Into<String>) -> Fault {
        Fault { at, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (character {})", self.what, self.at + 1)
    }
}

impl Expr {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong with the text, and where.
    pub fn parse(text: &str) -> Result<Expr, Fault> {
        // The parser counts bytes.
        let tree = parse::tree(text).map_err(|Fault { at, what }| Fault::new(text[..at].chars().count(), what))?;
        Ok(Expr { text: text.to_owned(), tree })
    }

    /// The text of the expression.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in the expression, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut all = Vec::new();
        self.tree.names(&mut all);
        all
    }

    /// Whether the value may be a number with a fraction if each name stands for a whole number.
    pub fn may_have_fraction(&self) -> bool {
        self.tree.may_have_fraction()
    }

    /// The value, with the values of names from `of`.
    ///
    /// # Errors
    /// A name without a value, or values that an operator does not take.
    pub fn value(&self, of: &mut dyn FnMut(&str) -> Result<Value, String>) -> Result<Value, String> {
        self.tree.value(of).map_err(|why| format!("`{}`: {why}", self.text))
    }

    /// Whether the expression holds.
    ///
    /// # Errors
    /// As [`Expr::value`]; or the value is neither true nor false.
    pub fn holds(&self, of: &mut dyn FnMut(&str) -> Result<Value, String>) -> Result<bool, String> {
        match self.value(of)? {
            Value::Switch(holds) => Ok(holds),
            other => Err(format!("`{}` is {other}; expected true or false", self.text)),
        }
    }
}

impl Tree {
    fn may_have_fraction(&self) -> bool {
        match self {
            Tree::Literal(value) => matches!(value, Value::Number(_)),
            Tree::Name(_) => false,
            Tree::Unary(_, of) => of.may_have_fraction(),
            Tree::Binary("/" | "**", ..) => true,
            Tree::Binary("+" | "-" | "*" | "%", a, b) => a.may_have_fraction() || b.may_have_fraction(),
            Tree::Binary(..) => false,
            Tree::Call(Function::Floor | Function::Ceil | Function::Round, _) => false,
            Tree::Call(Function::Sqrt | Function::Log2, _) => true,
            Tree::Call(_, of) => of.iter().any(Tree::may_have_fraction),
        }
    }

    fn names<'a>(&'a self, all: &mut Vec<&'a str>) {
        match self {
            Tree::Literal(_) => {}
            Tree::Name(name) if all.contains(&name.as_str()) => {}
            Tree::Name(name) => all.push(name),
            Tree::Unary(_, of) => of.names(all),
            Tree::Binary(_, a, b) => [a, b].into_iter().for_each(|of| of.names(all)),
            Tree::Call(_, of) => of.iter().for_each(|of| of.names(all)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<String, String> {
        let expr = Expr::parse(text).map_err(|fault| fault.to_string())?;
        let of = |name: &str| match name {
            "core.count" => Ok(Value::Whole(64)),
            "one-write-in" => Ok(Value::Whole(100)),
            "lock" => Ok(Value::Text("mcs".into())),
            "share" => Ok(Value::Number(0.25)),
            "pin" => Ok(Value::Switch(true)),
            _ => Err(format!("unknown name `{name}`")),
        };
        expr.value(&mut { of }).map(|value| format!("{value:?}"))
    }

    #[test]
    fn operators_bind_as_in_other_languages() {
        for (text, whole) in [
            ("2 + 3 * 4", 14),
            ("(2 + 3) * 4", 20),
            ("2 ** 3 ** 2", 512),
            ("-2 ** 2", -4),
            ("7 - 2 - 1", 4),
            ("7 % 4", 3),
            ("core.count / 2", 32),
            ("core.count-1", 63),
            ("one-write-in - 1", 99),
            ("max(2, core.count, 3)", 64),
            ("if(lock == 'mcs', 1, 2)", 1),
            ("floor(7 / 2)", 3),
            ("log2(core.count) * 1", 6),
        ] {
            let whole = if text.contains("log2") { format!("Number({whole}.0)") } else { format!("Whole({whole})") };
            assert_eq!(value(text), Ok(whole), "{text}");
        }
        assert_eq!(value("7 / 2"), Ok("Number(3.5)".into()));
        assert_eq!(value("share * 2"), Ok("Number(0.5)".into()));
    }

    #[test]
    fn conditions_hold_or_do_not() {
        for (text, holds) in [
            ("lock != 'tas' or core.count < 2", true),
            ("lock == \"tas\" and unknown > 3", false),
            ("not pin", false),
            ("1 < 2 and 2 <= 2 and 3 >= 3.0 and 3 == 3.0", true),
            ("pin == true", true),
            ("'a' < 'b'", true),
        ] {
            assert_eq!(value(text), Ok(format!("Switch({holds})")), "{text}");
        }
    }

    #[test]
    fn a_fault_names_its_place() {
        for (text, said) in [
            ("", "expected a value (character 1)"),
            ("2 +", "expected a value (character 4)"),
            ("(2", "expected `)` (character 3)"),
            ("2 3", "expected an operator (character 3)"),
            ("'a", "no closing ' (character 1)"),
            ("a & b", "`&` means nothing here (character 3)"),
            ("'é' & b", "`&` means nothing here (character 5)"),
            ("'é' +", "expected a value (character 6)"),
            (
                "sine(2)",
                "unknown function `sine`; expected one of min, max, floor, ceil, round, abs, sqrt, log2, if (character 1)",
            ),
            ("min()", "`min` takes one value or more (character 1)"),
            ("if(1)", "`if` takes 3 values (character 1)"),
            ("3x", "`3x` is no number (character 1)"),
            ("a < b < c", "comparisons cannot be chained; write `a < b and b < c` (character 7)"),
        ] {
            assert_eq!(value(text), Err(said.to_owned()), "{text}");
        }
        assert_eq!(Expr::parse(&"(".repeat(2000)).unwrap_err().what, "nested more than 100 deep");
        // Without optimisation a level takes some KiB of stack, and a thread of a test has 2 MiB.
        let deep = format!("{}1{}", "(".repeat(98), ")".repeat(98));
        assert_eq!(value(&deep), Ok("Whole(1)".into()));
        assert_eq!(value(&format!("true{}", " and true".repeat(1000))), Ok("Switch(true)".into()));
        assert_eq!(value(&format!("1{}", " + 1".repeat(1000))), Ok("Whole(1001)".into()));
        let long = format!("1{}", " + 1".repeat(1001));
        assert_eq!(Expr::parse(&long).unwrap_err().what, "expected at most 1000 operators");
    }

    #[test]
    fn values_that_do_not_fit_are_told() {
        for (text, said) in [
            ("lock + 1", "`lock + 1`: `+` takes numbers; `mcs` is none"),
            ("1 / 0", "`1 / 0`: division by 0"),
            ("7 % 0", "`7 % 0`: division by 0"),
            ("9223372036854775807 + 1", "`9223372036854775807 + 1`: the result is too large"),
            ("1 and pin", "`1 and pin`: `and` takes true or false; `1` is neither"),
            ("lock < 2", "`lock < 2`: `mcs` and `2` cannot be compared"),
            ("other", "`other`: unknown name `other`"),
        ] {
            assert_eq!(value(text), Err(said.to_owned()), "{text}");
        }
    }
}
