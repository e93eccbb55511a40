//! The syntax tree of a loop, and its parser. It has Python's statements and expressions, with names resolved.
//!
//! In: the text that the Python package writes (`numelt._jit.lower`), as S-expressions. Out: a [`Unit`] or a
//! [`Callee`]. Not here: the meaning of constructs.

/// A loop statement with everything in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The name of the function that contains it.
    pub name: String,
    /// The local variables that it uses. The tree refers to them by position.
    pub slots: Vec<String>,
    /// The slots that it may assign.
    pub assigned: Vec<usize>,
    /// The names that it reads from outside: globals and builtins.
    pub inputs: Vec<String>,
    /// The loop.
    pub body: Stmt,
    /// Does the code take over at the beginning of an iteration? CPython has evaluated the test of a `while` loop then.
    pub is_resumed: bool,
    /// May called functions have no effects? What they have done could be done again then.
    pub is_pure: bool,
}

/// A function that a loop calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Callee {
    /// Its name.
    pub name: String,
    /// Its local variables.
    pub slots: Vec<String>,
    /// The slots of its parameters.
    pub params: Vec<usize>,
    /// The defaults of the last parameters.
    pub defaults: Vec<Expr>,
    /// The slot of the tuple of further positional arguments (`*args`), if there is one.
    pub rest: Option<usize>,
    /// The slots of its keyword-only parameters, each with its default.
    pub keywords: Vec<(usize, Expr)>,
    /// The names that it reads from outside, including variables of enclosing functions.
    pub inputs: Vec<String>,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Stmt {
    /// The number by which an exit refers to it.
    pub number: u32,
    /// The line in the user's file.
    pub line: u32,
    /// Its kind, with its parts.
    pub kind: StmtKind,
}

/// The kinds of statements. `end` is the number that an exit at the end of an iteration returns.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // Python's
pub enum StmtKind {
    For {
        end: u32,
        target: Target,
        iter: Expr,
        body: Vec<Stmt>,
    },
    While {
        end: u32,
        test: Expr,
        body: Vec<Stmt>,
    },
    If {
        test: Expr,
        body: Vec<Stmt>,
        orelse: Vec<Stmt>,
    },
    Assign {
        targets: Vec<Target>,
        value: Expr,
    },
    Aug {
        op: Operator,
        target: Target,
        value: Expr,
    },
    Expr(Expr),
    Assert(Expr),
    Pass,
    Break,
    Continue,
    Return(Expr),
    /// A statement that is never compiled, with the reason.
    Exit(String),
}

/// The target of an assignment.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Target {
    Slot(usize),
    Tuple(Vec<Target>),
    Index(Expr, Vec<Index>),
    Attr(Expr, String),
}

/// An index: an expression or a slice between brackets.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Index {
    At(Expr),
    Slice(Expr, Expr, Expr),
}

/// Python's binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operator {
    Add,
    Sub,
    Mult,
    Div,
    FloorDiv,
    Mod,
    Pow,
    LShift,
    RShift,
    BitOr,
    BitXor,
    BitAnd,
    MatMult,
}

/// Python's comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Is,
    IsNot,
    In,
    NotIn,
}

/// Python's unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unary {
    Neg,
    Pos,
    Invert,
    Not,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Expr {
    Int(String),
    Float(f64),
    Imaginary(f64),
    Bool(bool),
    None,
    Str(String),
    Slot(usize),
    Input(usize),
    Binary(Operator, Box<Expr>, Box<Expr>),
    Unary(Unary, Box<Expr>),
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    IfExp(Box<Expr>, Box<Expr>, Box<Expr>),
    Tuple(Vec<Expr>),
    List(Vec<Expr>),
    Index(Box<Expr>, Vec<Index>),
    Attr(Box<Expr>, String),
    Call(Box<Expr>, Vec<Expr>, Vec<(String, Expr)>),
    /// `*items` among the arguments of a call.
    Starred(Box<Expr>),
    Unsupported(String),
}

/// An S-expression.
#[derive(Debug, Clone)]
enum Node {
    Word(String),
    Text(String),
    List(Vec<Node>),
}

