//! Checks for floating-point conditions: compiled code exits where NumPy would warn or `math` would raise.
//!
//! NumPy's scalar operations report an overflow, an invalid operand, and a division by zero. In each of these cases the
//! result is infinite though all operands are finite, or a NaN though no operand is one. A result that is not finite
//! makes all sums and products of it not finite. It is therefore enough to check the last result of a statement, and
//! all others only if that is not finite.

use crate::emit::Emitter;
use crate::walk::{Walk, Watched};
use numelt_func::Value;
use numelt_ir::{DType, Op};

impl Walk<'_> {
    /// Requests a check of a result before the statement has an effect. `keeps`: is the result certainly not finite if
    /// an operand is not?
    pub fn watch(&mut self, result: Value, operands: &[Value], keeps: bool) {
        if self.is_certain || self.e.known(result).is_some() {
            return;
        }
        if keeps {
            for other in &mut self.watched {
                other.is_covered |= operands.contains(&other.result);
            }
        }
        self.watched.push(Watched { result, operands: operands.to_vec(), is_covered: false });
    }

    /// Writes the checks of all watched results, with an exit that is taken if a condition was met.
    pub fn flush_watched(&mut self) {
        let mut watched = std::mem::take(&mut self.watched);
        if self.region.is_some() {
            // the processor's flags tell it, if the result is used
            let (flagged, others) = watched.into_iter().partition(|w| self.e.is_flagged(w.result));
            self.suspect_watched(flagged);
            watched = others;
        }
        let ends: Vec<Value> = watched.iter().filter(|w| !w.is_covered).map(|w| w.result).collect();
        if ends.is_empty() || !self.e.is_live() {
            return;
        }
        let suspicious = any(&mut self.e, &ends, |e, value| {
            let finite = is_finite(e, value);
            e.logic(Op::LogicalNot, &[finite])
        });
        let (here, look, pass) = (self.e.here(), self.e.body(), self.e.body());
        self.e.go(look);
        let met: Vec<Value> = watched.iter().map(|w| is_met(&mut self.e, w)).collect();
        let met = any(&mut self.e, &met, |_, value| value);
        self.exit_if(met, "a floating-point condition");
        self.e.finish_branch(vec![]);
        self.e.go(pass);
        self.e.finish_branch(vec![]);
        self.e.go(here);
        self.e.branch(suspicious, look, pass, vec![], true);
    }
}

impl Walk<'_> {
    fn suspect_watched(&mut self, watched: Vec<Watched>) {
        // a covered result is used by a later one
        for w in watched.into_iter().filter(|w| !w.is_covered) {
            let finite = is_finite(&mut self.e, w.result);
            let suspicious = self.e.logic(Op::LogicalNot, &[finite]);
            self.e.suspect(suspicious, Some(w.result));
        }
    }
}

fn any(e: &mut Emitter, values: &[Value], f: impl Fn(&mut Emitter, Value) -> Value) -> Value {
    let mut all = None;
    for value in values {
        let one = f(e, *value);
        all = Some(all.map_or(one, |all| e.logic(Op::LogicalOr, &[all, one])));
    }
    all.expect("there is at least one")
}

/// `|x| < inf`
pub fn is_finite(e: &mut Emitter, value: Value) -> Value {
    let ty = e.type_of(value);
    let size = e.apply(Op::Absolute, ty, &[value]);
    let infinity =
        if ty == DType::F32 { e.constant(ty, f32::INFINITY.to_bits().into()) } else { e.float(f64::INFINITY) };
    e.apply(Op::Less, ty, &[size, infinity])
}

/// Is the value a NaN?
pub fn is_nan(e: &mut Emitter, value: Value) -> Value {
    let ty = e.type_of(value);
    e.apply(Op::NotEqual, ty, &[value, value])
}

/// Is the result infinite though all operands are finite, or a NaN though no operand is one?
fn is_met(e: &mut Emitter, w: &Watched) -> Value {
    let nan = is_nan(e, w.result);
    let finite = is_finite(e, w.result);
    let bad = e.logic(Op::LogicalNot, &[finite]);
    let any_nan = any(e, &w.operands, is_nan);
    let any_odd = any(e, &w.operands, |e, value| {
        let finite = is_finite(e, value);
        e.logic(Op::LogicalNot, &[finite])
    });
    let excused = e.select(nan, any_nan, any_odd);
    let unexcused = e.logic(Op::LogicalNot, &[excused]);
    e.logic(Op::LogicalAnd, &[bad, unexcused])
}
