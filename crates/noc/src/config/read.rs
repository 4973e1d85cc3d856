//! Reads the table of a configuration: writes the value of each key into its field. A key that is
//! left out keeps its default.
//!
//! This is written by hand because the keys of [`crate::arbiter::Ranked`] stand in the same table:
//! with serde's `flatten`, errors would lose their line numbers.

use super::Config;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

macro_rules! keys {
    ($($key:ident: $($place:ident).+;)*) => {
        /// A key of the table.
        #[derive(serde::Deserialize)]
        #[serde(field_identifier)]
        #[allow(non_camel_case_types)] // The variants have the names of the keys.
        enum Key {
            $($key,)*
        }

        const KEYS: &[&str] = &[$(stringify!($key)),*];

        impl Config {
            /// Reads the value of `key` into its field.
            fn read<'de, M: MapAccess<'de>>(&mut self, key: Key, table: &mut M) -> Result<(), M::Error> {
                match key {
                    $(Key::$key => self.$($place).+ = table.next_value()?,)*
                }
                Ok(())
            }
        }
    };
}

keys! {
    topology: topology;
    routing: routing;
    routes: routes;
    vcs: vcs;
    buffer: buffer;
    shared_buffer: shared_buffer;
    classes: classes;
    pipeline: pipeline;
    latency: latency;
    arbiter: arbiter;
    allocator: allocator;
    mark_outranks_speculation: ranked.outranks_speculation;
    marked_first: ranked.ranked_first;
    random_ties: ranked.random_ties;
    endpoint_places: endpoint_places;
    response_class: response_class;
    places: places;
    ranked_ejection: ranked_ejection;
    clocks: clocks;
    allow_deadlock: allow_deadlock;
    memory_limit_mib: memory_limit_mib;
    seed: seed;
}

struct Table;

impl<'de> Visitor<'de> for Table {
    type Value = Config;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct Config")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut table: M) -> Result<Config, M::Error> {
        let mut config = Config::default();
        while let Some(key) = table.next_key()? {
            config.read(key, &mut table)?;
        }
        Ok(config)
    }
}

impl<'de> Deserialize<'de> for Config {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Config, D::Error> {
        from.deserialize_struct("Config", KEYS, Table)
    }
}
