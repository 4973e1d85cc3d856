//! Dependences of tasks, as clang lists them.

use baton_omp::tasks::Depend;

/// LLVM's `kmp_depend_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Listed {
    address: usize,
    bytes: usize,
    kind: u8,
}

/// `in` alone.
const IN: u8 = 1;
/// `omp_all_memory`.
const ALL: u8 = 0x80;

/// The dependences of a task.
pub(crate) struct Depends {
    pub(crate) list: Vec<Depend>,
    /// Whether the task depends on all earlier tasks, and all later ones on it.
    pub(crate) all: bool,
}

impl Depends {
    /// The dependences of a task that has none.
    pub(crate) fn none() -> Depends {
        Depends { list: Vec::new(), all: false }
    }
}

/// Reads the compiler's two lists.
///
/// # Safety
/// Each list has as many entries as its count says, or the count is 0.
pub(crate) unsafe fn read(lists: [(i32, *const Listed); 2]) -> Depends {
    // SAFETY: by contract.
    let entries = lists
        .into_iter()
        .flat_map(|(count, list)| (0..count.max(0) as usize).map(move |at| unsafe { list.add(at).read() }));
    let mut depends = Depends::none();
    for Listed { address, kind, .. } in entries {
        if kind & ALL != 0 {
            depends.all = true;
        } else {
            depends.list.push(Depend { address, reads: kind == IN });
        }
    }
    depends
}
