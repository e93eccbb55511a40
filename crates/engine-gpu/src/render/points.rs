//! Elementwise kernels: a loop over points, and the work at one point.

use super::types::{self, cast, name, partial, stored};
use super::{ENTRY, KernelText, Kind, Param, Variant, ops};
use numelt_ir::DType;
use numelt_opt::{Arg, ArgKind, Kernel, Node, StrideClass, ValueId};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The bytes that a work-item loads or stores together.
const PACK_BYTES: usize = 16;
/// The most operations of a body that is worth repeating for each point of a pack.
const PACK_NODES: usize = 24;

/// The text of a kernel without reductions.
pub(super) fn render(kernel: &Kernel, variant: Variant) -> Option<KernelText> {
    let width = if variant.packed { width(kernel) } else { None };
    let point = Point::new(kernel, Variant { packed: width.is_some(), ..variant })?;
    let params = parameters(kernel, variant, point.watches);
    let index = if variant.narrow { "i32" } else { "i64" };
    let mut body = width.map_or(String::new(), |width| pack_types(kernel, width));
    let _ = write!(body, "KERNEL void {ENTRY}({})\n{{\n", declared(kernel, &params));
    if point.watches {
        body.push_str("    u32 met = 0;  // floating-point conditions\n");
    }
    match width {
        Some(width) => body.push_str(&packs(kernel, &point, width, index)),
        None => {
            body.push_str("    ROLLED\n");
            let _ = writeln!(
                body,
                "    for (i64 point = GROUP * LANES + LANE; point < points; point += GROUPS * LANES) {{"
            );
            body.push_str(&indices(kernel, "point", index, 2));
            body.push_str(&point.values(2));
            body.push_str(&point.stores(2));
            body.push_str("    }\n");
        }
    }
    if point.watches {
        body.push_str(RAISE);
    }
    Some(KernelText { text: body + "}\n", params, watches: point.watches, kind: Kind::Points })
}

/// The number of points whose elements a work-item loads and stores together: one loop, whose elements lie beside each
/// other, and few operations. `None` if the kernel is of another form.
pub(super) fn width(kernel: &Kernel) -> Option<usize> {
    let fits = |arg: &Arg| match arg.kind {
        ArgKind::Index => true,
        ArgKind::Load => !arg.dtype.is_complex() && arg.strides[0] != StrideClass::Any,
        ArgKind::Store => !arg.dtype.is_complex() && arg.strides[0] == StrideClass::Unit,
        _ => false,
    };
    let light = |node: &Node| !matches!(node, Node::Op(numelt_ir::transcendental!(), ..) | Node::Gather { .. });
    let is_packed = kernel.rank() == 1
        && kernel.reductions.is_empty()
        && kernel.body.len() <= PACK_NODES
        && kernel.args.iter().all(fits)
        && kernel.body.iter().all(light);
    let widest = kernel.args.iter().filter(|arg| is_beside(arg)).map(|arg| arg.dtype.size()).max()?;
    // more than four points at a time take too many registers
    let width = (PACK_BYTES / widest).min(4);
    (is_packed && width > 1).then_some(width)
}

/// Whether the elements of an argument for the points of a pack lie beside each other in memory.
fn is_beside(arg: &Arg) -> bool {
    arg.kind != ArgKind::Index && arg.strides[0] == StrideClass::Unit
}

/// The type of a pack of elements.
fn pack_type(ty: DType, width: usize) -> String {
    format!("{}x{width}", name(types::stored(ty)))
}

/// The declarations of the types of packs.
fn pack_types(kernel: &Kernel, width: usize) -> String {
    let types: BTreeSet<&str> =
        kernel.args.iter().filter(|arg| is_beside(arg)).map(|arg| name(types::stored(arg.dtype))).collect();
    let bytes =
        |ty: &str| kernel.args.iter().find(|arg| name(types::stored(arg.dtype)) == ty).map(|arg| arg.dtype.size());
    types.iter().fold(String::from("// Elements beside each other.\n"), |text, ty| {
        let bytes = width * bytes(ty).unwrap_or(1);
        text + &format!("typedef struct ALIGNED({bytes}) {{ {ty} at[{width}]; }} {ty}x{width};\n")
    }) + "\n"
}

