//! All profiles of a folder, and one hash over them, which a study freezes.

use super::keys::DRAW;
use super::profile::{Numbered, Profile};
use super::read::{Problem, ProfileError};
use std::path::Path;

/// The profiles of a folder, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The profiles, in the order of their names.
    pub profiles: Vec<Profile>,
    /// A hash over names and texts of the files: 16 hexadecimal digits. The hash changes with every
    /// byte of them.
    pub hash: String,
}

impl Set {
    /// Reads every `*.toml` in `folder`.
    ///
    /// # Errors
    /// The file, the line, the key and what was expected.
    pub fn open(folder: &Path) -> Result<Set, ProfileError> {
        let at = || folder.display().to_string();
        let failed = |file, problem| ProfileError { file, line: None, problem };
        let unreadable = |error: std::io::Error| failed(at(), Problem::Unreadable(error.to_string()));
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let text = std::fs::read_to_string(&path);
                let text = text.map_err(|e| failed(path.display().to_string(), Problem::Unreadable(e.to_string())))?;
                files.push((path, text));
            }
        }
        if files.is_empty() {
            return Err(failed(at(), Problem::Empty));
        }
        files.sort();
        let mut hash = Fnv::default();
        let mut profiles: Vec<Profile> = Vec::new();
        for (path, text) in &files {
            let file = path.display().to_string();
            let profile = Profile::from_toml(text, &file)?;
            if profiles.iter().any(|other| other.name == profile.name) {
                return Err(failed(file, Problem::Twice(profile.name)));
            }
            hash.add(path.file_name().unwrap_or_default().as_encoded_bytes());
            hash.add(text.as_bytes());
            profiles.push(profile);
        }
        profiles.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Set { profiles, hash: hash.text() })
    }

    /// The profile with that name.
    pub fn get(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }
}

/// FNV-1a of 64 bits, which notices a change and is no proof against malice.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds a piece and its length, so that the pieces' bounds count as well.
    fn add(&mut self, piece: &[u8]) {
        for &byte in piece.iter().chain(&(piece.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The comment at which the draws of a profile file begin.
const DRAWS: &str = "\n# Draws, as the fit found them.\n";

/// The text of a profile file with one more draw at its end, and a remark of one line.
pub fn with_draw(text: &str, drawn: &Numbered, remark: &str) -> String {
    let mut out = text.trim_end().to_owned() + "\n";
    if !text.contains("\n[[draw]]") {
        out += DRAWS;
    }
    out += &format!("\n# {remark}\n[[draw]]\nnumber = {}\n", drawn.number);
    for key in DRAW {
        out += &format!("{} = {}\n", key.name, key.written(&drawn.draw));
    }
    out
}
