//! How wide the terminal is.

use std::io::IsTerminal;

/// Terminals that say less than this do not know their width.
const LEAST: usize = 20;

/// Returns the columns of the terminal at standard output; `None` if standard output is no
/// terminal, or the terminal does not say. The variable COLUMNS overrides what the terminal says.
pub(super) fn of_stdout() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    asked.or_else(of_terminal).filter(|&columns| columns >= LEAST)
}

fn of_terminal() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel writes a `winsize`, for which there is room; standard output stays open.
    let failed = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (failed == 0).then_some(usize::from(size.ws_col))
}