/// A result, or a message that says why a text is not a tree.
type Parsed<T> = Result<T, String>;

fn wrong<T>(what: &str) -> Parsed<T> {
    Err(format!("not a tree: {what}"))
}

/// Parses a loop.
pub fn parse_unit(text: &str) -> Parsed<Unit> {
    let node = read(text)?;
    let items = node.tagged("unit")?;
    let [name, slots, assigned, inputs, body] = items else { return wrong("a unit") };
    Ok(Unit {
        name: name.text()?,
        slots: texts(slots.tagged("slots")?)?,
        assigned: numbers(assigned.tagged("assigned")?)?,
        inputs: texts(inputs.tagged("inputs")?)?,
        body: body.stmt()?,
        is_resumed: false,
        is_pure: false,
    })
}

/// Parses a function.
pub fn parse_callee(text: &str) -> Parsed<Callee> {
    let node = read(text)?;
    let items = node.tagged("callee")?;
    let [name, slots, params, defaults, rest, keywords, inputs, body] = items else { return wrong("a callee") };
    let keyword = |two: &[Node]| match two {
        [slot, default] => Ok((slot.number()?, default.expr()?)),
        _ => wrong("a keyword-only parameter"),
    };
    Ok(Callee {
        name: name.text()?,
        slots: texts(slots.tagged("slots")?)?,
        params: numbers(params.tagged("params")?)?,
        defaults: defaults.tagged("defaults")?.iter().map(Node::expr).collect::<Parsed<_>>()?,
        rest: numbers(rest.tagged("rest")?)?.first().copied(),
        keywords: keywords.tagged("keywords")?.chunks(2).map(keyword).collect::<Parsed<_>>()?,
        inputs: texts(inputs.tagged("inputs")?)?,
        body: body.stmts()?,
    })
}

fn texts(nodes: &[Node]) -> Parsed<Vec<String>> {
    nodes.iter().map(Node::text).collect()
}

fn numbers(nodes: &[Node]) -> Parsed<Vec<usize>> {
    nodes.iter().map(Node::number).collect()
}

/// Parses the S-expression in a text.
fn read(text: &str) -> Parsed<Node> {
    let mut open: Vec<Vec<Node>> = vec![Vec::new()];
    let mut rest = text.char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        match character {
            '(' => open.push(Vec::new()),
            ')' => {
                let Some(list) = open.pop() else { return wrong("a parenthesis") };
                let Some(outer) = open.last_mut() else { return wrong("a parenthesis") };
                outer.push(Node::List(list));
            }
            '"' => {
                let string = quoted(&mut rest)?;
                open.last_mut().ok_or("a string")?.push(Node::Text(string));
            }
            c if c.is_whitespace() => {}
            _ => {
                let mut end = at + character.len_utf8();
                while let Some(&(next, c)) = rest.peek() {
                    if c.is_whitespace() || matches!(c, '(' | ')' | '"') {
                        break;
                    }
                    end = next + c.len_utf8();
                    rest.next();
                }
                open.last_mut().ok_or("a word")?.push(Node::Word(text[at..end].to_owned()));
            }
        }
    }
    match <[Vec<Node>; 1]>::try_from(open) {
        Ok([mut nodes]) if nodes.len() == 1 => Ok(nodes.remove(0)),
        _ => wrong("its end"),
    }
}

/// Parses the rest of a string with JSON's escapes, after the opening quote.
fn quoted(rest: &mut std::iter::Peekable<std::str::CharIndices>) -> Parsed<String> {
    let mut string = String::new();
    loop {
        match rest.next() {
            None => return wrong("a string without end"),
            Some((_, '"')) => return Ok(string),
            Some((_, '\\')) => match rest.next() {
                Some((_, 'n')) => string.push('\n'),
                Some((_, 't')) => string.push('\t'),
                Some((_, 'u')) => {
                    let digits: String = rest.by_ref().take(4).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16).map_err(|_| "an escape".to_owned())?;
                    string.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                Some((_, c)) => string.push(c),
                None => return wrong("a string without end"),
            },
            Some((_, c)) => string.push(c),
        }
    }
}

