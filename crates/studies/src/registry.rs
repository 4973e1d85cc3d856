//! The studies by name. `baton study` and its help take what they know about a study from its
//! entry.

use crate::kit::Inputs;
use crate::{Extent, Findings, Progress, Study, StudyError, Work, conduct};
use std::path::{Path, PathBuf};

pub struct Registry(pub &'static [Entry]);

/// What a study states about itself, and how it is opened.
pub struct Entry {
    /// The name, as in `baton study NAME`.
    pub name: &'static str,
    /// The paper whose claims the study judges.
    pub paper: &'static str,
    /// The documentation page.
    pub page: &'static str,
    /// What a quick study does, and how long it takes, in a few words.
    pub quick: &'static str,
    /// The chip files that the study uses if no others are named; all of them are hashed into what
    /// is frozen.
    pub chips: &'static [&'static str],
    /// The folders of profiles that the study uses if no others are named.
    pub profiles: &'static [&'static str],
    /// Opens the study.
    pub open: fn(&Inputs) -> Result<Box<dyn AnyStudy>, StudyError>,
}

/// A study of any type. Its types of runs and figures are not known to the caller.
pub trait AnyStudy: Sync {
    /// Conducts the study in `folder`: [`conduct`].
    ///
    /// # Errors
    /// Like [`conduct`].
    fn conduct(&self, extent: Extent, folder: &Path, progress: &dyn Progress) -> Result<(Findings, Work), StudyError>;
}

impl<S: Study> AnyStudy for S {
    fn conduct(&self, extent: Extent, folder: &Path, progress: &dyn Progress) -> Result<(Findings, Work), StudyError> {
        conduct(self, extent, folder, progress)
    }
}

impl Registry {
    /// Finds a study by name.
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.0.iter().find(|entry| entry.name == name)
    }

    /// Returns the names in the order of the registry.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|entry| entry.name)
    }
}

impl Entry {
    /// Opens the study with these chip files and folders of profiles; empty lists stand for the
    /// study's own.
    ///
    /// # Errors
    /// What is wrong with a file: its name, line, key, and what was expected; or how many files the
    /// study takes.
    pub fn open(&self, chips: &[PathBuf], profiles: &[PathBuf]) -> Result<Box<dyn AnyStudy>, StudyError> {
        (self.open)(&self.inputs(chips, &[], profiles, &[])?)
    }

    /// The inputs with which [`Entry::open`] opens the study. `folders` hold the chip files on which the given
    /// ones may be based; `settings` (`key=value`) replace keys of all chip files.
    ///
    /// # Errors
    /// Like [`Entry::open`].
    pub fn inputs(
        &self,
        chips: &[PathBuf],
        folders: &[PathBuf],
        profiles: &[PathBuf],
        settings: &[String],
    ) -> Result<Inputs, StudyError> {
        let chips = self.those(chips, self.chips, "chip files")?;
        let profiles = self.those(profiles, self.profiles, "folders of profiles")?;
        Inputs::open_with(&chips, folders, profiles, settings)
    }

    fn those(&self, given: &[PathBuf], own: &[&str], what: &str) -> Result<Vec<PathBuf>, StudyError> {
        if given.is_empty() {
            return Ok(own.iter().map(PathBuf::from).collect());
        }
        if given.len() != own.len() {
            let (name, count) = (self.name, given.len());
            let own = if own.is_empty() {
                format!("no {what}")
            } else {
                format!("{} {what} ({})", own.len(), own.join(", "))
            };
            return Err(StudyError::input(format!("study `{name}` takes {own}; {count} given")));
        }
        Ok(given.to_vec())
    }
}
