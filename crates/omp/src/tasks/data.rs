//! The memory of a task's data.

use core::ffi::c_void;
use core::mem::MaybeUninit;

/// Memory of its own for what a task works on.
pub struct Data {
    memory: Box<[MaybeUninit<u128>]>,
    offset: usize,
}

impl Data {
    /// Memory of so many bytes at that alignment (a power of two), with nothing in it yet.
    pub fn new(bytes: usize, align: usize) -> Data {
        let memory = Box::new_uninit_slice((bytes + align).div_ceil(16) + 1);
        let offset = memory.as_ptr().cast::<u8>().align_offset(align.max(1));
        Data { memory, offset }
    }

    /// Where it is.
    pub fn as_ptr(&mut self) -> *mut c_void {
        // SAFETY: `new` took `align` bytes more than the data has.
        unsafe { self.memory.as_mut_ptr().cast::<u8>().add(self.offset).cast() }
    }
}
