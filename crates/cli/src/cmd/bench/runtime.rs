//! OpenMP runtimes that a program built by GCC can load as `libgomp.so.1`: the installed libgomp,
//! LLVM's libomp, and Baton's with a choice of locks, barriers, waits and queues of tasks.

use crate::cmd::openmp::Names;
use crate::error::BadInput;
use anyhow::Context;
use baton_host::launch::exec::Exec;
use baton_host::launch::openmp;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names of runtimes.
const NAMES: [&str; 3] = ["libgomp", "baton", "libomp"];
/// Where distributions install LLVM's library.
const LIBOMP: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/libomp.so.5",
    "/usr/lib/aarch64-linux-gnu/libomp.so.5",
    "/usr/lib64/libomp.so",
    "/usr/lib/libomp.so",
];

/// A runtime to measure.
pub(super) struct Runtime {
    /// The name in tables.
    pub(super) name: String,
    /// The environment variables of its programs.
    variables: Vec<(&'static str, OsString)>,
}

/// The settings of Baton's runtime. Each combination is a runtime of its own.
pub(super) struct BatonSettings<'a> {
    pub(super) locks: &'a [String],
    pub(super) barriers: &'a [String],
    pub(super) waits: &'a [String],
    pub(super) tasks: &'a [String],
}

impl Runtime {
    /// The runtimes of these names. `scratch` is a folder for links, `libomp` a file to take for LLVM's library.
    pub(super) fn all(
        names: &[String],
        settings: &BatonSettings<'_>,
        libomp: Option<&Path>,
        scratch: &Path,
    ) -> anyhow::Result<Vec<Runtime>> {
        let mut all = Vec::new();
        for name in names {
            match name.as_str() {
                "libgomp" => all.push(Runtime { name: name.clone(), variables: Vec::new() }),
                "baton" => all.extend(batons(settings)?),
                "libomp" => all.push(llvms(libomp, scratch)?),
                other => return Err(BadInput::unknown("OpenMP runtime", other, NAMES).into()),
            }
        }
        Ok(all)
    }

    /// Sets the environment so that the program runs on this runtime.
    pub(super) fn set(&self, exec: &mut Exec) {
        for (name, value) in &self.variables {
            exec.set(name, value);
        }
    }
}

/// Baton's runtime, once for each combination of settings.
fn batons(settings: &BatonSettings<'_>) -> anyhow::Result<Vec<Runtime>> {
    let path = openmp::search_path(&openmp::find()?);
    // `None` stands for the runtime's default.
    let each = |values: &[String]| -> Vec<Option<String>> {
        if values.is_empty() { vec![None] } else { values.iter().cloned().map(Some).collect() }
    };
    let kinds = [settings.locks, settings.barriers, settings.waits, settings.tasks].map(each);
    let mut all = Vec::new();
    for [lock, barrier, wait, tasks] in combinations(&kinds) {
        let used: Vec<&str> = [&lock, &barrier, &wait, &tasks].into_iter().flatten().map(String::as_str).collect();
        let name = if used.is_empty() { "baton".into() } else { format!("baton {}", used.join(" ")) };
        let names = Names { runtime: "baton".into(), lock, barrier, wait, tasks };
        let mut variables = vec![("LD_LIBRARY_PATH", path.clone())];
        variables.extend(names.check()?.into_iter().map(|(name, value)| (name, value.into())));
        all.push(Runtime { name, variables });
    }
    Ok(all)
}

/// Every combination of one value of each kind. The last kind changes fastest.
fn combinations<const N: usize, T: Clone + Default>(kinds: &[Vec<T>; N]) -> Vec<[T; N]> {
    let mut all = vec![core::array::from_fn(|_| T::default())];
    for (at, kind) in kinds.iter().enumerate() {
        let with = |one: &[T; N]| {
            let one = one.clone();
            kind.iter().map(move |value| {
                let mut next = one.clone();
                next[at] = value.clone();
                next
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// LLVM's runtime, in a folder of its own under the name that programs built by GCC ask for.
fn llvms(file: Option<&Path>, scratch: &Path) -> anyhow::Result<Runtime> {
    let library = match file {
        Some(file) => file.to_owned(),
        None => LIBOMP.iter().map(PathBuf::from).find(|path| path.is_file()).ok_or_else(|| {
            BadInput::new(format!("LLVM's OpenMP library is not installed (looked for {})", LIBOMP.join(", ")))
                .hint("Debian's package is libomp5; or name the file: --libomp FILE; or leave libomp out of --runtime")
        })?,
    };
    let library =
        library.canonicalize().map_err(|why| BadInput::new(format!("--libomp {}: {why}", library.display())))?;
    let folder = scratch.join("libomp");
    std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let link = folder.join("libgomp.so.1");
    std::os::unix::fs::symlink(&library, &link).with_context(|| format!("cannot make {}", link.display()))?;
    Ok(Runtime { name: "libomp".into(), variables: vec![("LD_LIBRARY_PATH", openmp::search_path(&folder))] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(names: &[&str], libomp: Option<&Path>) -> anyhow::Result<Vec<Runtime>> {
        let scratch = tempfile::tempdir()?;
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let none = BatonSettings { locks: &[], barriers: &[], waits: &[], tasks: &[] };
        Runtime::all(&names, &none, libomp, scratch.path())
    }

    #[test]
    fn names_are_checked_and_a_library_that_is_not_there_is_named() {
        let error = all(&["libgmp"], None).err().unwrap();
        assert!(error.to_string().contains("libgmp"), "{error}");
        let error = all(&["libomp"], Some(Path::new("/no/such/lib.so"))).err().unwrap();
        assert!(error.to_string().contains("--libomp /no/such/lib.so"), "{error}");
    }

    #[test]
    fn llvms_library_lies_under_gccs_name() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("any.so");
        std::fs::write(&file, "").unwrap();
        let runtime = llvms(Some(&file), scratch.path()).unwrap();
        let link = scratch.path().join("libomp/libgomp.so.1");
        assert_eq!(link.canonicalize().unwrap(), file.canonicalize().unwrap());
        assert!(runtime.variables[0].1.to_string_lossy().starts_with(&*link.parent().unwrap().to_string_lossy()));
    }
}
