//! The chips of points. Points of a sweep often have the same chip, so it is kept in memory.

use crate::chips::{self, ChipArgs};
use crate::error::BadInput;
use baton_chip::Chip;
use baton_chip::config::keys::{self, KEYS};
use baton_studio::value::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most chips that are kept in memory: a sweep of a chip's keys may have one for each point.
const MOST_CHIPS: usize = 4096;

/// A chip with its whole configuration as text, or why it cannot be made.
type Known = Result<Arc<(Chip, String)>, String>;

/// The chips of points, by the options that name them.
#[derive(Default)]
pub(crate) struct PointChips(Mutex<HashMap<String, Known>>);

impl PointChips {
    /// The chip of a point with its whole configuration as text. `open` makes the chip if no earlier point had it, or it was dropped
    /// since.
    ///
    /// # Errors
    /// The chip cannot be made.
    pub(crate) fn get(
        &self,
        named: &ChipArgs,
        open: impl FnOnce() -> anyhow::Result<Chip>,
    ) -> anyhow::Result<Arc<(Chip, String)>> {
        let name = named.described();
        let held = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = held().get(&name).cloned();
        let known = found.unwrap_or_else(|| {
            let opened = open().map(|chip| {
                let whole = chips::echo(&chip).to_string();
                Arc::new((chip, whole))
            });
            let opened = opened.map_err(|error| format!("{error:#}"));
            let mut chips = held();
            if chips.len() >= MOST_CHIPS {
                chips.clear();
            }
            chips.insert(name, opened.clone());
            opened
        });
        Ok(known.map_err(BadInput::new)?)
    }

    /// The value of a key of the chip that `get` returns; `None` if there is no such key.
    ///
    /// # Errors
    /// The chip cannot be made, as `get` says.
    pub(crate) fn value(
        key: &str,
        get: impl FnOnce() -> anyhow::Result<Arc<(Chip, String)>>,
    ) -> anyhow::Result<Option<Value>> {
        if keys::find(key).is_none() && !key.starts_with("core.kind.") {
            return Ok(None);
        }
        let found = get()?.0.expanded().into_iter().find(|(known, _)| known == key);
        Ok(found.and_then(|(_, value)| match value {
            keys::Value::Text(text) => Some(Value::Text(text)),
            keys::Value::Whole(n) => i64::try_from(n).ok().map(Value::Whole),
            keys::Value::Share(x) => Some(Value::Number(x)),
            keys::Value::Switch(on) => Some(Value::Switch(on)),
        }))
    }
}

/// The names of all keys of a chip.
pub(crate) fn key_names() -> Vec<String> {
    KEYS.iter().map(|key| key.path.to_owned()).collect()
}