impl Node {
    fn list(&self) -> Parsed<&[Node]> {
        match self {
            Node::List(items) => Ok(items),
            _ => wrong("a list was expected"),
        }
    }

    /// The first item of a list, which must be a word, and the others.
    fn head(&self) -> Parsed<(&str, &[Node])> {
        match self.list()? {
            [Node::Word(word), rest @ ..] => Ok((word, rest)),
            _ => wrong("a list begins with a word"),
        }
    }

    fn tagged(&self, tag: &str) -> Parsed<&[Node]> {
        let (word, rest) = self.head()?;
        if word == tag { Ok(rest) } else { wrong(tag) }
    }

    fn text(&self) -> Parsed<String> {
        match self {
            Node::Text(text) => Ok(text.clone()),
            _ => wrong("a string was expected"),
        }
    }

    fn word(&self) -> Parsed<&str> {
        match self {
            Node::Word(word) => Ok(word),
            _ => wrong("a word was expected"),
        }
    }

    fn number<T: std::str::FromStr>(&self) -> Parsed<T> {
        self.word()?.parse().map_err(|_| "not a tree: a number was expected".to_owned())
    }

    fn stmts(&self) -> Parsed<Vec<Stmt>> {
        self.list()?.iter().map(Node::stmt).collect()
    }

    fn stmt(&self) -> Parsed<Stmt> {
        let (word, rest) = self.head()?;
        let Some(first) = rest.first() else { return wrong("a statement") };
        let number = first.number()?;
        let two = matches!(word, "for" | "while" | "if");
        let line = rest.get(if two { 2 } else { 1 }).map_or(Ok(0), Node::number)?;
        let kind = match (word, &rest[1..]) {
            ("for", [end, _, target, iter, body]) => {
                StmtKind::For { end: end.number()?, target: target.target()?, iter: iter.expr()?, body: body.stmts()? }
            }
            ("while", [end, _, test, body]) => {
                StmtKind::While { end: end.number()?, test: test.expr()?, body: body.stmts()? }
            }
            ("if", [_, _, test, body, orelse]) => {
                StmtKind::If { test: test.expr()?, body: body.stmts()?, orelse: orelse.stmts()? }
            }
            ("assign", [_, targets, value]) => StmtKind::Assign {
                targets: targets.list()?.iter().map(Node::target).collect::<Parsed<_>>()?,
                value: value.expr()?,
            },
            ("aug", [_, op, target, value]) => {
                StmtKind::Aug { op: operator(op.word()?)?, target: target.target()?, value: value.expr()? }
            }
            ("expr", [_, value]) => StmtKind::Expr(value.expr()?),
            ("assert", [_, test]) => StmtKind::Assert(test.expr()?),
            ("return", [_, value]) => StmtKind::Return(value.expr()?),
            ("exit", [_, why]) => StmtKind::Exit(why.text()?),
            ("pass", _) => StmtKind::Pass,
            ("break", _) => StmtKind::Break,
            ("continue", _) => StmtKind::Continue,
            _ => return wrong(word),
        };
        Ok(Stmt { number, line, kind })
    }

    fn target(&self) -> Parsed<Target> {
        match self.head()? {
            ("slot", [slot]) => Ok(Target::Slot(slot.number()?)),
            ("tuple", items) => Ok(Target::Tuple(items.iter().map(Node::target).collect::<Parsed<_>>()?)),
            ("index", [base, indices @ ..]) => Ok(Target::Index(base.expr()?, self::indices(indices)?)),
            ("attr", [base, name]) => Ok(Target::Attr(base.expr()?, name.text()?)),
            (word, _) => wrong(word),
        }
    }

    fn boxed(&self) -> Parsed<Box<Expr>> {
        self.expr().map(Box::new)
    }

