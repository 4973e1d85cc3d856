//! The Python module: functions and figures follow from the command's declarations, and versions
//! of dependencies from the workspace.
//! `BLESS=1 cargo test -p baton-cli --test house python::` writes the generated files anew.

use super::figures::settle;
use baton_cli::call::{
    CallKind, CallOption, Many, litmus_options, noc_figures, noc_options, sim_options, study_options, whatif_options,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
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
        ("chip", _, Many::No) => "ChipLike",
        ("set", ..) => "Mapping[str, KeyValue]",
        (_, CallKind::Switch, _) => "bool",
        (_, CallKind::Whole, Many::No) => "int",
        (_, CallKind::Number, _) => "float",
        (_, CallKind::Path, Many::No) => "PathLike",
        (_, CallKind::Path, _) => "PathLike | Sequence[PathLike]",
        (_, CallKind::Size, _) => "int | str",
        (_, CallKind::Text, Many::No) => "str",
        (_, CallKind::Whole, _) => "int | Sequence[int]",
        (_, CallKind::Text, _) => "str | Sequence[str]",
    }
}

/// A command as a function.
struct Function<'a> {
    name: &'a str,
    /// Arguments without an option, as parameters with their types.
    places: &'a str,
    result: &'a str,
    /// The result of the call `CALL`.
    returns: &'a str,
    what: &'a str,
}

/// The function of a command.
fn function(of: &Function<'_>, options: &[CallOption]) -> String {
    let Function { name, places, result, returns, what } = of;
    // Arguments behind `*paths` are named anyhow.
    let star = if places.starts_with('*') { "" } else { "    *,\n" };
    let places = if places.is_empty() { String::new() } else { format!("    {places},\n") };
    let mut text = format!("def {name}(\n{places}{star}");
    for option in options {
        let _ = writeln!(text, "    {}: {} | None = None,", name_of(&option.name), type_of(option));
    }
    let what = plain(what);
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
    let place = places.trim().trim_start_matches('*').split(':').next().unwrap_or_default();
    let place = if place.is_empty() { String::new() } else { format!(", \"{place}\"") };
    let call = format!("run(\"{name}\", locals(), ({},){place})", repeated.join(", "));
    let _ = writeln!(text, "    \"\"\"\n    return {}", returns.replace("CALL", &call));
    text.replace(", (,)", ", ()")
}

#[test]
fn functions_follow_from_the_options() {
    let head = "\"\"\"The commands as functions.\"\"\"\n\nfrom __future__ import annotations\n\n\
                from collections.abc import Mapping, Sequence\n\n\
                from ._figures import Noc, Sim\nfrom ._results import LitmusTest, StudyFindings, Whatif\nfrom ._run import ChipLike, KeyValue, PathLike, listed, run\n";
    let functions = [
        (Function { name: "sim", places: "", result: "Sim", returns: "Sim(CALL)", what: SIM }, sim_options()),
        (Function { name: "noc", places: "", result: "Noc", returns: "Noc(CALL)", what: NOC }, noc_options()),
        (
            Function {
                name: "whatif",
                places: "directory: PathLike",
                result: "Whatif",
                returns: "Whatif(CALL)",
                what: WHATIF,
            },
            whatif_options(),
        ),
        (
            Function {
                name: "litmus",
                places: "*paths: PathLike",
                result: "list[LitmusTest]",
                returns: "listed(LitmusTest, CALL)",
                what: LITMUS,
            },
            litmus_options(),
        ),
        (
            Function {
                name: "study",
                places: "name: str",
                result: "StudyFindings",
                returns: "StudyFindings(CALL)",
                what: STUDY,
            },
            study_options(),
        ),
    ];
    let texts = functions.iter().map(|(of, options)| format!("\n\n{}", function(of, options)));
    settle(&format!("{FOLDER}baton/_commands.py"), &format!("{NOTE}{head}{}", texts.collect::<String>()));
}

