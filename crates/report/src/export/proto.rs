//! Protocol Buffers' wire format, the writing half: just what pprof and Perfetto need.
//!
//! Source: "Protocol Buffers Documentation: Encoding". A field is a key (number, wire type) and its
//! value; a message within a message is a field of bytes. Both formats are fixed and small, so a
//! code generator would be more to maintain than this file. The tests decode the output with an
//! independent decoder.

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(crate) fn new() -> Message {
        Message::default()
    }

    /// Writes an integer, a bool or an enum, even if it is zero: some fields must be present to
    /// have a meaning.
    pub(crate) fn uint(&mut self, field: u32, value: u64) -> &mut Message {
        self.key(field, 0);
        varint(&mut self.bytes, value);
        self
    }

    /// Writes a `fixed64` field.
    pub(crate) fn fixed64(&mut self, field: u32, value: u64) -> &mut Message {
        self.key(field, 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Writes a string.
    pub(crate) fn string(&mut self, field: u32, text: &str) -> &mut Message {
        self.raw(field, text.as_bytes())
    }

    /// Writes a message inside this one.
    pub(crate) fn message(&mut self, field: u32, inner: &Message) -> &mut Message {
        self.raw(field, &inner.bytes)
    }

    /// Writes a packed repeated integer field.
    pub(crate) fn packed(&mut self, field: u32, values: impl IntoIterator<Item = u64>) -> &mut Message {
        let mut packed = Vec::new();
        for value in values {
            varint(&mut packed, value);
        }
        self.raw(field, &packed)
    }

    /// Empties the message but keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn raw(&mut self, field: u32, bytes: &[u8]) -> &mut Message {
        self.key(field, 2);
        varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        varint(&mut self.bytes, u64::from(field << 3 | wire_type));
    }
}

/// Writes seven bits per byte, least significant first; the top bit says that more follow.
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documentation's own examples.
    #[test]
    fn bytes_are_the_documentations() {
        assert_eq!(Message::new().uint(1, 150).as_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().string(2, "testing").as_bytes(), b"\x12\x07testing");
        let mut inner = Message::new();
        inner.uint(1, 150);
        assert_eq!(Message::new().message(3, &inner).as_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::new().packed(6, [3, 270, 86942]).as_bytes(), b"\x32\x06\x03\x8e\x02\x9e\xa7\x05");
    }
}
