//! The pages of `baton noc`: one HTML file each, with pictures as SVG, without a network.

mod curves;
mod document;
mod heat;

pub(crate) use curves::{Curve, curves, earlier, point};
pub(crate) use heat::{Map, map};
