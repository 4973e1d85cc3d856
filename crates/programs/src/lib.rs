//! Programs over [`Machine`](baton_machine::Machine): each program computes a result that is
//! checked, on any machine.
//!
//! `baton-workloads` has the parts of a workload and the micro-workloads. A program implements its
//! trait [`Workload`](baton_workloads::Workload), and one line in the [`registry`] makes the
//! program known by name.
//!
//! | room | holds |
//! | --- | --- |
//! | [`registry`] | every workload by name, and those that a command adds |
//! | [`real`] | real programs: a filter, a pipeline, a tree, a sort, an alignment |
//! | [`kernels`] | real kernels of numerical and biological programs |
//! | [`packets`] | packets that travel through queues: a pipeline of clusters, a firewall |
//! | [`distributor`] | a producer that hands jobs to workers |
//! | [`tasks`] | tasks that spawn tasks: stolen, shared, or balanced by a device |
//! | [`regression`] | logistic regression as a map-reduce |
//! | [`phases`] | programs described by instructions, parallel parts and working sets |
//! | [`synthetic`] | synthetic programs that stand in for real ones of which a few figures are printed |
//! | `places` | values that threads share without a lock, ordered by phases or by flows |
//! | [`monitor`] | a lock with a condition, under which real programs and kernels share data |

pub mod distributor;
pub mod kernels;
pub mod monitor;
pub mod packets;
pub mod phases;
mod places;
pub mod real;
pub mod registry;
pub mod regression;
pub mod synthetic;
pub mod tasks;

pub use registry::added::{self, workloads};
pub use registry::{Chosen, WORKLOADS};
