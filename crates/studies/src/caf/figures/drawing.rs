//! Draws the lines and tables of this study's figures.

use crate::Interval;
use crate::page::Figure;
use baton_plot::{Lines, Series, Table, number};

pub(super) fn lines(title: &str, x: &str, y: &str, names: Vec<String>, series: Vec<Series>) -> Figure {
    Figure::from(Lines { title: title.to_owned(), x: x.to_owned(), y: y.to_owned(), names: Some(names), series })
}

pub(super) fn cell(of: Option<f64>) -> String {
    of.map_or_else(|| "-".to_owned(), number)
}

pub(super) fn of_mean(of: Option<Interval>) -> String {
    cell(of.map(|of| of.mean))
}

pub(super) fn table(title: &str, header: &[&str], rows: Vec<Vec<String>>) -> Figure {
    let header = header.iter().map(|&name| name.to_owned()).collect();
    Table { title: title.to_owned(), header, rows, ..Table::default() }.into()
}
