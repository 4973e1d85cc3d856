//! The figures of a command, from a list or from the schema of its JSON.

use baton_studio::subject::Figure;
use baton_studio::value::Kind;
use serde_json::Value as Json;

/// Figures from a list of paths, units and meanings. A unit that ends with `!` belongs to a whole number.
pub(crate) fn listed(all: &[(&str, &str, &str)]) -> Vec<Figure> {
    let figure = |&(path, unit, what): &(&str, &str, &str)| Figure {
        path: path.to_owned(),
        kind: if unit.ends_with('!') { Kind::Whole } else { Kind::Number },
        unit: unit.trim_end_matches('!').to_owned(),
        what: what.to_owned(),
    };
    all.iter().map(figure).collect()
}

/// The numbers, and values that are true or false, of a JSON schema; `N` stands for any place in a list. Empty for a text that is no
/// schema.
pub(crate) fn of_schema(text: &str) -> Vec<Figure> {
    let whole: Json = serde_json::from_str(text).unwrap_or_default();
    let mut figures = Vec::new();
    walk(&whole, &whole, "", &mut figures);
    figures
}

/// The part of a schema that a reference names, or that stands beside null.
fn resolved<'a>(whole: &'a Json, part: &'a Json) -> &'a Json {
    let named = part["$ref"].as_str().and_then(|name| whole.pointer(name.trim_start_matches('#')));
    let either = part["anyOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null"));
    named.or_else(|| either.map(|one| resolved(whole, one))).unwrap_or(part)
}

/// Adds the figures of a part of a schema.
fn walk(whole: &Json, part: &Json, path: &str, figures: &mut Vec<Figure>) {
    let of = resolved(whole, part);
    let is =
        |name: &str| of["type"] == name || of["type"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, field) in of["properties"].as_object().into_iter().flatten() {
        walk(whole, field, &below(name), figures);
    }
    if is("array") {
        walk(whole, &of["items"], &below("N"), figures);
    }
    if is("integer") || is("number") || is("boolean") {
        let said = [part, of].into_iter().find_map(|schema| schema["description"].as_str());
        let is_time = path.split('.').any(|step| step.ends_with("_ns"));
        let unit = of["unit"].as_str().unwrap_or(if is_time { "nanoseconds" } else { "" });
        figures.push(Figure {
            path: path.to_owned(),
            kind: if is("number") { Kind::Number } else { Kind::Whole },
            unit: unit.to_owned(),
            what: said.unwrap_or_default().to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_its_numbers_with_units() {
        let figures = of_schema(include_str!("../../../../../docs/schema/whatif.schema.json"));
        let find = |path: &str| figures.iter().find(|figure| figure.path == path);
        let time = find("results.N.time_ns.median").unwrap();
        assert_eq!((time.kind, time.unit.as_str(), time.what.as_str()), (Kind::Whole, "nanoseconds", "The median."));
        assert_eq!(find("results.N.speedup").unwrap().kind, Kind::Number);
        assert_eq!(find("trustworthy").unwrap().kind, Kind::Whole);
        assert!(find("results.N.network.less_time.low").is_some() && find("requests.rows.N.p99_ns").is_some());
        assert!(find("directory").is_none() && find("results.N.lock").is_none());
        assert_eq!(of_schema("no schema"), []);
    }
}
