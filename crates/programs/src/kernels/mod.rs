//! Real kernels of numerical and of biological programs: sequential and parallel phases, divided by
//! barriers, and locks under which threads bring their results together.
//!
//! Each kernel is written anew from its public description, keeps its data in the machine's memory,
//! and is charged as the [real programs](crate::real) are. Its result is compared with the result
//! of a plain algorithm that shares no code with the kernel, and with the published result where
//! there is one.
//!
//! | file | holds |
//! | --- | --- |
//! | `kernel` | the kernels by name, with the limits of their scales |
//! | `named` | the kernels as workloads, with a lock and a barrier by name |
//! | `scene` | the threads of a kernel: who does what, where they meet |
//! | `scale` | the scale of a kernel |
//! | `near` | how results are compared that differ by rounding |
//! | `rows` | rows of numbers in the machine's memory |
//! | `random` | the random numbers of the NAS benchmarks |
//! | `fourier` | complex numbers, and the transform of a line of them |
//! | `ep` | pairs of normally distributed numbers, counted by size |
//! | `ft` | a differential equation, solved by transforms in three dimensions |
//! | `mg` | a multigrid solver in three dimensions |
//! | `search` | queries sought in a database of letters |
//! | `fft` | the transform of one long line |

mod ep;
mod fft;
mod fourier;
mod ft;
mod kernel;
mod mg;
mod named;
mod near;
mod random;
mod rows;
mod scale;
mod scene;
mod search;
#[cfg(test)]
mod tests;

pub use kernel::{Count, Kernel, KernelInfo};
pub use named::{Ep, Fft, Ft, Mg, Search, Solo};
pub use scale::KernelScale;
