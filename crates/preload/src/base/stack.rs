//! A lock-free stack of memory blocks that are never unmapped. Free lists are made of it.
//!
//! A block's first word is its link while the block lies on the stack. The word for the stack's top
//! has a count of changes beside the address, so that a thread notices if a block was taken and put
//! back meanwhile.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// An address has 48 bits, of which the lower 4 are zero, because blocks are aligned to 16. That
/// leaves 20 bits for the count.
const ADDRESS_BITS: u32 = 44;
const ALIGN_SHIFT: u32 = 4;

/// The stack.
pub struct BlockStack(AtomicU64);

impl BlockStack {
    /// An empty stack.
    pub const fn new() -> BlockStack {
        BlockStack(AtomicU64::new(0))
    }

    /// Puts `block` onto the stack.
    ///
    /// # Safety
    /// `block` is aligned to 16, at least a word long and never unmapped, and no other thread uses
    /// it.
    pub unsafe fn push(&self, block: *mut u8) {
        let address = block.expose_provenance();
        debug_assert!(address.is_multiple_of(16) && (address as u64) >> (ADDRESS_BITS + ALIGN_SHIFT) == 0);
        let mut top = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller hands over a mapped, aligned block that no other thread uses. The
            // store is atomic, because a slow `pop` may still read the word.
            unsafe { &*block.cast::<AtomicUsize>() }.store(Self::block(top).addr(), Ordering::Relaxed);
            let new = Self::pack(address, top);
            // Release: the thread that pops the block sees what this thread wrote into it.
            match self.0.compare_exchange_weak(top, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes the block on top off the stack; `None` if the stack is empty.
    pub fn pop(&self) -> Option<*mut u8> {
        let mut top = self.0.load(Ordering::Acquire);
        loop {
            let block = Self::block(top);
            if block.is_null() {
                return None;
            }
            // SAFETY: blocks stay mapped for ever. If another thread has taken this block
            // meanwhile, the exchange below fails and the value is thrown away.
            let below = unsafe { &*block.cast::<AtomicUsize>() }.load(Ordering::Relaxed);
            match self.0.compare_exchange_weak(top, Self::pack(below, top), Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(block),
                Err(now) => top = now,
            }
        }
    }

    fn block(top: u64) -> *mut u8 {
        let address = (top & ((1 << ADDRESS_BITS) - 1)) << ALIGN_SHIFT;
        core::ptr::with_exposed_provenance_mut(address as usize)
    }

    fn pack(address: usize, before: u64) -> u64 {
        let count = (before >> ADDRESS_BITS).wrapping_add(1);
        address as u64 >> ALIGN_SHIFT | count << ADDRESS_BITS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(16))]
    struct Block([AtomicUsize; 2]);

    #[test]
    fn what_is_put_comes_back_last_first() {
        let stack = BlockStack::new();
        let blocks: Vec<&'static Block> = (0..3).map(|_| &*Box::leak(Box::new(Block(Default::default())))).collect();
        assert!(stack.pop().is_none());
        for block in &blocks {
            // SAFETY: the block is leaked, aligned to 16, and no other code uses it.
            unsafe { stack.push(block.0.as_ptr().cast_mut().cast()) };
        }
        for block in blocks.iter().rev() {
            assert_eq!(stack.pop().unwrap().cast_const().cast(), block.0.as_ptr());
        }
        assert!(stack.pop().is_none());
    }

    #[test]
    fn threads_never_get_the_same_block() {
        let stack = BlockStack::new();
        for _ in 0..4 {
            // SAFETY: the block is leaked, aligned to 16, and no other code uses it.
            unsafe { stack.push(Box::leak(Box::new(Block(Default::default()))).0.as_mut_ptr().cast()) };
        }
        std::thread::scope(|s| {
            for me in 1..=4 {
                let stack = &stack;
                s.spawn(move || {
                    for _ in 0..20_000 {
                        let Some(block) = stack.pop() else { continue };
                        // SAFETY: a popped block belongs to this thread until it is pushed; its
                        // second word is not the link.
                        let mark = unsafe { &(*block.cast::<Block>()).0[1] };
                        mark.store(me, Ordering::Relaxed);
                        std::hint::spin_loop();
                        assert_eq!(mark.load(Ordering::Relaxed), me);
                        // SAFETY: the block came from the stack, and this thread uses it no more.
                        unsafe { stack.push(block) };
                    }
                });
            }
        });
    }
}