/// The loop of a packed text. The last pack may have fewer points than the others.
fn packs(kernel: &Kernel, point: &Point<'_>, width: usize, index: &str) -> String {
    let beside = |stores: bool| {
        let own = move |arg: &&Arg| is_beside(arg) && (arg.kind == ArgKind::Store) == stores;
        kernel.args.iter().enumerate().filter(move |(_, arg)| own(arg))
    };
    let mut text = String::from("    ROLLED\n");
    let _ =
        writeln!(text, "    for (i64 pack = GROUP * LANES + LANE; pack * {width} < points; pack += GROUPS * LANES) {{");
    let _ = writeln!(text, "        const i64 from = pack * {width};");
    let _ = writeln!(text, "        const bool full = points - from >= {width};");
    for (at, arg) in kernel.args.iter().enumerate().filter(|(_, arg)| is_beside(arg)) {
        let _ = writeln!(text, "        {} x{at};", pack_type(arg.dtype, width));
    }
    text.push_str("        if (full) {\n");
    for (at, arg) in beside(false) {
        let ty = pack_type(arg.dtype, width);
        let _ = writeln!(text, "            x{at} = *(GLOBAL const {ty} *)(a{at} + o{at} + from);");
    }
    text.push_str("        } else {\n            UNROLLED\n");
    let each = format!(
        "            for (i32 k = 0; k < {width}; k++) {{\n                if (from + k >= points) continue;\n"
    );
    text.push_str(&each);
    for (at, _) in beside(false) {
        let _ = writeln!(text, "                x{at}.at[k] = a{at}[o{at} + from + k];");
    }
    text.push_str("            }\n        }\n        UNROLLED\n");
    let _ =
        writeln!(text, "        for (i32 k = 0; k < {width}; k++) {{\n            if (from + k >= points) continue;");
    let _ = writeln!(text, "            const {index} i0 = ({index})(from + k);");
    text.push_str(&point.values(3));
    text.push_str(&point.stores(3));
    text.push_str("        }\n        if (full) {\n");
    for (at, arg) in beside(true) {
        let ty = pack_type(arg.dtype, width);
        let _ = writeln!(text, "            *(GLOBAL {ty} *)(a{at} + o{at} + from) = x{at};");
    }
    text.push_str("        } else {\n            UNROLLED\n");
    text.push_str(&each);
    for (at, _) in beside(true) {
        let _ = writeln!(text, "                a{at}[o{at} + from + k] = x{at}.at[k];");
    }
    text + "            }\n        }\n    }\n"
}

/// Reports the conditions that were met.
pub(super) const RAISE: &str = "    if (met != 0) RAISE(conditions + word, met);\n";

/// The parameters of a text, in order.
pub(super) fn parameters(kernel: &Kernel, variant: Variant, watches: bool) -> Vec<Param> {
    let mut params = vec![Param::Points];
    params.extend((0..kernel.rank()).map(Param::Extent));
    for (at, arg) in kernel.args.iter().enumerate() {
        if arg.kind != ArgKind::Index {
            params.push(Param::Memory(at));
        }
        params.push(Param::Offset(at));
        let moving = arg.strides.iter().enumerate().filter(|(_, class)| **class == StrideClass::Any);
        params.extend(moving.map(|(axis, _)| Param::Stride(at, axis)));
        if variant.rolled && arg.kind == ArgKind::Load {
            params.extend((0..kernel.rank()).map(|axis| Param::Wrap(at, axis)));
        }
    }
    for (at, ty) in kernel.params.iter().enumerate() {
        params.push(Param::Literal(at));
        if ty.is_complex() {
            params.push(Param::Imaginary(at));
        }
    }
    if watches {
        params.extend([Param::Conditions, Param::Word]);
    }
    params
}

