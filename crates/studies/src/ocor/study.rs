//! The inputs of the study: its chip, profiles and programs. Other files add to [`Ocor`] what they do with them.

use super::program::Program;
use crate::Frozen;
use crate::kit::ChipFile;
use baton_programs::synthetic::Profile;

/// The study.
pub struct Ocor {
    pub(super) chip: ChipFile,
    /// Routers on the longest way through the chip's mesh; `None` for another topology.
    pub(super) routers: Option<u32>,
    pub(super) profiles: Vec<Profile>,
    pub(super) programs: Vec<Program>,
    /// Names of profiles that have no draw yet.
    pub(super) without: Vec<String>,
    pub(super) frozen: Frozen,
}

/// The program whose first cycles figure 10 shows.
pub(super) const WINDOW: &str = "bodytrack";
