//! The question of a test: a quantifier and a proposition over final registers and memory.
//!
//! ```text
//! exists (0:rax=0 /\ (x=1 \/ not (1:rbx=2)))
//! ```
//! `not` and `~` bind tightest, then `/\`, then `\/`, then `=>`.

use super::instruction::{self, Width};

/// What a condition asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantifier {
    /// Asks whether a state for which the proposition holds can be seen.
    #[default]
    Exists,
    /// Asks the same as `exists`; the author expects that there is no such state.
    NotExists,
    /// Asks whether the proposition holds in every state.
    Forall,
}

/// A condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// What the condition asks.
    pub quantifier: Quantifier,
    /// The proposition over the final state.
    pub proposition: Proposition,
}

/// A register or a location, which has a value in the final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observable {
    /// A thread's register.
    Register {
        /// The number of the thread.
        thread: usize,
        /// The register's number.
        register: usize,
        /// The part of the register.
        width: Width,
    },
    /// The number of a memory location.
    Location(usize),
}

/// A proposition over a final state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposition {
    /// `true` or `false`.
    Constant(bool),
    /// `x=1`.
    Equals(Observable, u64),
    /// `x=y`.
    Same(Observable, Observable),
    /// `not p`.
    Not(Box<Proposition>),
    /// `p /\ q`, any number of them.
    All(Vec<Proposition>),
    /// `p \/ q`, any number of them.
    Any(Vec<Proposition>),
}

impl Default for Proposition {
    fn default() -> Self {
        Proposition::Constant(true)
    }
}

impl Proposition {
    /// Whether the proposition holds if observables have the values that `value` gives.
    pub fn holds(&self, value: &impl Fn(&Observable) -> u64) -> bool {
        match self {
            Proposition::Constant(constant) => *constant,
            Proposition::Equals(observable, expected) => value(observable) == *expected,
            Proposition::Same(left, right) => value(left) == value(right),
            Proposition::Not(inner) => !inner.holds(value),
            Proposition::All(parts) => parts.iter().all(|part| part.holds(value)),
            Proposition::Any(parts) => parts.iter().any(|part| part.holds(value)),
        }
    }

    /// Puts every observable that the proposition names into `into`.
    pub fn collect(&self, into: &mut Vec<Observable>) {
        match self {
            Proposition::Constant(_) => {}
            Proposition::Equals(observable, _) => into.push(*observable),
            Proposition::Same(left, right) => into.extend([*left, *right]),
            Proposition::Not(inner) => inner.collect(into),
            Proposition::All(parts) | Proposition::Any(parts) => parts.iter().for_each(|part| part.collect(into)),
        }
    }
}

/// Largest depth of parentheses and of `=>` behind `=>`: bounds the recursion.
const DEEPEST: usize = 200;

/// Reads propositions from text. `names` finds a location's number and width.
pub(super) struct Reader<'a, F> {
    rest: &'a str,
    depth: usize,
    threads: usize,
    names: F,
}

impl<'a, F: Fn(&str) -> Option<(usize, Width)>> Reader<'a, F> {
    pub(super) fn new(text: &'a str, threads: usize, names: F) -> Self {
        Reader { rest: text, depth: 0, threads, names }
    }

    /// The whole text as one proposition.
    pub(super) fn whole(mut self) -> Result<Proposition, String> {
        let proposition = self.implication()?;
        self.skip();
        match self.rest {
            "" => Ok(proposition),
            rest => Err(format!("`{}` is left over after the condition", first_words(rest))),
        }
    }

    /// The whole text as a list of observables, as in `[x; 0:rax;]`.
    pub(super) fn list(mut self) -> Result<Vec<Observable>, String> {
        let mut found = Vec::new();
        if !self.eat("[") {
            return Err("expected `[` after `locations`".into());
        }
        loop {
            while self.eat(";") {}
            if self.eat("]") {
                return Ok(found);
            }
            found.push(self.observable()?.0);
        }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        let found = self.rest.strip_prefix(token);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn word(&mut self) -> &'a str {
        self.skip();
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%' | '-');
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn implication(&mut self) -> Result<Proposition, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("more than {DEEPEST} levels of parentheses"));
        }
        let left = self.any()?;
        let read = if self.eat("=>") {
            Proposition::Any(vec![Proposition::Not(Box::new(left)), self.implication()?])
        } else {
            left
        };
        self.depth -= 1;
        Ok(read)
    }

    fn any(&mut self) -> Result<Proposition, String> {
        let mut parts = vec![self.all()?];
        while self.eat("\\/") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Proposition::Any(parts) })
    }

    fn all(&mut self) -> Result<Proposition, String> {
        let mut parts = vec![self.factor()?];
        while self.eat("/\\") {
            parts.push(self.factor()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Proposition::All(parts) })
    }

    fn factor(&mut self) -> Result<Proposition, String> {
        let mut negated = false;
        loop {
            self.skip();
            let word = self.rest.strip_prefix("not").filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()));
            match word.or_else(|| self.rest.strip_prefix('~')) {
                Some(rest) => (self.rest, negated) = (rest, !negated),
                None => break,
            }
        }
        let inner = if self.eat("(") {
            let inner = self.implication()?;
            if !self.eat(")") {
                return Err(format!("expected `)` before `{}`", first_words(self.rest)));
            }
            inner
        } else {
            self.atom()?
        };
        Ok(if negated { Proposition::Not(Box::new(inner)) } else { inner })
    }

    fn atom(&mut self) -> Result<Proposition, String> {
        for (name, constant) in [("true", true), ("false", false)] {
            let rest = self.rest.strip_prefix(name);
            if let Some(rest) = rest.filter(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '=')) {
                self.rest = rest;
                return Ok(Proposition::Constant(constant));
            }
        }
        let (observable, width) = self.observable()?;
        let negated = self.eat("<>") || self.eat("!=");
        if !negated && !self.eat("=") {
            return Err(format!("expected `=` before `{}`", first_words(self.rest)));
        }
        self.skip();
        let number = self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let register = self.rest.find(':').is_some_and(|at| self.rest[..at].bytes().all(|c| c.is_ascii_digit()));
        let equal = if number && !register {
            let word = self.word();
            let value = instruction::number(word).ok_or_else(|| format!("`{word}` is no number"))?;
            Proposition::Equals(observable, width.low(value))
        } else {
            Proposition::Same(observable, self.observable()?.0)
        };
        Ok(if negated { Proposition::Not(Box::new(equal)) } else { equal })
    }

    fn observable(&mut self) -> Result<(Observable, Width), String> {
        let bracket = self.eat("[");
        let word = self.word();
        if word.is_empty() {
            return Err(match self.rest {
                "" => "the condition ends too early".into(),
                rest => format!("expected a register (`0:rax`) or a location before `{}`", first_words(rest)),
            });
        }
        let found = if !bracket && self.eat(":") {
            let name = self.word();
            let thread = word.parse::<usize>().ok().filter(|&thread| thread < self.threads);
            let thread = thread.ok_or_else(|| format!("there is no thread `{word}` (threads: {})", self.threads))?;
            let (register, width) = instruction::register(name).ok_or_else(|| instruction::no_register(name))?;
            (Observable::Register { thread, register, width }, width)
        } else {
            let (at, width) = (self.names)(word).ok_or_else(|| format!("`{word}` is no location of this test"))?;
            (Observable::Location(at), width)
        };
        if bracket && !self.eat("]") {
            return Err("expected `]`".into());
        }
        Ok(found)
    }
}

fn first_words(text: &str) -> String {
    text.trim_start().chars().take(20).collect::<String>().lines().next().unwrap_or("").into()
}
