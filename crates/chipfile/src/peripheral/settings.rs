//! The keys of a kind of device, declared once as fields of a type.

use crate::value::{Value, ValueKind};
use baton_units::Cycles;

/// A key of a kind of device.
#[derive(Clone, Copy, Debug)]
pub struct OwnKey {
    /// The name of the key in `[device.KIND]`.
    pub name: &'static str,
    /// The values that the key accepts.
    pub takes: ValueKind,
    /// The purpose of the key.
    pub what: &'static str,
    /// Whether a chip file must give a value.
    pub needed: bool,
}

/// Values of keys, in the order of the keys' names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceSettings(Vec<(&'static str, Value)>);

impl DeviceSettings {
    /// Returns the value of a key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Returns the value of a key whose values are whole numbers.
    pub fn whole(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::Whole(n)) => Some(*n),
            _ => None,
        }
    }

    /// Sets the value of a key, in place of an earlier value.
    pub fn set(&mut self, name: &'static str, value: Value) {
        match self.0.binary_search_by_key(&name, |(key, _)| *key) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    /// Returns the value for a field of a kind's own type.
    ///
    /// # Panics
    /// The value is missing, or of another sort than the key accepts. A chip that was read from a
    /// file has all values of its devices.
    pub fn field<T: Setting>(&self, name: &str) -> T {
        let value = self.get(name).map_or_else(T::absent, T::of);
        value.unwrap_or_else(|| panic!("device key `{name}`: a chip file is checked for it"))
    }
}

/// A type that can be made from a key's value.
pub trait Setting: Sized {
    /// Whether a chip file must give a value.
    const NEEDED: bool = true;

    /// Converts the value; `None` if it is of another sort.
    fn of(value: &Value) -> Option<Self>;

    /// Returns what a key means that is absent; `None` if its value is needed.
    fn absent() -> Option<Self> {
        None
    }
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
    const NEEDED: bool = false;

    fn of(value: &Value) -> Option<bool> {
        match value {
            Value::Switch(on) => Some(*on),
            _ => None,
        }
    }

    fn absent() -> Option<bool> {
        Some(false)
    }
}

/// A number that is `N` if its key is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Or<const N: u64>(pub u64);

impl<const N: u64> Setting for Or<N> {
    const NEEDED: bool = false;

    fn of(value: &Value) -> Option<Or<N>> {
        u64::of(value).map(Or)
    }

    fn absent() -> Option<Or<N>> {
        Some(Or(N))
    }
}

/// Declares a type with a field for each key of a kind. Its `KEYS` are the entries for the table of
/// a chip file's keys.
macro_rules! settings {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty, $takes:expr, $what:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $($(#[$doc])* pub $field: $type),* }

        impl $name {
            /// The keys.
            pub const KEYS: &[$crate::peripheral::OwnKey] = &[
                $($crate::peripheral::OwnKey {
                    name: stringify!($field),
                    takes: $takes,
                    what: $what,
                    needed: <$type as $crate::peripheral::settings::Setting>::NEEDED,
                }),*
            ];

            /// Reads the values of a chip file.
            pub fn read(values: &$crate::peripheral::DeviceSettings) -> $name {
                $name { $($field: values.field(stringify!($field))),* }
            }
        }
    };
}
pub(crate) use settings;
