//! The Python module: functions and figures follow from the command's declarations, and versions
//! of dependencies from the workspace.
//! `BLESS=1 cargo test -p baton-cli --test house python::` writes the generated files anew.

use super::figures::settle;
use baton_cli::call::{CallKind, CallOption, Many, noc_figures, noc_options, sim_options};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../python/");
const SCHEMA: &str = include_str!("../../../../docs/schema/sim.schema.json");
const NOTE: &str = "# Written by `make tables` from the declarations of the command.\n";

/// A text for a docstring.
fn plain(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "'''")
}

/// A name as Python takes it.
fn name_of(name: &str) -> String {
    let name = name.replace('-', "_");
    if ["from", "in", "is", "class", "lambda"].contains(&name.as_str()) { format!("{name}_") } else { name }
}

fn type_of(option: &CallOption) -> &'static str {
    match (option.name.as_str(), option.kind, option.many) {
        ("chip", ..) => "ChipLike",
        ("set", ..) => "Mapping[str, KeyValue]",
        (_, CallKind::Switch, _) => "bool",
        (_, CallKind::Whole, Many::No) => "int",
        (_, CallKind::Number, _) => "float",
        (_, CallKind::Path, _) => "PathLike",
        (_, CallKind::Size, _) => "int | str",
        (_, CallKind::Text, Many::No) => "str",
        (_, CallKind::Whole, _) => "int | Sequence[int]",
        (_, CallKind::Text, _) => "str | Sequence[str]",
    }
}

/// The function of a command.
fn function(name: &str, result: &str, what: &str, options: &[CallOption]) -> String {
    let mut text = format!("def {name}(\n    *,\n");
    for option in options {
        let _ = writeln!(text, "    {}: {} | None = None,", name_of(&option.name), type_of(option));
    }
    let _ =
        write!(text, ") -> {result}:\n    \"\"\"{what}\n\n    An option that is left out has the command's value.\n\n");
    for option in options {
        let default = if option.default.is_empty() { String::new() } else { format!(" Default: {}.", option.default) };
        let known =
            if option.known.is_empty() { String::new() } else { format!(" One of {}.", option.known.join(", ")) };
        let help = plain(option.help.trim_end_matches('.'));
        let _ = writeln!(text, "    - `{}`: {help}.{known}{default}", name_of(&option.name));
    }
    let repeated: Vec<String> = options
        .iter()
        .filter(|option| option.many == Many::Repeated)
        .map(|option| format!("\"{}\"", option.name))
        .collect();
    let _ = writeln!(text, "    \"\"\"\n    return {result}(run(\"{name}\", locals(), ({},)))", repeated.join(", "));
    text.replace("((,)", "(()").replace(", (,))", ", ())")
}

#[test]
fn functions_follow_from_the_options() {
    let head = "\"\"\"The commands as functions.\"\"\"\n\nfrom __future__ import annotations\n\n\
                from collections.abc import Mapping, Sequence\n\n\
                from ._figures import Noc, Sim\nfrom ._run import ChipLike, KeyValue, PathLike, run\n\n\n";
    let sim = function(
        "sim",
        "Sim",
        "Simulates a workload on a chip. The result has the bytes of `baton sim --json`.\n\n    \
         >>> import baton\n    \
         >>> baton.sim(chip=\"ocor64\", lock=\"mcs\", threads=4, iterations=50).acquisitions\n    200",
        &sim_options(),
    );
    let noc = function(
        "noc",
        "Noc",
        "Simulates a network on chip. The result has the bytes of `baton noc --json`.\n\n    \
         >>> import baton\n    \
         >>> baton.noc(size=\"4x4\", rate=0.05, cycles=1000).outcome\n    'settled'",
        &noc_options(),
    );
    settle(&format!("{FOLDER}baton/_commands.py"), &format!("{NOTE}{head}{sim}\n\n{noc}"));
}

/// The type of a figure, and whether it may be null.
fn figure_type(schema: &Value) -> String {
    let of = |name: &str| match name {
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "null" => "None",
        _ => "str",
    };
    match &schema["type"] {
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(of).collect::<Vec<_>>().join(" | "),
        Value::String(one) if one == "array" => format!("list[{}]", figure_type(&schema["items"])),
        Value::String(one) if one == "object" => "dict[str, Any]".to_owned(),
        Value::String(one) => of(one).to_owned(),
        _ => "Any".to_owned(),
    }
}

fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(word).collect()
}

