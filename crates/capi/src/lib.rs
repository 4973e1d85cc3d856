//! The C interface: baton.h, locks and markers.
