//! Declarations of figures: each figure is declared once, with name, unit and meaning. Its JSON,
//! the schema, the page of figures and the units of tables follow from the declaration. Counters of
//! the chip bring their own declarations.

use baton_chip::{Counter, Counters};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// The form of a value in the JSON.
pub(super) enum Shape {
    /// A whole number from 0.
    Whole,
    /// A number.
    Number,
    /// A text.
    Text,
    /// True or false.
    Switch,
    /// Exactly this text.
    Constant(&'static str),
    /// A value of this form, or null.
    Nullable(Box<Shape>),
    /// A list of values of this form.
    List(Box<Shape>),
    /// An object: its meaning, and its fields.
    Object(&'static str, Vec<Field>),
    /// An object whose fields may have any name; the listed fields have a known meaning.
    Open(Vec<Field>),
}

/// A field of an object.
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Unit of a number; empty: the number has none.
    pub(super) unit: &'static str,
    pub(super) what: &'static str,
    pub(super) shape: Shape,
    /// Whether the field may be left out.
    pub(super) optional: bool,
}

impl Field {
    /// The field of a counter of the chip.
    pub(super) fn counter(counter: &Counter) -> Field {
        let Counter { name, unit, what } = *counter;
        Field { name, unit: unit.name(), what, shape: Shape::Whole, optional: false }
    }
}

/// A type whose values have a form.
pub(super) trait Shaped {
    fn shape() -> Shape;
}

/// Fields that stand among those of the object around them.
pub(super) trait Flat {
    fn fields() -> Vec<Field>;
    fn entries(&self) -> Vec<(&'static str, u64)>;
}

impl<T: Counters> Flat for T {
    fn fields() -> Vec<Field> {
        T::DECLARED.iter().map(Field::counter).collect()
    }

    fn entries(&self) -> Vec<(&'static str, u64)> {
        self.values().map(|(counter, value)| (counter.name, value)).collect()
    }
}

/// A group of counters as an object of its own.
pub(super) struct Group<T>(pub(super) T);

impl<T: Flat> Shaped for Group<T> {
    fn shape() -> Shape {
        Shape::Object("", T::fields())
    }
}

impl<T: Flat> Serialize for Group<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.entries())
    }
}

/// A value that is left out of the JSON while it is absent.
pub(super) trait Absent {
    fn is_absent(&self) -> bool;
}

impl<T> Absent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Absent for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! shapes {
    ($($type:ty: $shape:ident,)+) => {
        $(impl Shaped for $type {
            fn shape() -> Shape {
                Shape::$shape
            }
        })+
    };
}

shapes! {
    u32: Whole,
    u64: Whole,
    f64: Number,
    bool: Switch,
    String: Text,
    &'static str: Text,
}

impl<T: Shaped> Shaped for Option<T> {
    fn shape() -> Shape {
        Shape::Nullable(Box::new(T::shape()))
    }
}

impl<T: Shaped> Shaped for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }
}

impl<K, V> Shaped for BTreeMap<K, V> {
    fn shape() -> Shape {
        Shape::Open(Vec::new())
    }
}

impl Shaped for Value {
    fn shape() -> Shape {
        Shape::Open(Vec::new())
    }
}

