//! Dependences of tasks, as clang lists them.

use crate::ompt::thread::Dependence;
use baton_omp::tasks::Depend;
use baton_omp::tasks::depend::ALL;

/// LLVM's `kmp_depend_info_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Listed {
    address: usize,
    bytes: usize,
    kind: u8,
}

/// The kind of `in` alone.
const IN: u8 = 1;
/// The bit of `omp_all_memory`.
const ALL_MEMORY: u8 = 0x80;

/// Dependences as a tool is told of them, from the compiler's two lists.
///
/// # Safety
/// As for [`read`].
pub(crate) unsafe fn listed(lists: [(i32, *const Listed); 2]) -> Vec<Dependence> {
    let one = |Listed { address, kind, .. }: Listed| {
        let kind = match kind {
            1 => 1,
            2 => 2,
            3 => 3,
            4 => 4,
            8 => 7,
            kind if kind & ALL_MEMORY != 0 => 34,
            _ => 3,
        };
        Dependence { variable: address as u64, kind }
    };
    // SAFETY: by contract.
    let entries =
        |(count, list): (i32, *const Listed)| (0..count.max(0) as usize).map(move |at| unsafe { list.add(at).read() });
    lists.into_iter().flat_map(entries).map(one).collect()
}

/// Reads the compiler's two lists.
///
/// # Safety
/// Each list has as many entries as its count says, or the count is 0.
pub(crate) unsafe fn read(lists: [(i32, *const Listed); 2]) -> Vec<Depend> {
    let one = |Listed { address, kind, .. }: Listed| {
        // The address with all bits set is that of all memory too.
        let address = if kind & ALL_MEMORY != 0 { ALL } else { address };
        Depend { address, reads: kind == IN && address != ALL }
    };
    // SAFETY: by contract.
    let entries =
        |(count, list): (i32, *const Listed)| (0..count.max(0) as usize).map(move |at| unsafe { list.add(at).read() });
    lists.into_iter().flat_map(entries).map(one).collect()
}
