//! CPython's calling conventions: frames, vectorcall, the arguments of a call, and the setting of the fast paths.
//!
//! Not here: arrays, NumPy's objects, the runtime. Nothing in this folder imports another folder.

pub mod calls;
pub mod endings;
pub mod fast;
pub mod frames;
pub mod given;
pub mod graveyard;
pub mod vectorcall;
pub mod versioned;
