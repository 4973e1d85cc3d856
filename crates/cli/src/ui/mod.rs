//! How the command writes: data on standard output, everything else on standard error. Unless
//! `--color` says otherwise, there is colour only on a terminal and never under `NO_COLOR`.
//!
//! | file | holds |
//! | --- | --- |
//! | `table` | rows under a header, as wide as the terminal |
//! | `width` | how wide the terminal is |

mod table;
mod width;

pub(crate) use table::table;

use std::fmt::Arguments;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

// The macros of `std` panic when the disk behind standard output is full.

/// Prints like the macro of `std`; an error of the output ends the process with a message.
macro_rules! print {
    ($($text:tt)*) => { $crate::ui::out(format_args!($($text)*)) };
}

/// Prints like the macro of `std`; an error of the output ends the process with a message.
macro_rules! println {
    () => { $crate::ui::out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::ui::out(format_args!("{}\n", format_args!($($text)*))) };
}

/// Prints like the macro of `std`; an error of the output is ignored, because there is nowhere left
/// to report it.
macro_rules! eprint {
    ($($text:tt)*) => { $crate::ui::err(format_args!($($text)*)) };
}

/// Prints like the macro of `std`; an error of the output is ignored, because there is nowhere left
/// to report it.
macro_rules! eprintln {
    () => { $crate::ui::err(format_args!("\n")) };
    ($($text:tt)*) => { $crate::ui::err(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes to standard output, or ends the process with exit code 1.
pub(crate) fn out(text: Arguments<'_>) {
    if let Err(error) = std::io::stdout().write_fmt(text) {
        say("error:", RED, format_args!("cannot write to standard output: {error}"));
        std::process::exit(1);
    }
}

/// Writes to standard error; ignores an error.
pub(crate) fn err(text: Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(text);
}

/// The SGR parameter for bold.
pub(crate) const BOLD: &str = "1";
/// The SGR parameter for red.
pub(crate) const RED: &str = "1;31";
/// The SGR parameter for yellow.
pub(crate) const YELLOW: &str = "1;33";

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

static COLOR: OnceLock<Color> = OnceLock::new();

/// Sets the user's choice; called once, before anything is printed.
pub(crate) fn set_color(color: Color) {
    COLOR.get_or_init(|| color);
}

fn colored(terminal: bool) -> bool {
    match COLOR.get().copied().unwrap_or_default() {
        Color::Always => true,
        Color::Never => false,
        // By no-color.org, any value that is not empty counts.
        Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// Whether standard output shows colour.
pub(crate) fn paints() -> bool {
    colored(std::io::stdout().is_terminal())
}

fn paint_if(on: bool, text: &str, sgr: &str) -> String {
    if on { format!("\x1b[{sgr}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Text for standard output, in colour if standard output shows colour.
pub(crate) fn paint(text: &str, sgr: &str) -> String {
    paint_if(colored(std::io::stdout().is_terminal()), text, sgr)
}

/// Prints a line on standard error, behind a coloured word that says what kind of line it is.
pub(crate) fn say(kind: &str, sgr: &str, text: impl std::fmt::Display) {
    eprintln!("{} {text}", paint_if(err_paints(), kind, sgr));
}

/// Prints a note on standard error.
pub(crate) fn note(text: impl std::fmt::Display) {
    say("baton:", BOLD, text);
}

/// Prints a warning on standard error.
pub(crate) fn warn(text: impl std::fmt::Display) {
    say("warning:", YELLOW, text);
}

/// Whether text on standard error shows colour.
pub(crate) fn err_paints() -> bool {
    colored(std::io::stderr().is_terminal())
}