    fn expr(&self) -> Parsed<Expr> {
        let all = |nodes: &[Node]| nodes.iter().map(Node::expr).collect::<Parsed<Vec<_>>>();
        Ok(match self.head()? {
            ("int", [digits]) => Expr::Int(digits.text()?),
            ("float", [digits]) => Expr::Float(digits.text()?.parse().map_err(|_| "a float".to_owned())?),
            ("complex", [digits]) => Expr::Imaginary(digits.text()?.parse().map_err(|_| "a float".to_owned())?),
            ("bool", [value]) => Expr::Bool(value.word()? == "1"),
            ("none", []) => Expr::None,
            ("str", [text]) => Expr::Str(text.text()?),
            ("slot", [slot]) => Expr::Slot(slot.number()?),
            ("input", [input]) => Expr::Input(input.number()?),
            ("binary", [op, a, b]) => Expr::Binary(operator(op.word()?)?, a.boxed()?, b.boxed()?),
            ("unary", [op, a]) => Expr::Unary(unary(op.word()?)?, a.boxed()?),
            ("compare", [first, rest @ ..]) => {
                let pair = |two: &[Node]| match two {
                    [op, value] => Ok((comparison(op.word()?)?, value.expr()?)),
                    _ => wrong("a comparison"),
                };
                Expr::Compare(first.boxed()?, rest.chunks(2).map(pair).collect::<Parsed<_>>()?)
            }
            ("and", items) => Expr::And(all(items)?),
            ("or", items) => Expr::Or(all(items)?),
            ("ifexp", [test, a, b]) => Expr::IfExp(test.boxed()?, a.boxed()?, b.boxed()?),
            ("tuple", items) => Expr::Tuple(all(items)?),
            ("list", items) => Expr::List(all(items)?),
            ("index", [base, indices @ ..]) => Expr::Index(base.boxed()?, self::indices(indices)?),
            ("attr", [base, name]) => Expr::Attr(base.boxed()?, name.text()?),
            ("call", [function, args, keywords @ ..]) => {
                let keyword = |node: &Node| match node.list()? {
                    [name, value] => Ok((name.text()?, value.expr()?)),
                    _ => wrong("a keyword"),
                };
                let keywords = keywords.iter().map(keyword).collect::<Parsed<_>>()?;
                Expr::Call(function.boxed()?, all(args.list()?)?, keywords)
            }
            ("starred", [items]) => Expr::Starred(items.boxed()?),
            ("unsupported", [what]) => Expr::Unsupported(what.text()?),
            (word, _) => return wrong(word),
        })
    }
}

fn indices(nodes: &[Node]) -> Parsed<Vec<Index>> {
    let index = |node: &Node| match node.head()? {
        ("slice", [a, b, c]) => Ok(Index::Slice(a.expr()?, b.expr()?, c.expr()?)),
        _ => node.expr().map(Index::At),
    };
    nodes.iter().map(index).collect()
}

fn operator(word: &str) -> Parsed<Operator> {
    Ok(match word {
        "add" => Operator::Add,
        "sub" => Operator::Sub,
        "mult" => Operator::Mult,
        "div" => Operator::Div,
        "floordiv" => Operator::FloorDiv,
        "mod" => Operator::Mod,
        "pow" => Operator::Pow,
        "lshift" => Operator::LShift,
        "rshift" => Operator::RShift,
        "bitor" => Operator::BitOr,
        "bitxor" => Operator::BitXor,
        "bitand" => Operator::BitAnd,
        "matmult" => Operator::MatMult,
        _ => return wrong(word),
    })
}

fn unary(word: &str) -> Parsed<Unary> {
    Ok(match word {
        "neg" => Unary::Neg,
        "pos" => Unary::Pos,
        "invert" => Unary::Invert,
        "not" => Unary::Not,
        _ => return wrong(word),
    })
}

fn comparison(word: &str) -> Parsed<Comparison> {
    Ok(match word {
        "eq" => Comparison::Eq,
        "ne" => Comparison::Ne,
        "lt" => Comparison::Lt,
        "le" => Comparison::Le,
        "gt" => Comparison::Gt,
        "ge" => Comparison::Ge,
        "is" => Comparison::Is,
        "isnot" => Comparison::IsNot,
        "in" => Comparison::In,
        "notin" => Comparison::NotIn,
        _ => return wrong(word),
    })
}
