//! The functions that kernels call, in C.
//!
//! In: the text of a kernel. Out: the definitions of the functions that it calls, and of those that they call, each
//! before its first use. The functions are templates over element types (`templates.rs`, `complex.rs`), random streams
//! (`streams.rs`), or algorithms of the vector math crate (`functions.rs`).

use super::{complex, functions, streams, template, templates};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// All functions that are templates, by full name.
fn all() -> &'static BTreeMap<String, String> {
    static ALL: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    ALL.get_or_init(|| {
        let templates = templates::ALL.iter().chain(complex::ALL).chain(streams::ALL);
        let functions = templates.flat_map(|template| {
            template.types.iter().map(|&ty| (format!("{}_{ty}", template.name), template::of(template.text, ty)))
        });
        functions.collect()
    })
}

/// The definition of a function.
fn definition(name: &str) -> Option<String> {
    all().get(name).cloned().or_else(|| streams::definition(name)).or_else(|| functions::definition(name))
}

/// The words of a text, which include the names of functions.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| word.contains('_'))
}

/// The definitions of all functions that a text names.
pub fn needed_by(text: &str) -> String {
    let (mut seen, mut out) = (BTreeSet::new(), String::new());
    add(text, &mut seen, &mut out);
    out
}

fn add(text: &str, seen: &mut BTreeSet<String>, out: &mut String) {
    for word in words(text) {
        if seen.contains(word) {
            continue;
        }
        let Some(own) = definition(word) else { continue };
        seen.insert(word.to_owned());
        add(&own, seen, out);
        out.push_str(&own);
        out.push('\n');
    }
}
