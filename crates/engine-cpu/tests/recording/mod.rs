//! Records programs in a runtime, as a front end does.

use numelt_ir::{Operand, Program, Result, View};
use numelt_runtime::{ArrayView, BaseRef, Input, Reason, Runtime};

fn array(bases: &[Option<BaseRef>], view: &View) -> ArrayView {
    let base = bases[view.base as usize].clone().expect("bases are held until all is recorded");
    ArrayView { base, dtype: view.dtype, offset: view.offset, shape: view.shape.clone(), strides: view.strides.clone() }
}

/// Records a program, runs it, and returns the values of its outputs.
pub fn record(rt: &Runtime, program: &Program, memory: &mut [Vec<u8>]) -> Result<()> {
    let mut bases = Vec::new();
    for (base, bytes) in program.bases.iter().zip(&*memory) {
        let own = rt.new_base(base.nbytes);
        if base.input {
            rt.overwrite(&own)?.bytes_mut().copy_from_slice(bytes);
        }
        bases.push(Some(own));
    }
    for instr in &program.instrs {
        let out = array(&bases, &instr.out);
        let views: Vec<Option<ArrayView>> = instr
            .ins
            .iter()
            .map(|operand| match operand {
                Operand::View(view) => Some(array(&bases, view)),
                Operand::Const(_) => None,
            })
            .collect();
        let inputs = instr.ins.iter().zip(&views).map(|(operand, view)| match (operand, view) {
            (Operand::Const(id), _) => Input::Const(program.consts[*id as usize]),
            (Operand::View(_), view) => Input::Array(view.as_ref().expect("one per view")),
        });
        let inputs: Vec<Input<'_>> = inputs.collect();
        rt.record(instr.op, instr.ty, &out, &inputs, instr.axes)?;
    }
    for (base, own) in program.bases.iter().zip(&mut bases) {
        if !base.output {
            own.take();
        }
    }
    rt.flush(Reason::Explicit)?;
    for (bytes, own) in memory.iter_mut().zip(&bases) {
        if let Some(own) = own {
            bytes.copy_from_slice(rt.read(own)?.bytes());
        }
    }
    rt.take_warnings();
    Ok(())
}
