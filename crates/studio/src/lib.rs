//! Sweeps: a [`Space`](space::Space) of points, the store that keeps what each of them gave, and the
//! [sweep](sweep::sweep) that runs the points which the store lacks. What a point runs is a
//! [`Subject`](subject::Subject), which the crate above provides.
//!
//! | room | holds |
//! | --- | --- |
//! | [`sweep`] | the run of a space |
//! | [`store`] | the folder of Parquet files |
//! | [`space`] | axes, coupled values, constraints, seeds |
//! | [`subject`] | the trait of a command whose figures are collected |
//! | [`expr`] | expressions over the values of a point |
//! | [`hash`] | keys of points |
//! | [`value`] | values of coordinates and figures |

#![warn(missing_docs)]

pub mod expr;
pub mod hash;
pub mod space;
pub mod store;
pub mod subject;
pub mod sweep;
pub mod value;
