//! The synchronization trace: events, file format, reader, analysis.
