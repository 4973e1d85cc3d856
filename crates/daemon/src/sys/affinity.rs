//! The masks of threads.

use baton_machine::discover::cpulist;
use std::io::{Error, Result};

/// Words of a mask: 8,192 CPUs.
const WORDS: usize = 128;
const BITS: u32 = u64::BITS;

/// Returns the CPUs on which the thread may run, ascending.
///
/// # Errors
/// `ESRCH` if there is no such thread.
pub(crate) fn get(tid: u32) -> Result<Vec<u32>> {
    let mut mask = [0_u64; WORDS];
    // SAFETY: the kernel writes at most the size that is passed into the local array.
    let wrote = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, size_of_val(&mask), mask.as_mut_ptr()) };
    if wrote < 0 {
        return Err(Error::last_os_error());
    }
    // The kernel says how many bytes it has; a machine of 64 CPUs has eight. The bits of each word that
    // are set, from the lowest on.
    let words = (0..).zip(mask.iter().copied().take(wrote as usize / size_of::<u64>()));
    let bits = |(at, word): (u32, u64)| {
        let rest = std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
        rest.take_while(|word| *word != 0).map(move |word| at * BITS + word.trailing_zeros())
    };
    Ok(words.flat_map(bits).collect())
}

/// Returns all of the thread's mask, also CPUs that are off; `None` if there is no such thread.
pub(crate) fn whole(pid: u32, tid: u32) -> Option<Vec<u32>> {
    let list = super::proc::status(&format!("/proc/{pid}/task/{tid}/status"), "Cpus_allowed_list:")?;
    cpulist::parse(&list).filter(|cpus| !cpus.is_empty())
}

/// Lets the thread run on these CPUs only.
///
/// # Errors
/// `ESRCH` if there is no such thread, `EPERM` if it belongs to another user, `EINVAL` if it may
/// run on none of the CPUs.
pub(crate) fn set(tid: u32, cpus: &[u32]) -> Result<()> {
    let mut mask = [0_u64; WORDS];
    for &cpu in cpus.iter().filter(|&&cpu| cpu < WORDS as u32 * BITS) {
        mask[(cpu / BITS) as usize] |= 1 << (cpu % BITS);
    }
    // SAFETY: the kernel reads the local array, of the size that is passed.
    let set = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(&mask), mask.as_ptr()) };
    if set == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::proc::own_tid;

    #[test]
    fn a_mask_is_read_and_set() {
        std::thread::spawn(|| {
            let before = get(0).unwrap();
            set(own_tid(), &before[..1]).unwrap();
            assert_eq!(get(own_tid()).unwrap(), before[..1]);
            assert_eq!(whole(std::process::id(), own_tid()).as_deref(), Some(&before[..1]));
            set(0, &before).unwrap();
            assert_eq!(get(0).unwrap(), before);
            assert_eq!(set(0, &[]).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        })
        .join()
        .unwrap();
        assert_eq!(get(u32::MAX >> 1).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
