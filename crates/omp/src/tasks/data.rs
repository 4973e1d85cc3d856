//! The memory of a task's data.

use core::ffi::c_void;
use core::mem::MaybeUninit;

/// Memory of its own for what a task works on.
pub struct Data(Memory);

enum Memory {
    Within(Few),
    Apart { memory: Box<[MaybeUninit<u128>]>, offset: usize },
}

/// What most tasks work on is not larger.
type Few = [MaybeUninit<u128>; 4];

impl Data {
    /// Memory of so many bytes at that alignment (a power of two), with nothing in it yet. It stays where it is.
    pub fn new(bytes: usize, align: usize) -> Data {
        let memory = Box::new_uninit_slice((bytes + align).div_ceil(16) + 1);
        let offset = memory.as_ptr().cast::<u8>().align_offset(align.max(1));
        Data(Memory::Apart { memory, offset })
    }

    /// The same, for what may be moved: it moves with this value.
    #[inline]
    pub fn movable(bytes: usize, align: usize) -> Data {
        if bytes <= size_of::<Few>() && align <= align_of::<Few>() {
            return Data(Memory::Within([MaybeUninit::uninit(); 4]));
        }
        Data::new(bytes, align)
    }

    /// Where it is.
    #[inline]
    pub fn as_ptr(&mut self) -> *mut c_void {
        match &mut self.0 {
            Memory::Within(few) => few.as_mut_ptr().cast(),
            // SAFETY: `new` took `align` bytes more than the data has.
            Memory::Apart { memory, offset } => unsafe { memory.as_mut_ptr().cast::<u8>().add(*offset).cast() },
        }
    }
}