/// The class of an object of figures, behind those of its parts.
fn class(name: &str, schema: &Value, base: &str, out: &mut String) {
    let what = schema["description"].as_str().unwrap_or("Figures.");
    let mut text = format!("class {name}({base}):\n    \"\"\"{}\"\"\"\n", plain(what));
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let part = format!("{name}{}", camel(field));
        let has = |schema: &Value| schema["properties"].as_object().is_some_and(|fields| !fields.is_empty());
        let always = required.iter().any(|name| name == field);
        let (of, value) = if has(schema) {
            class(&part, schema, "Figures", out);
            let value = if always { "_whole" } else { "_part" };
            (part.clone() + if always { "" } else { " | None" }, format!("self.{value}(\"{field}\", {part})"))
        } else if has(&schema["items"]) {
            class(&part, &schema["items"], "Figures", out);
            (format!("list[{part}]"), format!("self._list(\"{field}\", {part})"))
        } else {
            let of = figure_type(schema) + if always { "" } else { " | None" };
            (of.clone(), format!("cast(\"{of}\", self._get(\"{field}\"))"))
        };
        let mut what = plain(schema["description"].as_str().unwrap_or_default());
        if let Some(unit) = schema["unit"].as_str() {
            what = format!("{what} Unit: {unit}.").trim_start().to_owned();
        }
        if what.is_empty() {
            what = format!("`{field}` of the result.");
        }
        let _ = write!(
            text,
            "\n    @property\n    def {}(self) -> {of}:\n        \"\"\"{what}\"\"\"\n        return {value}\n",
            name_of(field)
        );
    }
    let _ = write!(out, "\n\n{text}");
}

/// The figures of `noc` in the form of a schema.
fn noc_schema() -> Value {
    let group = |what: &str| json!({ "type": "object", "description": what, "properties": {}, "required": [] });
    let mut top = group("A run of a network on chip.");
    for figure in noc_figures() {
        let steps: Vec<&str> = figure.path.split('.').collect();
        let mut at = &mut top;
        for (depth, step) in steps[..steps.len() - 1].iter().enumerate() {
            let optional = depth == 0 && *step == "round_trip";
            if !optional && !at["required"].as_array().is_some_and(|all| all.iter().any(|name| name == step)) {
                at["required"].as_array_mut().expect("a list").push(json!(step));
            }
            at = at["properties"]
                .as_object_mut()
                .expect("an object")
                .entry(*step)
                .or_insert_with(|| group("Its figures."));
        }
        let last = steps[steps.len() - 1];
        let kind = match (last, format!("{:?}", figure.kind).as_str()) {
            ("saturated", _) => "boolean",
            (_, "Whole") => "integer",
            _ => "number",
        };
        let can_lack = ["mean", "half_width_95", "runtime"].contains(&last);
        let kind = if can_lack { json!([kind, "null"]) } else { json!(kind) };
        at["required"].as_array_mut().expect("a list").push(json!(last));
        let mut field = Map::from_iter([("description".to_owned(), json!(figure.what)), ("type".to_owned(), kind)]);
        if !figure.unit.is_empty() {
            field.insert("unit".to_owned(), json!(figure.unit));
        }
        at["properties"][last] = field.into();
    }
    top["properties"]["outcome"] = json!({ "type": "string", "description": "settled, saturated or deadlocked." });
    top["required"].as_array_mut().expect("a list").push(json!("outcome"));
    top
}

#[test]
fn figures_follow_from_the_declarations() {
    let mut text = format!(
        "{NOTE}\"\"\"The results of the commands.\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import Any, cast\n\nfrom ._result import Figures, Result\n"
    );
    class("Sim", &serde_json::from_str(SCHEMA).expect("the schema"), "Result", &mut text);
    class("Noc", &noc_schema(), "Result", &mut text);
    settle(&format!("{FOLDER}baton/_figures.py"), &text);
}

/// The versions of each package in a `Cargo.lock`.
fn versions(lock: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let of = |line: &str, key: &str| Some(line.strip_prefix(key)?.trim_matches('"').to_owned());
    let lines: Vec<&str> = lock.lines().collect();
    for pair in lines.windows(2) {
        if let (Some(name), Some(version)) = (of(pair[0], "name = "), of(pair[1], "version = ")) {
            all.entry(name).or_default().push(version);
        }
    }
    all
}

/// The module computes with the packages that the command has.
#[test]
fn its_packages_have_the_versions_of_the_workspace() {
    let read = |path: &str| std::fs::read_to_string(format!("{FOLDER}{path}")).expect("Cargo.lock");
    let (ours, its) = (versions(&read("../../Cargo.lock")), versions(&read("Cargo.lock")));
    assert!(its.contains_key("pyo3") && its.contains_key("baton-cli"));
    for (name, versions) in its {
        let Some(known) = ours.get(&name) else { continue };
        let all = versions.iter().all(|version| known.contains(version));
        assert!(all, "{name} is {versions:?} in crates/python/Cargo.lock, {known:?} in Cargo.lock: `make python-lock`");
    }
}
