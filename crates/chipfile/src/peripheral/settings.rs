//! The keys of a kind of device: declared once, as fields of a type of its own.

use crate::value::{Value, ValueKind};
use baton_units::Cycles;

/// A key of a kind of device.
#[derive(Clone, Copy, Debug)]
pub struct OwnKey {
    /// Its name in `[device.KIND]`.
    pub name: &'static str,
    /// What may stand there.
    pub takes: ValueKind,
    /// What it is for.
    pub what: &'static str,
}

/// Values of keys, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(Vec<(&'static str, Value)>);

impl Settings {
    /// The value of a key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The value of a key whose values are whole numbers.
    pub fn whole(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Whole(n)) => Some(*n),
            _ => None,
        }
    }

    /// Gives a key a value, in the place of an earlier one.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.0.binary_search_by_key(&name, |(key, _)| *key) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// The value of a field of a kind's own type.
    ///
    /// # Panics
    /// If it is not there, or of another sort than the key takes: a chip that was read has all values of its devices.
    pub fn field<T: Setting>(&self, name: &str) -> T {
        let value = self.get(name).and_then(T::of);
        value.unwrap_or_else(|| panic!("device key `{name}`: a chip file is checked for it"))
    }
}

/// A type that a key's value can be read into.
pub trait Setting: Sized {
    /// From the value, if it is of the right sort.
    fn of(value: &Value) -> Option<Self>;
}

impl Setting for u64 {
    fn of(value: &Value) -> Option<u64> {
        match value {
            Value::Whole(n) => Some(*n),
            _ => None,
        }
    }
}

impl Setting for u32 {
    fn of(value: &Value) -> Option<u32> {
        u64::of(value)?.try_into().ok()
    }
}

impl Setting for Cycles {
    fn of(value: &Value) -> Option<Cycles> {
        u64::of(value).map(Cycles)
    }
}

impl Setting for bool {
    fn of(value: &Value) -> Option<bool> {
        match value {
            Value::Switch(on) => Some(*on),
            _ => None,
        }
    }
}

/// A type with a field for each key of a kind; `KEYS` has them for the table of a chip file's keys.
macro_rules! settings {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty, $takes:expr, $what:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $($(#[$doc])* pub $field: $type),* }

        impl $name {
            /// The keys.
            pub const KEYS: &[$crate::peripheral::OwnKey] = &[
                $($crate::peripheral::OwnKey { name: stringify!($field), takes: $takes, what: $what }),*
            ];

            /// From the values of a chip file.
            pub fn read(values: &$crate::peripheral::Settings) -> $name {
                $name { $($field: values.field(stringify!($field))),* }
            }
        }
    };
}
pub(crate) use settings;
