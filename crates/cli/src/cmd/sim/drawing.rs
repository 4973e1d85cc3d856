//! The page of a sweep or of pairs.

use crate::error::BadInput;
use crate::folder::write_whole;
use baton_chip::config::Chip;

/// Writes a page, or the picture alone if the name ends with `.svg`. A file is written whole or not
/// at all.
pub(super) fn draw(path: &std::path::Path, title: &str, svg: &str, table: &str, chip: &Chip) -> anyhow::Result<()> {
    let text = match path.extension().is_some_and(|ending| ending == "svg") {
        true => baton_plot::file(svg).ok_or_else(|| BadInput::new("there is nothing to draw"))?,
        false => crate::plot::page(title, svg, table, &chip.to_toml()),
    };
    write_whole(path, text.as_bytes()).map_err(|e| BadInput::new(format!("cannot write {}: {e}", path.display())))?;
    crate::ui::note(format_args!("drew {}", path.display()));
    Ok(())
}
