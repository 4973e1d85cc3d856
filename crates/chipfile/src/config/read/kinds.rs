//! Reading `[[core.kind]]`, in a file and from the command line.

use super::{KeyPlace, Problem, Reading, found_value, in_file_order, nearest_of, shown, text_value};
use crate::config::keys::{self, KEYS, ValueKind};
use crate::config::kinds::{CoreKind, KindCores, OWN, own_name};
use crate::config::limits::MOST_CORES;
use crate::value::{text, whole};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of a kind that are not keys of `[core]`.
const HEAD: [(&str, ValueKind, &str); 3] = [
    ("name", ValueKind::Parsed(CoreKind::NAME, CoreKind::is_name), "what the kind is called"),
    ("cores", ValueKind::Parsed(CoreKind::CORES, |text| CoreKind::parse_cores(text).is_some()), "its cores"),
    ("count", ValueKind::Count(1, MOST_CORES), "how many cores"),
];

/// Returns the names of all keys that a kind may have.
fn allowed() -> Vec<&'static str> {
    HEAD.iter().map(|(name, ..)| *name).chain(OWN.iter().map(|path| path.trim_start_matches("core."))).collect()
}

impl Reading {
    /// Reads `[[core.kind]]`, a list of tables.
    pub(super) fn kinds(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        place: &dyn Fn(usize) -> KeyPlace,
    ) -> Result<(), (KeyPlace, Problem)> {
        let here = place(value.span().start);
        let wrong = |value: &DeValue<'_>| Problem::Value {
            key: "core.kind".to_owned(),
            found: shown(value),
            expected: "tables, each under [[core.kind]]".to_owned(),
        };
        let DeValue::Array(tables) = value.get_ref() else { return Err((here, wrong(value.get_ref()))) };
        // Kinds divide the cores among them, so that a file uses either all kinds of its base or
        // only its own.
        self.chip.core.kinds.0.clear();
        self.kind_places.clear();
        for table in tables.iter() {
            let here = place(table.span().start);
            let DeValue::Table(inner) = table.get_ref() else { return Err((here, wrong(table.get_ref()))) };
            self.chip.core.kinds.0.push(CoreKind::default());
            self.kind_places.push(Vec::new());
            let number = self.chip.core.kinds.0.len() - 1;
            self.kind_table(number, "", inner, place)?;
            let kind = &self.chip.core.kinds.0[number];
            let missing = |key: &str, what: &str, expected: &str| {
                let (key, what) = (format!("core.kind.{key}"), what.to_owned());
                Err((here, Problem::Missing { key, what, expected: expected.to_owned(), next: None }))
            };
            if kind.name.is_empty() {
                return missing("name", HEAD[0].2, CoreKind::NAME);
            }
            if kind.cores == KindCores::Count(0) {
                return missing("cores", HEAD[1].2, &format!("{}, or core.kind.count", CoreKind::CORES));
            }
        }
        Ok(())
    }

    fn kind_table(
        &mut self,
        kind: usize,
        prefix: &str,
        table: &DeTable<'_>,
        place: &dyn Fn(usize) -> KeyPlace,
    ) -> Result<(), (KeyPlace, Problem)> {
        for (name, value) in in_file_order(table) {
            let name_here = place(name.span().start);
            let path = format!("{prefix}{}", name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => self.kind_table(kind, &format!("{path}."), inner, place)?,
                value => self.kind_key(kind, &path, value, name_here).map_err(|problem| (name_here, problem))?,
            }
        }
        Ok(())
    }

    /// Reads a key of a kind.
    fn kind_key(&mut self, kind: usize, name: &str, value: &DeValue<'_>, place: KeyPlace) -> Result<(), Problem> {
        let path = format!("core.kind.{name}");
        let head = HEAD.iter().find(|(head, ..)| *head == name);
        let own = OWN.iter().find(|own| own_name(own) == name).and_then(|own| keys::find(own));
        let takes = match (head, own) {
            (Some((_, takes, _)), _) => *takes,
            (_, Some(key)) => key.kind,
            _ if KEYS.iter().any(|key| key.path == name || key.path == format!("core.{name}")) => {
                return Err(Problem::Common { key: path, allowed: allowed().join(", ") });
            }
            _ => {
                return Err(Problem::Unknown {
                    key: path,
                    nearest: format!("core.kind.{}", nearest_of(name, &allowed())),
                });
            }
        };
        let Some(read) = found_value(takes, value).filter(|read| takes.takes(read)) else {
            return Err(Problem::Value { key: path, found: shown(value), expected: takes.expected() });
        };
        let of = &mut self.chip.core.kinds.0[kind];
        let twice = place != KeyPlace::CommandLine && of.cores != KindCores::Count(0);
        match name {
            "name" => of.name = text(read),
            "cores" | "count" if twice => {
                let expected = "one of core.kind.cores and core.kind.count".to_owned();
                return Err(Problem::Together { key: path, found: shown(value), expected });
            }
            "cores" => of.cores = KindCores::Named(CoreKind::parse_cores(&text(read)).unwrap_or_default()),
            "count" => of.cores = KindCores::Count(whole(read) as u32),
            _ => {
                if let Some(key) = own {
                    of.set(key.path, read);
                }
            }
        }
        self.kind_places[kind].push((path, place));
        Ok(())
    }

    /// Reads `core.kind.NAME.KEY=value` from the command line; `path` is the part after
    /// `core.kind.`.
    pub(super) fn kind_setting(&mut self, path: &str, value: &str) -> Result<(), Problem> {
        let (name, key) = path.split_once('.').unwrap_or((path, ""));
        let kinds = &self.chip.core.kinds.0;
        let Some(kind) = kinds.iter().position(|kind| kind.name == name) else {
            let names = kinds.iter().map(|kind| format!("\"{}\"", kind.name)).collect::<Vec<_>>();
            let expected =
                if names.is_empty() { "none: the chip has no [[core.kind]]".into() } else { names.join(" or ") };
            return Err(Problem::Value { key: "core.kind".to_owned(), found: format!("\"{name}\""), expected });
        };
        let is_text = matches!(key, "name" | "cores");
        text_value(is_text, value, &mut |value| self.kind_key(kind, key, value.get_ref(), KeyPlace::CommandLine))
    }
}