/// The declarations of parameters.
pub(super) fn declared(kernel: &Kernel, params: &[Param]) -> String {
    let declared = params.iter().map(|param| match *param {
        Param::Points => "i64 points".to_owned(),
        Param::Extent(axis) => format!("i64 n{axis}"),
        Param::Memory(at) => {
            let arg = &kernel.args[at];
            let read = matches!(arg.kind, ArgKind::Load | ArgKind::Gather);
            let kind = if read { "const " } else { "" };
            format!("GLOBAL {kind}{} *a{at}", name(types::stored(arg.dtype)))
        }
        Param::Offset(at) => format!("i64 o{at}"),
        Param::Stride(at, axis) => format!("i64 s{at}_{axis}"),
        Param::Wrap(at, axis) => format!("i64 w{at}_{axis}"),
        Param::Literal(at) => format!("{} p{at}", name(types::stored(kernel.params[at]))),
        Param::Imaginary(at) => format!("{} q{at}", name(types::stored(kernel.params[at]))),
        Param::Conditions => "GLOBAL u32 *conditions".to_owned(),
        Param::Word => "i64 word".to_owned(),
        Param::Items => "i64 items".to_owned(),
        Param::Outer => "i64 outer".to_owned(),
        Param::Run => "i64 run".to_owned(),
        Param::Stretch => "i64 stretch".to_owned(),
        Param::Piece => "i64 piece".to_owned(),
        Param::Pieces => "i64 pieces".to_owned(),
        Param::Depth => "i64 depth".to_owned(),
        Param::Top => "i64 top".to_owned(),
        Param::Bottom => "i64 bottom".to_owned(),
        Param::Scratch(at) => format!("GLOBAL {} *b{at}", name(stored(partial(&kernel.reductions[at])))),
        Param::Positions(at) => format!("GLOBAL i64 *c{at}"),
    });
    let declared: Vec<String> = declared.collect();
    declared.join(", ")
}

fn pad(depth: usize) -> String {
    "    ".repeat(depth)
}

/// The indices of all loops, from the number of a point in C order.
fn indices(kernel: &Kernel, point: &str, index: &str, depth: usize) -> String {
    let (rank, pad) = (kernel.rank(), pad(depth));
    if rank == 1 {
        return format!("{pad}const {index} i0 = ({index}){point};\n");
    }
    let mut text = format!("{pad}{index} rest = ({index}){point};\n");
    for axis in (1..rank).rev() {
        let _ = writeln!(text, "{pad}const {index} i{axis} = rest % ({index})n{axis};");
        let _ = writeln!(text, "{pad}rest /= ({index})n{axis};");
    }
    let _ = writeln!(text, "{pad}const {index} i0 = rest;");
    text
}

/// The body at a point: a line for each value.
pub(super) struct Point<'a> {
    kernel: &'a Kernel,
    variant: Variant,
    lines: Vec<String>,
    /// Whether there are conditions that the values may meet.
    pub watches: bool,
}