/// Declares figures: `/// meaning`, `name: Type as "unit"`; a value that is no number has no unit.
/// `@left_out` before a name: the field is left out while it is absent. `@flat`: the fields of the
/// value, counters of the chip, stand in its place.
macro_rules! figures {
    ($(#[doc = $group:literal])+ $vis:vis struct $Group:ident {
        $($(#[doc = $what:literal])* $(@$mark:ident)? $seen:vis $name:ident: $type:ty $(as $unit:literal)?,)+
    }) => {
        $(#[doc = $group])+
        $vis struct $Group {
            $($(#[doc = $what])* $seen $name: $type,)+
        }

        impl $crate::cmd::sim::shape::Shaped for $Group {
            fn shape() -> $crate::cmd::sim::shape::Shape {
                let fields = [$($crate::cmd::sim::shape::field!(
                    $name, $type, concat!("", $($what),*).trim_ascii_start(), concat!("", $($unit)?) $(, $mark)?
                )),+];
                let fields = fields.into_iter().flatten().collect();
                $crate::cmd::sim::shape::Shape::Object(concat!($($group),+).trim_ascii_start(), fields)
            }
        }

        impl serde::Serialize for $Group {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $($crate::cmd::sim::shape::entry!(map, &self.$name, $name $(, $mark)?);)+
                serde::ser::SerializeMap::end(map)
            }
        }
    };
}

/// Expands to the fields that a field of a declaration stands for.
macro_rules! field {
    ($name:ident, $type:ty, $what:expr, $unit:expr) => {
        vec![$crate::cmd::sim::shape::Field {
            name: stringify!($name),
            unit: $unit,
            what: $what,
            shape: <$type as $crate::cmd::sim::shape::Shaped>::shape(),
            optional: false,
        }]
    };
    ($name:ident, $type:ty, $what:expr, $unit:expr, left_out) => {
        vec![$crate::cmd::sim::shape::Field {
            name: stringify!($name),
            unit: $unit,
            what: $what,
            shape: match <$type as $crate::cmd::sim::shape::Shaped>::shape() {
                $crate::cmd::sim::shape::Shape::Nullable(shape) => *shape,
                shape => shape,
            },
            optional: true,
        }]
    };
    ($name:ident, $type:ty, $what:expr, $unit:expr, flat) => {
        <$type as $crate::cmd::sim::shape::Flat>::fields()
    };
}

macro_rules! entry {
    ($map:ident, $value:expr, $name:ident) => {
        serde::ser::SerializeMap::serialize_entry(&mut $map, stringify!($name), $value)?
    };
    ($map:ident, $value:expr, $name:ident, left_out) => {
        if !$crate::cmd::sim::shape::Absent::is_absent($value) {
            serde::ser::SerializeMap::serialize_entry(&mut $map, stringify!($name), $value)?;
        }
    };
    ($map:ident, $value:expr, $name:ident, flat) => {
        for (name, value) in $crate::cmd::sim::shape::Flat::entries($value) {
            serde::ser::SerializeMap::serialize_entry(&mut $map, name, &value)?;
        }
    };
}

pub(super) use {entry, field, figures};

impl Shape {
    /// The keyword `type` of a schema.
    fn types(&self) -> Vec<&'static str> {
        match self {
            Shape::Whole => vec!["integer"],
            Shape::Number => vec!["number"],
            Shape::Text | Shape::Constant(_) => vec!["string"],
            Shape::Switch => vec!["boolean"],
            Shape::List(_) => vec!["array"],
            Shape::Object(..) | Shape::Open(_) => vec!["object"],
            Shape::Nullable(shape) => [shape.types(), vec!["null"]].concat(),
        }
    }

    /// The fields of this form, or of the elements of a list.
    fn fields(&self) -> &[Field] {
        match self {
            Shape::Object(_, fields) | Shape::Open(fields) => fields,
            Shape::List(shape) | Shape::Nullable(shape) => shape.fields(),
            _ => &[],
        }
    }

    /// The field at a dotted path. A place in a list is a number, as in `by_app.1.ready_cycles`.
    pub(super) fn find(&self, path: &str) -> Option<&Field> {
        let mut steps = path.split('.').filter(|step| step.parse::<usize>().is_err()).peekable();
        let mut fields = self.fields();
        while let Some(step) = steps.next() {
            let field = fields.iter().find(|field| field.name == step)?;
            if steps.peek().is_none() {
                return Some(field);
            }
            fields = field.shape.fields();
        }
        None
    }

    /// The numbers at and below this form, each with its dotted path, in which `N` is a place in a
    /// list.
    pub(super) fn numbers(&self, path: &str) -> Vec<(String, &Field)> {
        let mut found = Vec::new();
        for field in self.fields() {
            let path = format!("{path}{}", field.name);
            match &field.shape {
                Shape::Whole | Shape::Number => found.push((path, field)),
                Shape::Nullable(shape) if matches!(**shape, Shape::Whole | Shape::Number) => found.push((path, field)),
                Shape::List(of) if matches!(**of, Shape::Whole | Shape::Number) => {
                    found.push((format!("{path}.N"), field));
                }
                Shape::List(_) => found.extend(field.shape.numbers(&format!("{path}.N."))),
                shape => found.extend(shape.numbers(&format!("{path}."))),
            }
        }
        found
    }
}

/// The schema of a value.
struct Schema<'a> {
    what: &'a str,
    unit: &'a str,
    shape: &'a Shape,
}

impl Schema<'_> {
    /// The keywords of the schema, after those that the caller has written.
    fn keywords<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if !self.what.is_empty() {
            map.serialize_entry("description", self.what)?;
        }
        if !self.unit.is_empty() {
            map.serialize_entry("unit", self.unit)?;
        }
        match &self.shape.types()[..] {
            [one] => map.serialize_entry("type", one)?,
            several => map.serialize_entry("type", several)?,
        }
        let inner = match self.shape {
            Shape::Nullable(inner) => inner,
            shape => shape,
        };
        match inner {
            Shape::Whole => map.serialize_entry("minimum", &0),
            Shape::Constant(text) => map.serialize_entry("const", text),
            Shape::List(shape) => {
                let what = if let Shape::Object(what, _) = **shape { what } else { "" };
                map.serialize_entry("items", &Schema { what, unit: "", shape })
            }
            Shape::Object(_, fields) => {
                map.serialize_entry("properties", &Properties(fields))?;
                let required: Vec<&str> =
                    fields.iter().filter(|field| !field.optional).map(|field| field.name).collect();
                map.serialize_entry("required", &required)?;
                map.serialize_entry("additionalProperties", &false)
            }
            _ => Ok(()),
        }
    }
}

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.keywords(&mut map)?;
        map.end()
    }
}

/// The schema of all results.
pub(super) struct Published<'a>(pub(super) &'a Shape);

impl Serialize for Published<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let what = if let Shape::Object(what, _) = self.0 { what } else { "" };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("$schema", "https://json-schema.org/draft/2020-12/schema")?;
        map.serialize_entry("title", "Baton simulation")?;
        let comment = "What `baton sim --json` prints. Durations are cycles of the chip's clock and end in `_cycles`, or seconds. \
                       `unit` says what a number counts.";
        map.serialize_entry("$comment", comment)?;
        Schema { what, unit: "", shape: self.0 }.keywords(&mut map)?;
        map.end()
    }
}

struct Properties<'a>(&'a [Field]);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|field| {
            let Field { name, unit, what, shape, .. } = field;
            (*name, Schema { what, unit, shape })
        }))
    }
}
