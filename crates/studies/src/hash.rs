//! FNV-1a with 128 bits, for addresses in a cache and for showing that a text has not changed. The
//! hash does not protect against forgery.

/// A hash that is being computed.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u128);

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

impl Default for Hash {
    fn default() -> Hash {
        Hash(OFFSET)
    }
}

impl Hash {
    /// Adds a piece. The end of the piece counts, so that `ab`, `c` and `a`, `bc` differ.
    #[must_use]
    pub fn and(mut self, piece: impl AsRef<[u8]>) -> Hash {
        let piece = piece.as_ref();
        for &byte in piece.iter().chain(&(piece.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(PRIME);
        }
        self
    }

    /// 32 hexadecimal digits.
    pub fn text(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Returns the first 16 digits of the hash, for people.
    pub fn short(self) -> String {
        self.text()[..16].to_owned()
    }
}

/// Returns the hash of one piece.
pub fn of(piece: impl AsRef<[u8]>) -> Hash {
    Hash::default().and(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_their_ends_count() {
        assert_eq!(of("ab").text(), of("ab").text());
        assert_ne!(of("ab").text(), of("ba").text());
        assert_ne!(of("ab").and("c").text(), of("a").and("bc").text());
        assert_eq!((of("").text().len(), of("x").short().len()), (32, 16));
    }
}
