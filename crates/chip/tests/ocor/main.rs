//! OCOR: who is served first, and the paper's figure 5.

#[path = "../common/mod.rs"]
mod common;

mod figure_5;
mod marks;