impl<'a> Point<'a> {
    /// `None` if a value has no text.
    pub fn new(kernel: &'a Kernel, variant: Variant) -> Option<Point<'a>> {
        let mut point = Point { kernel, variant, lines: Vec::new(), watches: false };
        for (at, node) in kernel.body.iter().enumerate() {
            point.value(at as ValueId, node)?;
        }
        Some(point)
    }

    /// The lines of all values.
    pub fn values(&self, depth: usize) -> String {
        let pad = pad(depth);
        self.lines.iter().fold(String::new(), |text, line| text + &pad + line + "\n")
    }

    /// The lines that store elementwise results.
    pub fn stores(&self, depth: usize) -> String {
        let pad = pad(depth);
        let stores = self.kernel.stores.iter().map(|store| (store.arg as usize, operand(self.kernel, store.value)));
        stores.fold(String::new(), |text, (at, value)| {
            let ty = self.kernel.args[at].dtype;
            let own = if self.variant.packed {
                let value = if ty == DType::Bool { format!("{value} ? 1 : 0") } else { value };
                format!("{pad}x{at}.at[k] = {value};\n")
            } else {
                store(ty, at, &self.place(at), &value, &pad)
            };
            text + &own
        })
    }

    /// The position of an argument's element at the point; see [`place`].
    pub fn place(&self, at: usize) -> String {
        place(self.kernel, at, self.variant.rolled)
    }

    fn value(&mut self, at: ValueId, node: &Node) -> Option<()> {
        let kernel = self.kernel;
        let ty = kernel.dtype_of(at);
        let met = match node {
            Node::Param(_) => return Some(()),
            Node::Load(arg) => {
                let place = self.place(*arg as usize);
                self.load(at, *arg as usize, &place);
                None
            }
            Node::Index(arg) => {
                let place = self.place(*arg as usize);
                self.define(at, ty, &place);
                None
            }
            Node::Gather { arg, last, step, index } => {
                self.gather(at, [*arg, *last, *step].map(|arg| arg as usize), *index);
                None
            }
            Node::Cast(to, from) => {
                let (value, source) = (operand(kernel, *from), kernel.dtype_of(*from));
                self.define(at, ty, &cast(&value, source, *to));
                ops::cast_conditions(source, *to, &format!("v{at}"), &value)
            }
            Node::Op(op, loop_type, operands) => {
                let operands: Vec<String> = operands.iter().map(|&v| operand(kernel, v)).collect();
                let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
                self.define(at, ty, &ops::expression(*op, *loop_type, &operands)?);
                ops::conditions(*op, *loop_type, &format!("v{at}"), &operands)
            }
        };
        if let Some(met) = met {
            self.watches = true;
            self.lines.push(format!("met |= {met};"));
        }
        Some(())
    }

    fn define(&mut self, at: ValueId, ty: DType, expression: &str) {
        self.lines.push(format!("const {} v{at} = {expression};", name(ty)));
    }

    fn load(&mut self, at: ValueId, arg: usize, place: &str) {
        let ty = self.kernel.args[arg].dtype;
        let is_packed = self.variant.packed && is_beside(&self.kernel.args[arg]);
        let element = if is_packed { format!("x{arg}.at[k]") } else { format!("a{arg}[{place}]") };
        let expression = match ty {
            DType::Bool => format!("{element} != 0"),
            _ if ty.is_complex() => format!("make_{ty}(a{arg}[{place}], a{arg}[{place} + 1])"),
            _ => element,
        };
        self.define(at, ty, &expression);
    }

    fn gather(&mut self, at: ValueId, [arg, last, step]: [usize; 3], index: ValueId) {
        let (index, last, step) = (operand(self.kernel, index), self.place(last), self.place(step));
        let unit = super::unit(self.kernel.args[arg].dtype);
        let place = self.place(arg);
        self.lines.push(format!("const u64 g{at} = {index} < (u64)({last}) ? {index} : (u64)({last});"));
        self.lines.push(format!("const i64 h{at} = {place} + (i64)g{at} * (({step}) / {unit});"));
        self.load(at, arg, &format!("h{at}"));
    }
}

/// The position of an argument's element at the point, in units of its memory; or the value of an index. With `rolled`,
/// loads wrap.
pub(super) fn place(kernel: &Kernel, at: usize, rolled: bool) -> String {
    let arg = &kernel.args[at];
    let rolls = rolled && arg.kind == ArgKind::Load;
    let width = if arg.dtype.is_complex() { 2 } else { 1 };
    let mut text = format!("o{at}");
    for (axis, class) in arg.strides.iter().enumerate() {
        let index = match rolls {
            true => format!("(w{at}_{axis} > 0 && i{axis} >= w{at}_{axis} ? i{axis} - n{axis} : i{axis})"),
            false => format!("i{axis}"),
        };
        // a result does not move along the loops that it folds, and those may have no index where it is stored
        let folded = arg.kind == ArgKind::Reduced && kernel.reduced[axis];
        match class {
            _ if folded => {}
            StrideClass::Zero => {}
            StrideClass::Unit if width == 1 || arg.kind == ArgKind::Index => _ = write!(text, " + {index}"),
            StrideClass::Unit => _ = write!(text, " + (i64){index} * {width}"),
            StrideClass::Any => _ = write!(text, " + (i64){index} * s{at}_{axis}"),
        }
    }
    text
}

/// The name of a value; literals are constructed from parameters.
pub(super) fn operand(kernel: &Kernel, value: ValueId) -> String {
    match kernel.body[value as usize] {
        Node::Param(at) => match kernel.params[at as usize] {
            DType::Bool => format!("(p{at} != 0)"),
            ty if ty.is_complex() => format!("make_{ty}(p{at}, q{at})"),
            _ => format!("p{at}"),
        },
        _ => format!("v{value}"),
    }
}

/// Lines that store a value of the argument's own dtype.
pub(super) fn store(ty: DType, at: usize, place: &str, value: &str, pad: &str) -> String {
    match ty {
        DType::Bool => format!("{pad}a{at}[{place}] = {value} ? 1 : 0;\n"),
        _ if ty.is_complex() => {
            format!("{pad}a{at}[{place}] = {value}.re;\n{pad}a{at}[{place} + 1] = {value}.im;\n")
        }
        _ => format!("{pad}a{at}[{place}] = {value};\n"),
    }
}