const SIM: &str = "Simulates a workload on a chip. The result has the bytes of `baton sim --json`.

    >>> import baton
    >>> baton.sim(chip=\"ocor64\", lock=\"mcs\", threads=4, iterations=50).acquisitions
    200";

const NOC: &str = "Simulates a network on chip. The result has the bytes of `baton noc --json`.

    >>> import baton
    >>> baton.noc(size=\"4x4\", rate=0.05, cycles=1000).outcome
    'settled'";

const WHATIF: &str = "Predicts what another lock, wait policy or chip would do to a recorded program, or to a `Trace`.

    The result has the bytes of `baton whatif --json`. Ctrl-C returns at once; the prediction ends in the background.

    >>> import baton, tempfile
    >>> times = [(thread, 1_000 * turn + 400 * thread) for turn in range(1, 50) for thread in (0, 1)]
    >>> table = {
    ...     \"thread\": [thread for thread, _ in times for _ in (0, 1)],
    ...     \"time_ns\": [time + held for _, time in times for held in (0, 200)],
    ...     \"event\": [\"Acquire\", \"Release\"] * len(times),
    ...     \"address\": [0x1000] * (2 * len(times)),
    ... }
    >>> folder = baton.Trace(table).save(tempfile.mkdtemp() + \"/recording\")
    >>> found = baton.whatif(folder, chip=\"sample-host\", lock=\"mcs\", seeds=1)
    >>> [(row.lock, row.acquisitions) for row in found.results]
    [('futex', 98), ('mcs', 98)]";

const LITMUS: &str =
    "Runs litmus tests: files, or folders that hold some. Has what `baton litmus --json` prints, test by test.

    >>> import baton, pathlib, tempfile
    >>> text = 'X86_64 SB\\n{ }\\n P0 | P1 ;\\n movl $1,(x) | movl $1,(y) ;\\n movl (y),%eax | movl (x),%eax ;\\n'
    >>> file = pathlib.Path(tempfile.mkdtemp(), \"SB.litmus\")
    >>> written = file.write_text(text + 'exists (0:rax=0 /\\\\ 1:rax=0)\\n')
    >>> [baton.litmus(file, runs=500, set={\"core.store_buffer\": entries})[0].observed for entries in (0, 16)]
    [False, True]";

const STUDY: &str = "Compares a paper's claims with the results of this system.

    Has what `baton study --json` prints. With `out`, the report and the cache lie in that folder, and a study that was ended
    goes on there. Ctrl-C returns at once; the study ends in the background.";

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
        _ if schema["const"].is_string() => "str".to_owned(),
        _ => "Any".to_owned(),
    }
}

fn camel(name: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').map(word).collect()
}

/// Classes of figures for the objects of a schema. An object of `$defs` has one class, however often it is named.
struct Classes<'a> {
    schema: &'a Value,
    /// The class of the whole, with which the names of all others begin.
    name: &'a str,
    made: BTreeSet<String>,
    text: String,
}

/// A part of a schema without its reference, and the name of the class if it has one.
struct Part<'a> {
    schema: &'a Value,
    class: Option<String>,
    is_nullable: bool,
}

impl<'a> Classes<'a> {
    /// `own` is the name that the class of the part has if the part is an object in its place.
    fn part(&self, schema: &'a Value, own: &str) -> Part<'a> {
        if let Some(name) = schema["$ref"].as_str() {
            let found = self.schema.pointer(name.trim_start_matches('#')).expect("what a reference names");
            let last = name.rsplit('/').next().unwrap_or_default();
            return Part { class: Some(format!("{}{last}", self.name)), ..self.part(found, own) };
        }
        if let Some(all) = schema["anyOf"].as_array() {
            let one = all.iter().find(|one| one["type"] != "null").expect("something beside null");
            return Part { is_nullable: all.len() > 1, ..self.part(one, own) };
        }
        let is_class = schema["properties"].as_object().is_some_and(|fields| !fields.is_empty());
        Part { schema, class: is_class.then(|| own.to_owned()), is_nullable: false }
    }

    /// Adds the class of an object, behind those of its parts.
    fn class(&mut self, name: &str, schema: &'a Value, base: &str) {
        if !self.made.insert(name.to_owned()) {
            return;
        }
        let what = schema["description"].as_str().unwrap_or("Figures.");
        let mut text = format!("class {name}({base}):\n    \"\"\"{}\"\"\"\n", plain(what));
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            let always = required.iter().any(|name| name == field);
            let (of, value) = self.field(name, field, schema, always);
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
        let _ = write!(self.text, "\n\n{text}");
    }

    /// The type of a field, and the expression that reads it.
    fn field(&mut self, name: &str, field: &str, schema: &'a Value, always: bool) -> (String, String) {
        let own = format!("{name}{}", camel(field));
        let part = self.part(schema, &own);
        let can_lack = !always || part.is_nullable;
        if let Some(class) = part.class.filter(|_| part.schema["properties"].is_object()) {
            self.class(&class, part.schema, "Figures");
            let value = if can_lack { "_part" } else { "_whole" };
            return (
                class.clone() + if can_lack { " | None" } else { "" },
                format!("self.{value}(\"{field}\", {class})"),
            );
        }
        let items = self.part(&part.schema["items"], &own);
        if let Some(class) = items.class.filter(|_| items.schema["properties"].is_object()) {
            self.class(&class, items.schema, "Figures");
            return (format!("list[{class}]"), format!("self._list(\"{field}\", {class})"));
        }
        let of = figure_type(part.schema);
        let of = if can_lack && !of.contains("None") && of != "Any" { of + " | None" } else { of };
        (of.clone(), format!("cast(\"{of}\", self._get(\"{field}\"))"))
    }
}

/// The classes of a result.
fn classes(name: &str, schema: &Value, base: &str) -> String {
    let mut classes = Classes { schema, name, made: BTreeSet::new(), text: String::new() };
    classes.class(name, schema, base);
    classes.text
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
    text += &classes("Sim", &serde_json::from_str(SCHEMA).expect("the schema"), "Result");
    text += &classes("Noc", &noc_schema(), "Result");
    settle(&format!("{FOLDER}baton/_figures.py"), &text);
}

#[test]
fn results_follow_from_the_schemas() {
    let mut text = format!(
        "{NOTE}\"\"\"The results whose schemas are in docs/schema.\"\"\"\n\nfrom __future__ import annotations\n\n\
         from typing import Any, cast\n\nfrom ._result import Figures, Result\n"
    );
    for (name, file, base) in [
        ("Whatif", "whatif", "Result"),
        ("Report", "report", "Result"),
        ("StudyFindings", "study", "Result"),
        ("LitmusTest", "litmus", "Figures"),
    ] {
        let file = std::fs::read_to_string(format!("{FOLDER}../../docs/schema/{file}.schema.json")).expect(file);
        let schema: Value = serde_json::from_str(&file).expect("the schema");
        // A list of results has the class of one of them.
        let one = if schema["type"] == "array" { &schema["items"] } else { &schema };
        text += &classes(name, one, base);
    }
    settle(&format!("{FOLDER}baton/_results.py"), &text);
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
