//! The page on which an application's threads say what they wait for
//! ([`baton_machine::native::notices`]). The page is hostile input: the application may write
//! anything, at any time, so each word is read once and nothing is taken from it but numbers.

use baton_machine::native::notices::{
    ADDRESS, ANSWER, AT_BARRIER, AT_LOCK, HOLDS, HOLDS_COUNT, LENGTH, LISTENS, MAGIC, MASK, MASK_COUNT, MASKS, OWN,
    OWNER, ROW, ROW_COUNT, ROWS, SINCE, TAKEN, UNTOLD, WAITS,
};
use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// A page, shared with the programs of one application.
pub(crate) struct Page {
    file: OwnedFd,
    at: *mut AtomicU64,
    /// The users' masks that stand on the page, from number 2 on.
    users: Vec<Vec<u32>>,
}

// SAFETY: the mapping belongs to this value, and its words are atomic.
unsafe impl Send for Page {}

/// What a thread has written into its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    /// The address for which the thread waits, whether a barrier is there, and when the wait began (0:
    /// not known).
    pub(crate) waits: Option<(u64, bool, u64)>,
    /// The locks that it holds, each with a number that tells one hold from the next one.
    pub(crate) holds: [Option<(u64, u16)>; HOLDS_COUNT],
    /// How often the program has set the thread's mask itself.
    pub(crate) own: u64,
    /// Whether the row has an answer for this thread.
    pub(crate) answered: bool,
}

impl Page {
    /// Makes a page. `listens` says what the daemon listens to.
    ///
    /// # Errors
    /// If the kernel gives no memory.
    pub(crate) fn make(listens: u64) -> Result<Page> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the name ends with a zero byte, and the descriptor is new.
        let file = unsafe { libc::memfd_create(c"baton-sched".as_ptr(), flags) };
        if file < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: as above; nothing else owns the descriptor.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        // A program could shrink the file, and an access behind its end would kill this process.
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: the calls take numbers; the mapping is new memory of the file.
        let at = unsafe {
            if libc::ftruncate(file.as_raw_fd(), LENGTH as libc::off_t) != 0
                || libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) != 0
            {
                return Err(Error::last_os_error());
            }
            libc::mmap(std::ptr::null_mut(), LENGTH, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if at == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let page = Page { file, at: at.cast(), users: Vec::new() };
        page.word(LISTENS).store(listens, Ordering::Relaxed);
        page.word(0).store(MAGIC, Ordering::Relaxed);
        Ok(page)
    }

