//! The values that settings accept, as text.
//!
//! Each function returns the value that a text stands for; `None` if the setting does not accept the text.

use super::{InstructionSet, Jit, Variants};
use crate::placement::rule::Rule;

pub(super) fn jit(value: &str) -> Option<Jit> {
    match value {
        "off" | "0" | "false" => Some(Jit::Off),
        "on" | "1" | "true" => Some(Jit::On),
        "sync" => Some(Jit::Sync),
        _ => None,
    }
}

pub(super) fn variants(value: &str) -> Option<Variants> {
    match value {
        "dynamic" => Some(Variants::Dynamic),
        "fixed" => Some(Variants::Fixed),
        "selected" => Some(Variants::Selected),
        _ => None,
    }
}

pub(super) fn isa(value: &str) -> Option<InstructionSet> {
    match value {
        "best" => Some(InstructionSet::Best),
        "avx512" => Some(InstructionSet::Avx512),
        "avx2" => Some(InstructionSet::Avx2),
        "portable" => Some(InstructionSet::Portable),
        _ => None,
    }
}

pub(super) fn placement(text: &str) -> Option<Rule> {
    match text.split_once(':') {
        Some(("random", seed)) => Some(Rule::Random(seed.parse().ok()?)),
        Some(_) => None,
        None if text == "random" => Some(Rule::Random(0)),
        None => (text == "cost").then_some(Rule::Cost),
    }
}

pub(super) fn bool(value: &str) -> Option<bool> {
    match value {
        "" | "0" | "off" | "false" => Some(false),
        "1" | "on" | "true" => Some(true),
        _ => None,
    }
}

/// Seconds, at most a day.
pub(super) fn seconds(value: &str) -> Option<f64> {
    value.parse().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds))
}

/// `512M`, `8G`, `1000000`; zero is no limit.
pub(super) fn bytes(value: &str) -> Option<Option<usize>> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: usize = match value[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" | "KIB" => 1 << 10,
        "M" | "MB" | "MIB" => 1 << 20,
        "G" | "GB" | "GIB" => 1 << 30,
        "T" | "TB" | "TIB" => 1 << 40,
        _ => return None,
    };
    let bytes = digits.parse::<usize>().ok()?.checked_mul(unit)?;
    Some((bytes > 0).then_some(bytes))
}
