//! `store.json`: the form of a store, what computed its rows, and its columns.

use super::column::{Column, Role};
use super::error::StoreError;
use super::whole::write_whole;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The name of the file.
pub(crate) const FILE: &str = "store.json";
/// The form of a store. A change that breaks a reader raises the number.
pub(crate) const SCHEMA: &str = "baton-store/1";

/// What a store says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of the store.
    pub schema: String,
    /// The version of what computed the rows.
    pub computes: String,
    /// The command whose figures the rows are.
    pub command: String,
    /// Coordinates and figures.
    pub columns: Vec<Column>,
    /// The text of the space whose sweep added to the store last.
    pub space: SpaceText,
}

/// The file of a space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceText {
    /// The absolute path of the file.
    pub file: String,
    /// The content of the file.
    pub text: String,
}

impl Manifest {
    /// The manifest of a store for this command and these columns.
    pub fn new(computes: String, command: &str, columns: Vec<Column>, space: SpaceText) -> Manifest {
        Manifest { schema: SCHEMA.to_owned(), computes, command: command.to_owned(), columns, space }
    }

    /// Reads the manifest of the store in `folder`; `None` if there is none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Manifest>, StoreError> {
        #[derive(Deserialize)]
        struct Form {
            schema: String,
        }
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(&path, "read")(error)),
        };
        let damaged = |error: serde_json::Error| StoreError::Damaged { path: path.clone(), why: error.to_string() };
        let form: Form = serde_json::from_str(&text).map_err(damaged)?;
        if form.schema != SCHEMA {
            let why = format!("this store has the form {}, and this baton reads {SCHEMA}", form.schema);
            return Err(StoreError::Other { path: folder.to_owned(), why });
        }
        serde_json::from_str(&text).map(Some).map_err(damaged)
    }

    /// Writes the manifest into the store in `folder`.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| StoreError::Damaged { path: path.clone(), why: error.to_string() })?;
        write_whole(&path, &mut |file| std::io::Write::write_all(file, text.as_bytes()))
    }

    /// Checks that a store with this manifest takes rows of `wanted`.
    ///
    /// # Errors
    /// The first difference between the two.
    pub(crate) fn takes(&self, wanted: &Manifest) -> Result<(), String> {
        if self.command != wanted.command {
            return Err(format!(
                "holds points of `baton {}`, and the space is for `baton {}`",
                self.command, wanted.command
            ));
        }
        if self.computes != wanted.computes {
            return Err(format!("its rows were computed by {}, and this is {}", self.computes, wanted.computes));
        }
        for (role, name) in [(Role::Coordinate, "coordinate"), (Role::Figure, "metric")] {
            let of = |manifest: &Manifest| -> Vec<Column> {
                manifest.columns.iter().filter(|column| column.role == role).cloned().collect()
            };
            let (own, new) = (of(self), of(wanted));
            let lacks = |a: &[Column], b: &[Column]| {
                b.iter()
                    .find(|column| a.iter().all(|other| other.name != column.name))
                    .map(|column| column.name.clone())
            };
            if let Some(missing) = lacks(&own, &new) {
                return Err(format!("is of another space: it has no {name} `{missing}`"));
            }
            if let Some(more) = lacks(&new, &own) {
                return Err(format!("is of another space, which has a {name} `{more}`"));
            }
            let fits = |column: &&Column| {
                let other = own.iter().find(|other| other.name == column.name);
                other.is_some_and(|other| column.kind.with(other.kind) == Some(other.kind) && column.unit == other.unit)
            };
            if let Some(column) = new.iter().find(|column| !fits(column)) {
                let other = own.iter().find(|other| other.name == column.name);
                let kind = other.map_or("none", |other| other.kind.name());
                return Err(format!(
                    "is of another space: {name} `{}` has {kind} there, and {} here",
                    column.name,
                    column.kind.name()
                ));
            }
            for column in &new {
                let other = own.iter().find(|other| other.name == column.name);
                if let Some(other) = other.filter(|other| !other.source.is_empty() && other.source != column.source) {
                    return Err(format!(
                        "is of another space: {name} `{}` is `{}` there, and `{}` here",
                        column.name, other.source, column.source
                    ));
                }
            }
        }
        Ok(())
    }
}
