//! What a plan refuses, and what it finds out. Nothing depends on the order of names and values.

use super::*;

#[test]
fn a_space_is_checked_before_anything_runs() {
    let refused = |text: &str| {
        let error = Plan::new(space(text), Arc::new(Toy::default())).err().unwrap();
        (error.to_string(), error.hint.unwrap_or_default())
    };
    let said = |text: &str| refused(text).0;
    let of_seed = "toy.toml:3: `seed` is an unknown name here: a point has the same settings with each of its seeds";
    assert_eq!(
        Space::from_toml("command = \"toy\"\n[set]\nx = \"= 2 * seed\"", "toy.toml", Path::new("."), &Vec::new)
            .unwrap_err()
            .to_string(),
        of_seed
    );
    assert_eq!(said("[axes]\nw = [1]"), "toy.toml:3: unknown setting `w` of `baton toy`");
    assert_eq!(said("[axes]\nkey = [1]"), "toy.toml:3: every store has a column `key` of its own");
    assert_eq!(
        refused("metrics = [\"sums\"]\n[axes]\nx = [1]"),
        ("toy.toml:2: unknown metric `sums` of `baton toy`".into(), "did you mean `sum`?".into())
    );
    assert_eq!(
        refused("metrics = [{ name = \"m\", value = \"= 2 * sums\" }]\n[axes]\nx = [1]").0,
        "toy.toml:2: unknown metric `sums` of `baton toy`"
    );
    assert_eq!(
        said("constraints = [\"x > 0\", \"x > 5\"]\n[axes]\nx = [1, 2]"),
        "toy.toml:2: no point meets the constraint `x > 5`: the space is empty"
    );
    assert_eq!(
        said("constraints = [\"x > 1\", \"x < 2\"]\n[axes]\nx = [1, 2]"),
        "toy.toml:2: no point meets all constraints: the space is empty"
    );
    assert_eq!(
        said("goal = \"most noise\"\n[axes]\nx = [1]"),
        "toy.toml: `goal` names `noise`, which is no metric of this space; expected one of sum"
    );
    assert_eq!(
        refused("[set]\nx = \"= sice\""),
        ("toy.toml:3: `sice`: unknown name `sice`".into(), "did you mean `size`?".into())
    );
    let mut other = space("[axes]\nx = [1]");
    other.command = "sim".into();
    let error = Plan::new(other, Arc::new(Toy::default())).err().unwrap().to_string();
    assert_eq!(error, "toy.toml: is for `baton sim`, not `baton toy`");
}

/// The sort of a column in a plan.
fn kind(text: &str, name: &str) -> Kind {
    let plan = plan(text);
    plan.columns().iter().find(|column| column.name == name).unwrap().kind
}

#[test]
fn a_coupled_value_has_its_sort_after_any_number_of_invalid_points() {
    let text = |x: &str| {
        format!("[axes]\nx = {x}\ny = {{ from = 1, to = 600, step = 1 }}\n[set]\nname = \"= if(size > 1, 'a', 'b')\"\n")
    };
    assert_eq!(kind(&text("[13, 1]"), "name"), Kind::Text);
    assert_eq!(kind(&text("[1, 13]"), "name"), Kind::Text);
}

#[test]
fn a_sort_does_not_depend_on_the_first_point() {
    for x in ["[1, 17]", "[17, 1]"] {
        assert_eq!(kind(&format!("[axes]\nx = {x}\n[set]\nz = \"= size\"\n"), "z"), Kind::Number, "{x}");
        let mixed = space(&format!("[axes]\nx = {x}\n[set]\nz = \"= if(x == 1, 'one', 2)\"\n"));
        assert_eq!(
            Plan::new(mixed, Arc::new(Toy::default())).err().unwrap().to_string(),
            "toy.toml:5: `z` mixes texts and whole numbers; expected values of one sort"
        );
    }
    assert_eq!(kind("[axes]\nx = [1, 2]\n[set]\nz = \"= size\"\n", "z"), Kind::Whole);
}

#[test]
fn a_sort_does_not_depend_on_the_order_of_settings() {
    let [a, b] = ["y = \"= 2 * z\"\n", "z = \"= x / 2\"\n"];
    for set in [format!("{a}{b}"), format!("{b}{a}")] {
        let text = format!("[axes]\nx = [2, 4]\n[set]\n{set}");
        assert_eq!([kind(&text, "y"), kind(&text, "z")], [Kind::Number; 2], "{set}");
    }
}

#[test]
fn the_key_of_an_invalid_point_does_not_depend_on_the_order_of_names() {
    let key = |text: &str| plan(text).prepare(0, &[1]).unwrap().unwrap().1[0].key;
    assert_eq!(key("[axes]\nx = [7]\ny = [1]\n"), key("[axes]\ny = [1]\nx = [7]\n"));
    assert_ne!(key("[axes]\nx = [7]\ny = [1]\n"), key("[axes]\nx = [7]\ny = [2]\n"));
}

/// The point with the lowest number has the error, on any number of cores.
#[test]
fn the_first_point_without_a_value_is_the_error() {
    let text = "[axes]\nx = { from = 1, to = 9000, step = 1 }\n[set]\nz = \"= if(x > 4050, 'a' + x, if(x == 4000, 1 / (x - 4000), x))\"\n";
    for _ in 0..5 {
        let error = Plan::new(space(text), Arc::new(Toy::default())).err().unwrap().to_string();
        assert!(error.ends_with("division by 0"), "{error}");
    }
}
