//! Arrays of the inner loop: indices are checked in debug builds, unchecked in release builds.
//!
//! Every index into these arrays is made in one of three ways. Some are written by `build.rs`,
//! which sizes the arrays and writes the wiring (channels of a router, output channels, first
//! virtual channels). Some are bits set in a mask, where only bits of existing virtual channels,
//! ports, routers and nodes are ever set. Some come from a timing wheel, whose rows have a place
//! for each virtual channel or for each channel (which carries one flit and one credit per cycle,
//! always with the same delay). No index comes from a user: `Network::inject` and
//! `Network::release` check nodes and classes first. The debug assertion below, under which the
//! whole test suite runs, checks all of this.

use std::ops::{Index, IndexMut};

/// A fixed array whose indices are in range by construction.
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
        // SAFETY: indices are below the length by construction, as the module's documentation
        // explains; the type is private to the network and never indexed by what a user gave.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "index {index} of {}", self.0.len());
        // SAFETY: the index is below the length by construction, as the module's documentation
        // explains.
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

    /// Borrows the array as a plain slice, whose address the compiler then need not read again.
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
        // SAFETY: the index is below the length by construction, as the module's documentation
        // explains.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for View<'_, T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "index {index} of {}", self.0.len());
        // SAFETY: the index is below the length by construction, as the module's documentation
        // explains.
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
        // SAFETY: the index is below the length by construction, as the module's documentation
        // explains.
        unsafe { self.0.get_unchecked(index) }
    }
}
