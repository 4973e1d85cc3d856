//! What the holder of a lock carries from lock to unlock.

/// A holder's token as one word, for code that must keep it in memory between lock and unlock.
pub trait Token: Copy {
    /// Converts the token to a word.
    fn to_word(self) -> usize;
    /// Converts a word back to the token that [`Token::to_word`] made it of.
    fn from_word(word: usize) -> Self;
}

impl Token for () {
    #[inline(always)]
    fn to_word(self) -> usize {
        0
    }
    #[inline(always)]
    fn from_word(_: usize) {}
}
