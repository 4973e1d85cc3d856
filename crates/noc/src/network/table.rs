//! Arrays of the inner loop: checked in debug builds, unchecked in release builds.
//!
//! Every index into these arrays is made in one of three ways: by `build.rs`, which sizes them and writes the wiring
//! (channels of a router, output channels, first virtual channels); from a bit that is set in a mask, where only bits
//! of existing virtual channels, ports, routers and nodes are ever set; or by a timing
//! wheel, whose rows have a place for each channel (which carries one flit and one credit a cycle, always with the same
//! delay) or virtual channel.
//! No index comes from a user: `Network::inject` and `Network::release` check nodes and classes first. The debug
//! assertion below, under which the whole test suite runs, holds this.

use std::ops::{Index, IndexMut};

/// A fixed array whose indices are right by construction.
#[derive(Clone, Debug)]
pub(crate) struct Table<T>(Box<[T]>);

impl<T> From<Vec<T>> for Table<T> {
    fn from(values: Vec<T>) -> Table<T> {
        Table(values.into_boxed_slice())
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len(), "index {index} of {}", self.0.len());
        // SAFETY: indices are below the length by construction, as the module's documentation lays out; the type is
        // private to the network and never indexed by what a user gave.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "index {index} of {}", self.0.len());
        // SAFETY: as for `index`.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

impl<T> Table<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.0
    }

    /// The array through a reference of its own, whose address the compiler need not read again.
    #[inline(always)]
    pub(crate) fn view(&mut self) -> View<'_, T> {
        View(&mut self.0)
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

/// A borrowed [`Table`].
pub(crate) struct View<'a, T>(&'a mut [T]);

impl<T> Index<usize> for View<'_, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len(), "index {index} of {}", self.0.len());
        // SAFETY: as for `Table`.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for View<'_, T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "index {index} of {}", self.0.len());
        // SAFETY: as for `Table`.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

/// A [`Table`] borrowed for reading.
pub(crate) struct Reading<'a, T>(pub(crate) &'a [T]);

impl<T> Index<usize> for Reading<'_, T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len(), "index {index} of {}", self.0.len());
        // SAFETY: as for `Table`.
        unsafe { self.0.get_unchecked(index) }
    }
}
