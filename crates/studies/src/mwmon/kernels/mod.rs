//! The kernels of figure 5, in quanta: what the worker computes, and the data that a helper loads
//! before the worker. Each array access goes through the machine, and the results are those of a
//! plain computation.
//!
//! | file | kernel |
//! | --- | --- |
//! | `kernel` | what each kernel can do |
//! | `spmv` | a sparse matrix by a vector |
//! | `lu` | LU decomposition in blocks |
//! | `closure` | transitive closure of a dense graph, in tiles |
//! | `stencil` | the stencil of BT's right-hand side |

mod closure;
mod kernel;
mod lu;
mod spmv;
mod stencil;

pub(super) use kernel::Kernel;
use serde::Serialize;
use std::rc::Rc;

/// The name of a kernel in one of its two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Name {
    /// A sparse matrix by a vector, of the paper's size.
    Spmv,
    /// An update of eight rows of blocks in the first step, on the paper's matrix.
    Lu,
    /// An update of rows of tiles in one step, on the paper's graph.
    Closure,
    /// The stencil on planes of a grid of BT's class A.
    Stencil,
    /// [`Name::Spmv`] with half as many rows, columns and numbers.
    HalfSpmv,
    /// [`Name::Lu`] of half the order.
    HalfLu,
    /// [`Name::Closure`] with half as many vertices and edges.
    HalfClosure,
    /// [`Name::Stencil`] on a grid of half the edge.
    HalfStencil,
}

impl Name {
    /// The four kernels, each in the paper's size and in half of it.
    pub(super) const SIZES: [[Name; 2]; 4] = [
        [Name::Lu, Name::HalfLu],
        [Name::Closure, Name::HalfClosure],
        [Name::Stencil, Name::HalfStencil],
        [Name::Spmv, Name::HalfSpmv],
    ];

    /// The kernel's name on pages.
    pub(super) fn title(self) -> &'static str {
        match self {
            Name::Spmv => "sparse product",
            Name::Lu => "LU",
            Name::Closure => "TC",
            Name::Stencil => "BT's stencil",
            Name::HalfSpmv => "sparse product, half",
            Name::HalfLu => "LU, half",
            Name::HalfClosure => "TC, half",
            Name::HalfStencil => "BT's stencil, half",
        }
    }
}

/// A kernel with its data in guest memory.
pub(super) fn kernel(name: Name, repetition: u64) -> Rc<dyn Kernel> {
    match name {
        Name::Spmv => Rc::new(spmv::Spmv::new([9648, 77_137, 260_785], repetition)),
        Name::HalfSpmv => Rc::new(spmv::Spmv::new([4824, 38_568, 130_392], repetition)),
        Name::Lu => Rc::new(lu::Lu::new(2040)),
        Name::HalfLu => Rc::new(lu::Lu::new(1020)),
        Name::Closure => Rc::new(closure::Closure::new(1600, 25_000, repetition)),
        Name::HalfClosure => Rc::new(closure::Closure::new(800, 12_500, repetition)),
        Name::Stencil => Rc::new(stencil::Stencil::new(64)),
        Name::HalfStencil => Rc::new(stencil::Stencil::new(32)),
    }
}

/// Names of kernels that are small enough for a test to run.
#[cfg(test)]
pub(super) const SMALL: [&str; 4] = ["sparse product", "LU", "TC", "BT's stencil"];

#[cfg(test)]
pub(super) fn small(name: &str) -> Rc<dyn Kernel> {
    match name {
        "sparse product" => Rc::new(spmv::Spmv::new([456, 4000, 4560], 1)),
        "LU" => Rc::new(lu::Lu::new(100)),
        "TC" => Rc::new(closure::Closure::new(320, 1600, 1)),
        _ => Rc::new(stencil::Stencil::new(12)),
    }
}
