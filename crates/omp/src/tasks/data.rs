//! The memory of a task's data.

use core::alloc::Layout;
use core::ffi::c_void;
use core::mem::MaybeUninit;

/// Memory for the data of one task, uninitialized at first.
pub struct Data(Memory);

enum Memory {
    Within(Few),
    Apart { memory: Box<[MaybeUninit<u128>]>, offset: usize },
}

/// The size of the data of most tasks, which are kept inside this value.
type Few = [MaybeUninit<u128>; 4];

impl Data {
    /// Memory of this size and alignment. The data's address stays the same until this value is
    /// moved.
    #[inline]
    pub fn new(layout: Layout) -> Data {
        if Data::is_few(layout) {
            return Data(Memory::Within([MaybeUninit::uninit(); 4]));
        }
        Data::apart(layout)
    }

    /// Does what [`new`](Data::new) does, in place.
    ///
    /// # Safety
    /// `at` is memory for a value of this type.
    #[inline(always)]
    pub(crate) unsafe fn begin(at: *mut Data, layout: Layout) {
        // Two stores, so that the first one need not copy memory without a value.
        if Data::is_few(layout) {
            // SAFETY: by contract.
            unsafe { at.write(Data(Memory::Within([MaybeUninit::uninit(); 4]))) };
        } else {
            // SAFETY: by contract.
            unsafe { at.write(Data::apart(layout)) };
        }
    }

    #[inline(always)]
    fn is_few(layout: Layout) -> bool {
        layout.size() <= size_of::<Few>() && layout.align() <= align_of::<Few>()
    }

    /// Memory for data that must stay at their address even when this value is moved.
    pub fn apart(layout: Layout) -> Data {
        let memory = Box::new_uninit_slice((layout.size() + layout.align()).div_ceil(16) + 1);
        let offset = memory.as_ptr().cast::<u8>().align_offset(layout.align());
        Data(Memory::Apart { memory, offset })
    }

    /// The address of the memory.
    #[inline]
    pub fn as_ptr(&mut self) -> *mut c_void {
        match &mut self.0 {
            Memory::Within(few) => few.as_mut_ptr().cast(),
            // SAFETY: `apart` allocated `align` bytes more than the data have, so the offset lies
            // inside.
            Memory::Apart { memory, offset } => unsafe { memory.as_mut_ptr().cast::<u8>().add(*offset).cast() },
        }
    }
}
