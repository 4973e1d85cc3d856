//! The Machine trait that every algorithm is written against, wait policies, and the native machine.
