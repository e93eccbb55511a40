//! What the specializer finds out while it walks a loop, and has to know from the beginning of the walk.
//!
//! Which attributes a loop assigns, and in which statements called functions write to memory, is seen only when the
//! functions that the loop calls have been walked. The loop is then walked again, with these findings. In: what a walk
//! meets. Out: the findings, and whether they were known before.

use crate::outside::{Argument, Home, ObjectKind, Via, World};
use crate::tree::Callee;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// An attribute that the loop assigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The number of the object among the arguments.
    pub object: u32,
    /// The name of the attribute.
    pub name: String,
    /// The number of the argument that is the attribute's value before the loop, unless there is none.
    pub argument: Option<u32>,
    /// Where that value is.
    pub home: Home,
}

impl Field {
    /// The value that the object itself has before the loop, by the number of the argument.
    pub fn own(&self) -> Option<u32> {
        self.argument.filter(|_| self.home == Home::Own)
    }
}

/// The findings.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The arguments: the slots, the inputs, and the objects found through them.
    pub arguments: Vec<Argument>,
    /// Objects that were looked up: by the object and name of the lookup, the number of the argument.
    pub found: HashMap<(u32, String), u32>,
    /// The trees of called functions, by the number of the argument.
    pub callees: HashMap<u32, Option<Rc<Callee>>>,
    /// The objects whose attributes the code uses.
    pub objects: BTreeSet<u32>,
    /// The functions that attributes of classes stand for, by object and name: the number of the argument.
    pub methods: HashMap<(u32, String), Option<(u32, Via)>>,
    /// The functions that write to memory, and call themselves.
    pub recursive: HashSet<u32>,
    /// The attributes that the loop assigns.
    pub fields: Vec<Field>,
    /// For each loop that assigns attributes, in its body or in a called function: the numbers of these attributes.
    pub fields_of_loops: HashMap<(u32, usize), BTreeSet<usize>>,
    /// The loops in which called functions write to memory, by `loop_key`.
    pub writing: HashSet<(u32, usize)>,
    /// The loops in which other loops run.
    pub nesting: HashSet<(u32, usize)>,
    /// The statements of the unit whose effects exits undo: in which called functions write to memory, or which draw.
    pub undone: HashSet<u32>,
    /// Those in which random numbers are drawn.
    pub drawing: HashSet<u32>,
    /// Did the walk know all of this from its beginning?
    pub is_complete: bool,
}

impl Findings {
    /// Is an argument an object that is neither a value nor known otherwise?
    pub fn is_instance(&self, object: u32) -> bool {
        self.arguments[object as usize].kind == ObjectKind::Other
    }

    /// The number of the first argument that is the same object.
    pub fn first_of(&self, object: u32, world: &mut dyn World) -> u32 {
        let others = (0..object).filter(|other| self.is_instance(*other)).filter(|_| self.is_instance(object));
        others.into_iter().find(|other| world.are_same(*other, object)).unwrap_or(object)
    }

    /// Notes that loops assign an attribute.
    pub fn assigns(&mut self, field: usize, loops: &[(u32, usize)]) {
        for key in loops {
            self.is_complete &= !self.fields_of_loops.entry(*key).or_default().insert(field);
        }
    }

    /// Notes that a called function writes to memory in a statement of the unit, and in these loops.
    pub fn writes(&mut self, statement: u32, loops: &[(u32, usize)]) {
        self.is_complete &= !self.undone.insert(statement);
        for key in loops {
            self.is_complete &= !self.writing.insert(*key);
        }
    }

    /// Notes that a statement of the unit draws random numbers, in these loops.
    pub fn draws(&mut self, statement: u32, loops: &[(u32, usize)]) {
        self.is_complete &= !self.drawing.insert(statement);
        self.writes(statement, loops);
    }

    /// Notes that a loop runs in these loops.
    pub fn nests(&mut self, loops: &[(u32, usize)]) {
        for key in loops {
            self.is_complete &= !self.nesting.insert(*key) || !self.writing.contains(key);
        }
    }

    /// The objects whose attributes the code uses, if it assigns any.
    pub fn instances(&self) -> Vec<u32> {
        if self.fields.is_empty() {
            return Vec::new();
        }
        self.objects.iter().copied().filter(|object| self.is_instance(*object)).collect()
    }
}
