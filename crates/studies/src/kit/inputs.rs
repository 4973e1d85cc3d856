//! The inputs of a study: chip files and folders of profiles. Every result contains their hashes.

use crate::{Frozen, StudyError, hash};
use baton_chip::Chip;
use baton_chip::config::ChipText;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A chip file that was read and checked.
#[derive(Clone, Debug)]
pub struct ChipFile {
    text: ChipText,
    /// Settings that the user gave: they replace keys of the file.
    settings: Vec<String>,
    /// The chip that the file and the settings describe.
    pub chip: Chip,
}

impl ChipFile {
    /// Reads a chip file and the files on which it is based. A base is in the same folder, or is
    /// found by name in one of `folders`.
    ///
    /// # Errors
    /// The file, line and key that are wrong.
    pub fn open(path: &Path, folders: &[PathBuf]) -> Result<ChipFile, StudyError> {
        ChipFile::open_with(path, folders, &[])
    }

    /// Like [`ChipFile::open`]. `settings` (`key=value`) replace keys of the file, and experiments build on the result.
    ///
    /// # Errors
    /// A chip file cannot be opened, as [`ChipFile::open`] says, or a setting is wrong.
    pub fn open_with(path: &Path, folders: &[PathBuf], settings: &[String]) -> Result<ChipFile, StudyError> {
        let text = ChipText::open(path, folders).map_err(StudyError::input)?;
        let chip = text.chip(None, settings).map_err(StudyError::input)?;
        Ok(ChipFile { text, settings: settings.to_vec(), chip })
    }

    /// An error that names this file.
    pub fn wrong(&self, why: impl Display) -> StudyError {
        StudyError::input(format!("{}: {why}", self.text.file()))
    }

    /// Returns the whole chip under these settings as text with every key and value, for the inputs
    /// of a run. If `cores` is given, the chip is resized before the settings apply.
    ///
    /// # Errors
    /// The setting that is wrong.
    pub fn with(&self, cores: Option<u32>, settings: &[String]) -> Result<String, String> {
        let chip = self.text.chip(cores, &[&self.settings, settings].concat());
        Ok(chip.map_err(|error| error.to_string())?.to_toml())
    }
}

/// The inputs with which a study is opened.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The chips, in the order in which the study names them.
    pub chips: Vec<ChipFile>,
    /// The folders of profiles, in the study's order. The study reads them itself, because profiles
    /// are of many kinds.
    pub profiles: Vec<PathBuf>,
}

impl Inputs {
    /// Reads the chip files; the study reads the profiles itself.
    ///
    /// # Errors
    /// The errors of [`ChipFile::open`].
    pub fn open(chips: &[PathBuf], profiles: Vec<PathBuf>) -> Result<Inputs, StudyError> {
        Inputs::open_with(chips, &[], profiles, &[])
    }

    /// Like [`Inputs::open`]. `folders` hold the chip files on which the given ones may be based; `settings`
    /// replace keys of all chip files.
    ///
    /// # Errors
    /// Like [`ChipFile::open_with`].
    pub fn open_with(
        chips: &[PathBuf],
        folders: &[PathBuf],
        profiles: Vec<PathBuf>,
        settings: &[String],
    ) -> Result<Inputs, StudyError> {
        let chips = chips.iter().map(|path| ChipFile::open_with(path, folders, settings)).collect::<Result<_, _>>()?;
        Ok(Inputs { chips, profiles })
    }

    /// The hashes of what is frozen: the chip files, the profiles, and the rules ([`rules`]).
    pub fn frozen(&self, profiles: impl Into<String>, rules: String) -> Frozen {
        let of = |hash: hash::Hash, chip: &ChipFile| {
            chip.settings.iter().fold(hash.and(chip.text.text()), |hash, setting| hash.and(setting))
        };
        let chips = self.chips.iter().fold(hash::Hash::default(), of);
        Frozen { chip: chips.short(), profiles: profiles.into(), rules, commit: crate::COMMIT.to_owned() }
    }
}

/// The name of a study's rules: a hash of the files that state them. If the files were reformatted
/// without a change of any rule, `restated` keeps the old name: its first text is the hash of the
/// reformatted files, its second the name under which the rules were frozen.
pub fn rules(files: &[&str], restated: Option<[&str; 2]>) -> String {
    let now = files.iter().fold(hash::Hash::default(), |hash, file| hash.and(file)).short();
    restated.filter(|[form, _]| *form == now).map_or(now, |[_, name]| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chip_file_counts_and_so_does_their_order() {
        let [a, b] = ["ocor64", "caf16"].map(|name| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips");
            ChipFile::open(&root.join(format!("{name}.toml")), &[]).unwrap()
        });
        let of = |chips: &[&ChipFile]| {
            let chips = chips.iter().map(|&chip| chip.clone()).collect();
            Inputs { chips, profiles: Vec::new() }.frozen("", String::new()).chip
        };
        let all = [of(&[&a]), of(&[&b]), of(&[&a, &b]), of(&[&b, &a])];
        assert_eq!(all[0], hash::of(a.text.text()).short());
        assert!((0..4).all(|i| !all[..i].contains(&all[i])), "{all:?}");
    }

    #[test]
    fn settings_of_the_user_are_in_every_run_and_in_what_is_frozen() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../chips/ocor64.toml");
        let open = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
            Inputs::open_with(std::slice::from_ref(&path), &[], Vec::new(), &settings)
        };
        let (plain, set) = (open(&[]).unwrap(), open(&["wait.pause=77"]).unwrap());
        assert_ne!(plain.frozen("", String::new()).chip, set.frozen("", String::new()).chip);
        let run = |inputs: &Inputs, settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
            inputs.chips[0].with(None, &settings).unwrap()
        };
        assert!(run(&set, &["noise.latency=0.5"]).contains("pause = 77") && set.chips[0].chip != plain.chips[0].chip);
        // An experiment's own setting of the key counts.
        assert_eq!(run(&set, &["wait.pause=5"]), run(&plain, &["wait.pause=5"]));
        assert!(open(&["wait.paws=7"]).unwrap_err().to_string().contains("wait.paws"));
    }

    #[test]
    fn rules_in_another_form_keep_their_name_until_they_change() {
        let name = rules(&["a", "b"], None);
        assert_eq!(rules(&["c"], Some([&rules(&["c"], None), &name])), name);
        assert_ne!(rules(&["d"], Some([&rules(&["c"], None), &name])), name);
        assert_ne!(rules(&["ab"], None), name);
    }
}
