//! A figure or table of a page, with its note and the name of its file.

use baton_plot::{Bars, Lines, Spans, Table, Timeline, number};

/// The form of a figure's drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    /// Rows of bars, with the paper's values as marks beside the bars.
    Bars(Bars),
    /// Series over an axis.
    Lines(Lines),
    /// Ranges around a value: a tornado chart.
    Spans(Spans),
    /// The states of several threads over time.
    Timeline(Timeline),
    /// Rows of text and numbers.
    Table(Table),
}

/// A figure or a table of the page.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The drawing.
    pub drawing: Drawing,
    /// The note below its title; empty if there is none.
    pub note: String,
    /// The name of the figure's file on a page of the documentation, without the ending; `None`:
    /// the figure is only on the HTML page.
    pub file: Option<&'static str>,
}

impl<T: Into<Drawing>> From<T> for Figure {
    fn from(drawing: T) -> Figure {
        Figure { drawing: drawing.into(), note: String::new(), file: None }
    }
}

macro_rules! drawings {
    ($($kind:ident),*) => { $(
        impl From<$kind> for Drawing {
            fn from(drawing: $kind) -> Drawing {
                Drawing::$kind(drawing)
            }
        }
    )* };
}
drawings!(Bars, Lines, Spans, Timeline, Table);

impl Figure {
    /// Adds a note that a reader needs to understand the figure.
    #[must_use]
    pub fn noted(mut self, note: impl Into<String>) -> Figure {
        self.note = note.into();
        self
    }

    /// Gives the figure a file on a page of the documentation.
    #[must_use]
    pub fn named(mut self, file: &'static str) -> Figure {
        self.file = Some(file);
        self
    }

    /// Returns the title of the figure.
    pub fn title(&self) -> &str {
        match &self.drawing {
            Drawing::Bars(drawing) => &drawing.title,
            Drawing::Lines(drawing) => &drawing.title,
            Drawing::Spans(drawing) => &drawing.title,
            Drawing::Timeline(drawing) => &drawing.title,
            Drawing::Table(drawing) => &drawing.title,
        }
    }

    /// Returns the picture alone, for an HTML page.
    pub fn html(&self) -> String {
        match &self.drawing {
            Drawing::Bars(drawing) => drawing.svg(),
            Drawing::Lines(drawing) => drawing.svg(),
            Drawing::Spans(drawing) => drawing.svg(),
            Drawing::Timeline(drawing) => drawing.svg(),
            Drawing::Table(drawing) => drawing.html(),
        }
    }
}

/// A cell of a table: the number, or `-` where there is none.
pub fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), number)
}
