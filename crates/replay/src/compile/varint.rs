//! Numbers of seven bits a byte, the lowest first; the highest bit says that more follow.

use crate::ops::push;

/// Adds a number.
pub(super) fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        push(bytes, value as u8 | 0x80);
        value >>= 7;
    }
    push(bytes, value as u8);
}

/// Takes the first number away; none where the bytes end.
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
