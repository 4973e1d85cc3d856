//! From words to a tree, by precedence climbing.

use super::lex::{Word, words};
use super::{Fault, Function, Tree};
use crate::value::Value;

/// How deep brackets and operators may be nested.
const DEEPEST: usize = 100;
/// The most binary operators of an expression: a chain of them is a tree as deep as the chain is
/// long.
const MOST: usize = 1000;

/// Binary operators, each with the strength with which it binds, weakest first.
const BINARY: [(&str, u8); 14] = [
    ("or", 1),
    ("and", 2),
    ("==", 4),
    ("!=", 4),
    ("<=", 4),
    (">=", 4),
    ("<", 4),
    (">", 4),
    ("+", 5),
    ("-", 5),
    ("*", 6),
    ("/", 6),
    ("%", 6),
    ("**", 8),
];
const NOT: u8 = 3;
const COMPARISON: u8 = 4;
const MINUS: u8 = 7;
const POWER: u8 = 8;

/// Reads a whole text. The place of an error counts bytes.
pub(super) fn tree(text: &str) -> Result<Tree, Fault> {
    let mut parser = Parser { words: words(text)?, next: 0, end: text.len(), depth: 0, operators: 0 };
    let tree = parser.binary(0)?;
    match parser.peek() {
        None => Ok(tree),
        Some(_) => Err(parser.fault("expected an operator")),
    }
}

struct Parser {
    words: Vec<(Word, usize)>,
    next: usize,
    /// Where the text ends.
    end: usize,
    depth: usize,
    /// Binary operators that were read so far.
    operators: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.next).map(|(word, _)| word)
    }

    fn place(&self) -> usize {
        self.words.get(self.next).map_or(self.end, |(_, at)| *at)
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.place(), what)
    }

    /// Steps over `sign` if it is the next word. Returns whether it was.
    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(), Some(Word::Sign(next)) if *next == sign);
        self.next += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.takes(sign) { Ok(()) } else { Err(self.fault(format!("expected `{sign}`"))) }
    }

    /// The operator that comes next, with its strength.
    fn operator(&self) -> Option<(&'static str, u8)> {
        let next = match self.peek()? {
            Word::Sign(sign) => sign,
            Word::Name(name) => name.as_str(),
            Word::Literal(_) => return None,
        };
        BINARY.iter().find(|(name, _)| *name == next).copied()
    }

    /// Values joined by operators that bind at least as strongly as `least`.
    fn binary(&mut self, least: u8) -> Result<Tree, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.fault(format!("nested more than {DEEPEST} deep")));
        }
        let mut left = self.unary()?;
        let mut compared = false;
        while let Some((name, strength)) = self.operator().filter(|(_, strength)| *strength >= least) {
            if strength == COMPARISON && compared {
                return Err(self.fault("comparisons cannot be chained; write `a < b and b < c`"));
            }
            compared = strength == COMPARISON;
            self.operators += 1;
            if self.operators > MOST {
                return Err(self.fault(format!("expected at most {MOST} operators")));
            }
            self.next += 1;
            // `2 ** 3 ** 2` is `2 ** 9`; all other operators are taken from the left.
            let right = self.binary(if strength == POWER { strength } else { strength + 1 })?;
            left = Tree::Binary(name, Box::new(left), Box::new(right));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Tree, Fault> {
        if self.takes("-") {
            return Ok(Tree::Unary("-", Box::new(self.binary(MINUS)?)));
        }
        let at = self.place();
        let word = self.peek().cloned();
        self.next += 1;
        match word {
            Some(Word::Literal(value)) => Ok(Tree::Literal(value)),
            Some(Word::Name(name)) => match name.as_str() {
                "not" => Ok(Tree::Unary("not", Box::new(self.binary(NOT)?))),
                "true" => Ok(Tree::Literal(Value::Switch(true))),
                "false" => Ok(Tree::Literal(Value::Switch(false))),
                _ if self.takes("(") => self.call(&name, at),
                _ => Ok(Tree::Name(name)),
            },
            Some(Word::Sign("(")) => {
                let inner = self.binary(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            _ => {
                self.next -= 1;
                Err(self.fault("expected a value"))
            }
        }
    }

    /// Reads the values of a call of `name`, whose opening bracket was read, up to the closing one.
    fn call(&mut self, name: &str, at: usize) -> Result<Tree, Fault> {
        let Some((_, function)) = Function::ALL.into_iter().find(|(known, _)| *known == name) else {
            let known = Function::ALL.map(|(name, _)| name).join(", ");
            return Err(Fault::new(at, format!("unknown function `{name}`; expected one of {known}")));
        };
        let mut values = Vec::new();
        while !self.takes(")") {
            if !values.is_empty() {
                self.expect(",")?;
            }
            values.push(self.binary(0)?);
        }
        let wrong = match function {
            Function::Min | Function::Max => values.is_empty().then_some("one value or more"),
            Function::If => (values.len() != 3).then_some("3 values"),
            _ => (values.len() != 1).then_some("one value"),
        };
        match wrong {
            Some(takes) => Err(Fault::new(at, format!("`{name}` takes {takes}"))),
            None => Ok(Tree::Call(function, values)),
        }
    }
}
