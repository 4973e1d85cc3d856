//! Variable-length numbers: seven bits per byte, the lowest first; the highest bit of a byte says
//! that more bytes follow.

use crate::ops::room;

/// The most bytes that a number can take.
pub(super) const MOST: usize = 10;

/// Appends a number.
#[inline]
pub(super) fn write(bytes: &mut Vec<u8>, mut value: u64) {
    room(bytes, MOST);
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Removes the first number from the bytes and returns it; `None` if the bytes end before it does.
#[inline]
pub(super) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}