    /// The path by which programs of this user open the page while this process lives.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < LENGTH / 8);
        // SAFETY: the mapping has LENGTH bytes and lives as long as this value.
        unsafe { &*self.at.add(at) }
    }

    fn row_word(&self, number: usize, at: usize) -> &AtomicU64 {
        self.word(ROWS + number % ROW_COUNT * ROW + at)
    }

    /// The number of rows that are or were in use.
    pub(crate) fn rows(&self) -> usize {
        self.word(TAKEN).load(Ordering::Relaxed).min(ROW_COUNT as u64) as usize
    }

    /// The number of threads for which no row was left, as the programs have counted.
    pub(crate) fn untold(&self) -> u64 {
        self.word(UNTOLD).load(Ordering::Relaxed)
    }

    /// Reads a row; `None` if no thread has it.
    pub(crate) fn row(&self, number: usize) -> Option<Row> {
        let word = |at: usize| self.row_word(number, at).load(Ordering::Relaxed);
        let owner = word(OWNER);
        if owner == 0 {
            return None;
        }
        // Acquire: the time belongs to this wait, or to a later one.
        let what = self.row_word(number, WAITS).load(Ordering::Acquire);
        let (address, barrier) = (what & ADDRESS, what & AT_BARRIER != 0);
        let waits = (what & (AT_LOCK | AT_BARRIER) != 0).then(|| (address, barrier, word(SINCE)));
        let holds = std::array::from_fn(|at| {
            let hold = word(HOLDS + at);
            (hold & ADDRESS != 0).then_some((hold & ADDRESS, (hold >> 48) as u16))
        });
        let (pid, tid) = ((owner >> 32) as u32, owner as u32);
        Some(Row { pid, tid, waits, holds, own: word(OWN), answered: word(ANSWER) as u32 == tid })
    }

    /// Writes the CPUs of both kinds that are on.
    pub(crate) fn kinds(&self, fast: &[u32], slow: &[u32]) {
        self.mask(0, fast);
        self.mask(1, slow);
    }

    fn mask(&self, number: usize, cpus: &[u32]) {
        let mut words = [0; MASK];
        for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < MASK * 64) {
            words[cpu as usize / 64] |= 1_u64 << (cpu % 64);
        }
        for (at, word) in words.into_iter().enumerate() {
            self.word(MASKS + number * MASK + at).store(word, Ordering::Relaxed);
        }
    }

    /// Says in a row that this is the user's mask of the thread. If more masks are in use than the page
    /// has room for, the row has no answer.
    pub(crate) fn answer(&mut self, number: usize, tid: u32, user: &[u32]) {
        let known = self.users.iter().position(|known| known == user);
        let at = known.map(|at| at + 2).or_else(|| {
            let at = self.users.len() + 2;
            (at < MASK_COUNT).then(|| {
                self.mask(at, user);
                self.users.push(user.to_vec());
                at
            })
        });
        let answer = at.map_or(0, |at| u64::from(tid) | (at as u64) << 32);
        let word = self.row_word(number, ANSWER);
        if word.load(Ordering::Relaxed) != answer {
            // Release: a thread that sees the answer sees the mask.
            word.store(answer, Ordering::Release);
        }
    }

    /// Gives back the row of a thread that has ended without doing so.
    pub(crate) fn free(&self, number: usize, row: &Row) {
        let owner = u64::from(row.pid) << 32 | u64::from(row.tid);
        if self.row_word(number, OWNER).load(Ordering::Relaxed) != owner {
            return;
        }
        for at in (0..ROW).filter(|&at| at != OWNER) {
            self.row_word(number, at).store(0, Ordering::Relaxed);
        }
        // Release: the next owner finds the row empty. Another thread may have it already.
        let _ = self.row_word(number, OWNER).compare_exchange(owner, 0, Ordering::Release, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn set(&self, number: usize, at: usize, value: u64) {
        self.row_word(number, at).store(value, Ordering::Relaxed);
        self.word(TAKEN).fetch_max(number as u64 + 1, Ordering::Relaxed);
    }

    /// Writes a word of the page as a program could.
    #[cfg(test)]
    pub(crate) fn write(&self, at: usize, value: u64) {
        self.word(at).store(value, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn get(&self, number: usize, at: usize) -> u64 {
        self.row_word(number, at).load(Ordering::Relaxed)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: `make` mapped this memory, and nothing refers to it any more.
        unsafe { libc::munmap(self.at.cast(), LENGTH) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_answered_and_freed() {
        let mut page = Page::make(1).unwrap();
        assert_eq!((page.rows(), page.row(0), page.untold()), (0, None, 0));
        page.set(3, OWNER, 7 << 32 | 9);
        page.set(3, WAITS, AT_BARRIER | 0x40);
        page.set(3, SINCE, 5);
        page.set(3, HOLDS + 1, 0x10 | 2 << 48);
        page.set(3, HOLDS + 2, 3 << 48);
        let (waits, holds) = (Some((0x40, true, 5)), [None, Some((0x10, 2)), None]);
        let row = Row { pid: 7, tid: 9, waits, holds, own: 0, answered: false };
        assert_eq!((page.rows(), page.row(3)), (4, Some(row)));
        page.answer(3, 9, &[0, 64]);
        assert_eq!((page.get(3, ANSWER), page.row(3)), (9 | 2 << 32, Some(Row { answered: true, ..row })));
        assert_eq!(page.word(MASKS + 2 * MASK + 1).load(Ordering::Relaxed), 1);
        page.answer(3, 9, &[1]);
        page.answer(2, 8, &[0, 64]);
        assert_eq!((page.get(3, ANSWER), page.get(2, ANSWER)), (9 | 3 << 32, 8 | 2 << 32));
        (0..40).for_each(|cpu| page.answer(3, 9, &[cpu]));
        assert_eq!(page.get(3, ANSWER), 0, "too many masks");
        page.free(3, &Row { tid: 8, ..row });
        assert_eq!(page.row(3).map(|row| row.tid), Some(9), "another thread has it");
        page.free(3, &row);
        assert_eq!((page.row(3), page.get(3, HOLDS + 1)), (None, 0));
    }

    #[test]
    fn a_program_cannot_shrink_the_page() {
        let page = Page::make(0).unwrap();
        let file = std::fs::File::options().read(true).write(true).open(page.path()).unwrap();
        assert!(file.set_len(0).is_err() && file.set_len(1 << 30).is_err());
        page.write(TAKEN, u64::MAX);
        assert_eq!(page.rows(), ROW_COUNT);
    }
}
