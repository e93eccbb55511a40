//! The tokens of one line of program text.

use crate::{Error, Result};

/// A reader over one line; every error carries the line's number.
pub(super) struct Line<'a> {
    rest: &'a str,
    number: usize,
}

impl<'a> Line<'a> {
    /// The line without its comment and outer blanks.
    pub(super) fn new(text: &'a str, number: usize) -> Line<'a> {
        let end = text.find(['#', ';']).unwrap_or(text.len());
        Line { rest: text[..end].trim(), number }
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// An error at this line.
    pub(super) fn error(&self, message: impl Into<String>) -> Error {
        Error::Parse { line: self.number, message: message.into() }
    }

    /// "expected `what`, found …"
    pub(super) fn expected(&self, what: &str) -> Error {
        let found: String = self.rest.chars().take(20).collect();
        let found = if found.is_empty() { "the end of the line".to_string() } else { format!("{found:?}") };
        self.error(format!("expected {what}, found {found}"))
    }

    /// Takes `sign` if it comes next.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    /// Takes `sign`, which must come next.
    pub(super) fn expect(&mut self, sign: &str) -> Result<()> {
        if self.take(sign) { Ok(()) } else { Err(self.expected(&format!("{sign:?}"))) }
    }

    /// Whether `sign` comes next.
    pub(super) fn at(&self, sign: &str) -> bool {
        self.rest.starts_with(sign)
    }

    /// A run of letters, digits and `_`.
    pub(super) fn word(&mut self, what: &str) -> Result<&'a str> {
        self.run(what, |c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// A number of any spelling: digits, letters (`nan`, `inf`, `1e5`), signs, points, colons.
    pub(super) fn number_text(&mut self) -> Result<&'a str> {
        self.run("a number", |c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | ':'))
    }

    fn run(&mut self, what: &str, accept: impl Fn(char) -> bool) -> Result<&'a str> {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.expected(what));
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        Ok(word)
    }

    /// An integer with an optional sign.
    pub(super) fn integer<T: std::str::FromStr>(&mut self) -> Result<T> {
        let before = self.rest;
        let text = self.run("an integer", |c| c.is_ascii_digit() || matches!(c, '+' | '-'))?;
        text.parse().map_err(|_| {
            self.rest = before;
            self.error(format!("{text:?} is not an integer in range"))
        })
    }

    /// `(item, item, …)`
    pub(super) fn tuple<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect("(")?;
        let mut items = Vec::new();
        while !self.take(")") {
            if !items.is_empty() {
                self.expect(",")?;
                if self.take(")") {
                    break;
                }
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Checks that nothing is left.
    pub(super) fn end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }
}
