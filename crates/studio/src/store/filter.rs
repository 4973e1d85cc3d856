//! The rows in which a condition holds.

use super::column;
use super::error::StoreError;
use super::table::Table;
use crate::expr::Expr;
use crate::value::Value;

/// Keeps the rows in which the condition holds. A row is left out if the condition's value depends
/// on a column that is null there; a null in the column `failure` counts as the text `none`.
pub(crate) fn keep(table: &mut Table, condition: &Expr) -> Result<(), StoreError> {
    let columns: Vec<(&str, Option<usize>)> =
        condition.names().into_iter().map(|name| (name, table.column(name))).collect();
    let mut kept = Vec::new();
    for row in 0..table.len() {
        let mut absent = false;
        let holds = condition.holds(&mut |name| {
            let at = columns.iter().find(|(known, _)| *known == name).and_then(|(_, at)| *at);
            let Some(at) = at else { return Err(format!("unknown column `{name}`")) };
            match table.value(row, at) {
                Some(value) => Ok(value),
                None if name == column::FAILURE => Ok(Value::Text("none".to_owned())),
                None => {
                    absent = true;
                    Err(format!("`{name}` is null"))
                }
            }
        });
        match holds {
            Ok(true) => kept.push(row),
            Ok(false) => {}
            Err(_) if absent => {}
            Err(why) => return Err(StoreError::Condition(why)),
        }
    }
    table.keep(&kept);
    Ok(())
}
