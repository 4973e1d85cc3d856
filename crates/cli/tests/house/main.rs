//! The house: layers between and inside crates, the documentation, its recipes, terms and tables.

mod commands;
mod docs_links;
mod extend;
mod figures;
mod floors;
mod layering;
mod methods;
mod package;
mod skips;
mod terms;
