//! Records which rows were exercised.

use crate::{Protocol, cache, home};
use std::sync::atomic::{AtomicBool, Ordering};

/// A mark for each row of the protocol. Several threads of a checker may set marks.
pub struct Coverage {
    cache: Vec<AtomicBool>,
    home: Vec<AtomicBool>,
}

impl Default for Coverage {
    fn default() -> Self {
        let marks = |n| (0..n).map(|_| AtomicBool::new(false)).collect();
        Coverage {
            cache: marks(cache::State::COUNT * cache::Event::COUNT),
            home: marks(home::State::COUNT * home::Event::COUNT),
        }
    }
}

impl Coverage {
    /// Marks a cache's row as exercised.
    pub fn cache(&self, state: cache::State, event: cache::Event) {
        set(&self.cache[state as usize * cache::Event::COUNT + event as usize]);
    }

    /// Marks a home's row as exercised.
    pub fn home(&self, state: home::State, event: home::Event) {
        set(&self.home[state as usize * home::Event::COUNT + event as usize]);
    }

    /// Adds the marks of `other`.
    pub fn add(&self, other: &Coverage) {
        for (mine, theirs) in self.cache.iter().zip(&other.cache).chain(self.home.iter().zip(&other.home)) {
            if theirs.load(Ordering::Relaxed) {
                set(mine);
            }
        }
    }

    /// Returns the number of rows of `protocol` and the names of those without a mark.
    pub fn missing(&self, protocol: &Protocol) -> (usize, Vec<String>) {
        let cache = protocol.cache.iter().map(|(state, event, _)| {
            let mark = &self.cache[state as usize * cache::Event::COUNT + event as usize];
            (mark, format!("cache {state} {event}"))
        });
        let home = protocol.home.iter().map(|(state, event, _)| {
            let mark = &self.home[state as usize * home::Event::COUNT + event as usize];
            (mark, format!("home {state} {event}"))
        });
        let rows: Vec<_> = cache.chain(home).collect();
        let missing = rows.iter().filter(|(mark, _)| !mark.load(Ordering::Relaxed));
        (rows.len(), missing.map(|(_, name)| name.clone()).collect())
    }
}

/// Sets a mark. The ordering is relaxed, because marks are read after the checker's threads have
/// been joined.
fn set(mark: &AtomicBool) {
    if !mark.load(Ordering::Relaxed) {
        mark.store(true, Ordering::Relaxed);
    }
}
