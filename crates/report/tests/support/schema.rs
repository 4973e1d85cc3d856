//! A validator for the part of JSON Schema that `docs/schema` uses. A keyword that it does not know is an error, so that a schema cannot
//! say more than is checked.

#![allow(unreachable_pub, reason = "used by the test beside it")]

use serde_json::Value;

/// All violations, each with its place.
pub fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "$", &mut found);
    found
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        found.push(format!("{at}: the schema is no object"));
        return;
    };
    for (keyword, wanted) in keywords {
        match keyword.as_str() {
            "$schema" | "$comment" | "$defs" | "title" | "description" | "unit" => {}
            "$ref" => match wanted.as_str().and_then(|r| root.pointer(r.strip_prefix('#')?)) {
                Some(definition) => check(root, definition, value, at, found),
                None => found.push(format!("{at}: {wanted} leads nowhere")),
            },
            "const" if value != wanted => found.push(format!("{at}: {value} is not {wanted}")),
            "const" => {}
            "enum" => {
                if !wanted.as_array().is_some_and(|list| list.contains(value)) {
                    found.push(format!("{at}: {value} is none of {wanted}"));
                }
            }
            "type" => {
                let types = wanted.as_array().map_or(vec![wanted], |list| list.iter().collect());
                if !types.iter().any(|t| t.as_str().is_some_and(|t| is(value, t))) {
                    found.push(format!("{at}: {value} is not of type {wanted}"));
                }
            }
            "minimum" => {
                if value.as_f64().zip(wanted.as_f64()).is_some_and(|(v, least)| v < least) {
                    found.push(format!("{at}: {value} is less than {wanted}"));
                }
            }
            "anyOf" => {
                let fits = |s: &Value| {
                    let mut inner = Vec::new();
                    check(root, s, value, at, &mut inner);
                    inner.is_empty()
                };
                if !wanted.as_array().is_some_and(|list| list.iter().any(fits)) {
                    found.push(format!("{at}: {value} fits none of the alternatives"));
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{at}[{i}]"), found);
                }
            }
            "properties" => {
                for (name, item) in value.as_object().into_iter().flatten() {
                    match wanted.get(name) {
                        Some(schema) => check(root, schema, item, &format!("{at}.{name}"), found),
                        None => found.push(format!("{at}.{name}: not in the schema")),
                    }
                }
            }
            "required" => {
                for name in wanted.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    if value.is_object() && value.get(name).is_none() {
                        found.push(format!("{at}.{name}: missing"));
                    }
                }
            }
            // Nothing to check: `properties` already refuses fields that the schema does not have.
            "additionalProperties" if wanted == &Value::Bool(false) => {}
            _ => found.push(format!("{at}: the validator does not know {keyword}: {wanted}")),
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => false,
    }
}
