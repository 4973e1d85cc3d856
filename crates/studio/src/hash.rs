//! The key of a point: a hash with 128 bits (XXH3) of everything that decides what the point gives.
//! It does not protect against forgery.

use std::fmt;
use twox_hash::xxhash3_128::Hasher;

/// The key of a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u128);

impl Key {
    /// Reads the 32 hexadecimal digits of a key.
    pub fn parse(text: &str) -> Option<Key> {
        (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok().map(Key)).flatten()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The pieces of which a key is made.
#[derive(Clone, Debug, Default)]
pub struct Pieces(Vec<u8>);

impl Pieces {
    /// Adds a piece. The length of the piece counts, so that `ab`, `c` and `a`, `bc` differ.
    #[must_use]
    pub fn and(mut self, piece: impl AsRef<[u8]>) -> Pieces {
        let piece = piece.as_ref();
        self.0.extend_from_slice(&(piece.len() as u64).to_le_bytes());
        self.0.extend_from_slice(piece);
        self
    }

    /// The key of all pieces.
    pub fn key(&self) -> Key {
        of(&self.0)
    }
}

/// The hash of some bytes, such as the content of a file.
pub fn of(bytes: &[u8]) -> Key {
    Key(Hasher::oneshot(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_their_lengths_count() {
        let key = |pieces: &[&str]| pieces.iter().fold(Pieces::default(), |all, piece| all.and(piece)).key();
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["ab"]), key(&["ab", ""]));
    }

    /// Stores have keys of earlier versions, so no version of the hash's library may change them.
    #[test]
    fn the_hash_is_xxh3() {
        assert_eq!(of(b"").to_string(), "99aa06d3014798d86001c324468d497f");
        assert_eq!(Key::parse("99aa06d3014798d86001c324468d497f"), Some(of(b"")));
        assert_eq!(Key::parse("99aa"), None);
    }
}
