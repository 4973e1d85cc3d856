//! The token that a request carries, so that its answer finds the thread that asked.

/// A thread, and one of its accesses. The memory system returns the token without looking at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(u32);

/// Which of a thread's accesses a request is: the unpacked part of a [`Token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The thread's own operation, for which it waits.
    Operation,
    /// The store at the head of its buffer.
    Head,
    /// A hint, whose answer has no receiver.
    Hint,
    /// An access of an interrupt's handler.
    Handler,
    /// The answer to a posted request: the token names its packet, not a thread.
    Posted,
    /// One of the loads that the thread has under way at once, by its number.
    Load(u32),
}

/// Bits of a thread's number.
const THREAD: u32 = 22;
/// Largest number of loads under way at once: nine bits of a token are left for their numbers.
pub const LOADS: u32 = 512;

impl Token {
    /// The token of a thread's own operation.
    #[inline(always)]
    pub fn operation(thread: u32) -> Token {
        Token::new(thread, Asked::Operation)
    }

    /// The token of an access of a thread.
    #[inline(always)]
    pub fn new(thread: u32, part: Asked) -> Token {
        debug_assert!(thread < 1 << THREAD);
        let part = match part {
            Asked::Operation => 0,
            Asked::Head => 1,
            Asked::Hint => 2,
            Asked::Handler => 3,
            Asked::Posted => 4,
            Asked::Load(number) => {
                debug_assert!(number < LOADS);
                LOADS | number
            }
        };
        Token(part << THREAD | thread)
    }

    /// The thread that asked, or the packet ([`Asked::Posted`]).
    #[inline(always)]
    pub fn thread(self) -> u32 {
        self.0 & ((1 << THREAD) - 1)
    }

    /// Which of the thread's accesses the request is.
    #[inline(always)]
    pub fn part(self) -> Asked {
        match self.0 >> THREAD {
            0 => Asked::Operation,
            1 => Asked::Head,
            2 => Asked::Hint,
            3 => Asked::Handler,
            4 => Asked::Posted,
            load => Asked::Load(load % LOADS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_thread_and_access() {
        let parts = [
            Asked::Operation,
            Asked::Head,
            Asked::Hint,
            Asked::Handler,
            Asked::Posted,
            Asked::Load(0),
            Asked::Load(LOADS - 1),
        ];
        for part in parts {
            for thread in [0, 1, 1023, (1 << THREAD) - 1] {
                let token = Token::new(thread, part);
                assert_eq!((token.thread(), token.part()), (thread, part));
            }
        }
        assert_eq!(Token::operation(7), Token::new(7, Asked::Operation));
    }
}
