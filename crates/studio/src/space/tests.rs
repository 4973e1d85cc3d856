use super::*;
use baton_needs::property;
use proptest::prelude::*;
use std::path::Path;

fn read(text: &str) -> Result<Space, SpaceError> {
    let chips = || vec!["caf16".to_owned(), "caf64".to_owned(), "ocor64".to_owned()];
    Space::from_toml(text, "s.toml", Path::new("/nonexistent"), &chips)
}

fn nothing(_: &[(&str, &Value)], _: &str) -> Looked {
    Looked::Unknown(vec![])
}

/// All points, as a table of texts.
fn points(space: &Space, lookup: Lookup<'_>) -> Vec<Vec<String>> {
    let shown = |point: Point| {
        point.values.iter().map(|value| value.as_ref().map_or("-".into(), ToString::to_string)).collect()
    };
    (0..space.combinations()).filter_map(|number| space.point(number, lookup).unwrap()).map(shown).collect()
}

fn values(axis: &str) -> Vec<String> {
    let space =
        read(&format!("command = \"sim\"\n[axes]\nx = {axis}\n")).unwrap_or_else(|error| panic!("{axis}: {error}"));
    space.axes[0].values.iter().map(|value| format!("{value}")).collect()
}

#[test]
fn axes_are_lists_ranges_logarithmic_ranges_and_chips() {
    assert_eq!(values("[1, 2, 4]"), ["1", "2", "4"]);
    assert_eq!(values("[\"8K\", 4096]"), ["8K", "4096"]);
    assert_eq!(values("[true, false]"), ["true", "false"]);
    assert_eq!(values("{ from = 1, to = 8, step = 3 }"), ["1", "4", "7"]);
    assert_eq!(values("{ from = 0.1, to = 0.5, step = 0.1 }"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
    assert_eq!(values("{ from = 4, to = 64, factor = 2 }"), ["4", "8", "16", "32", "64"]);
    assert_eq!(values("{ from = 0.5, to = 3, factor = 2 }"), ["0.5", "1", "2"]);
    assert_eq!(values("{ from = 0, to = 1, count = 5 }"), ["0", "0.25", "0.5", "0.75", "1"]);
    assert_eq!(values("{ from = 0, to = 8, count = 5 }"), ["0", "2", "4", "6", "8"]);
    assert_eq!(values("{ from = 1, to = 1000, count = 4, log = true }"), ["1", "10", "100", "1000"]);
    assert_eq!(values("{ from = 1, to = 4, count = 9, log = true }"), ["1", "2", "3", "4"]);
    assert_eq!(values("{ chips = \"*64\" }"), ["caf64", "ocor64"]);
    assert_eq!(values("{ chips = \"c*6*\" }"), ["caf16", "caf64"]);
}

#[test]
fn an_axis_has_the_lines_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("locks"), "mcs\n\n# none\n tas \n").unwrap();
    let text = "command = \"sim\"\n[axes]\nlock = \"file:locks\"\n";
    let space = Space::from_toml(text, "s.toml", folder.path(), &Vec::new).unwrap();
    assert_eq!(space.axes[0].values, [Value::Text("mcs".into()), Value::Text("tas".into())]);
    let error = Space::from_toml(&text.replace("locks", "other"), "s.toml", folder.path(), &Vec::new).unwrap_err();
    assert!(
        error.to_string().contains("s.toml:3: axis `lock`: ") && error.to_string().contains("No such file"),
        "{error}"
    );
}

#[test]
fn the_last_axis_varies_fastest_and_settings_follow() {
    let text = r#"
        command = "sim"
        constraints = ["threads <= 2 * n"]
        [axes]
        n = [1, 2]
        lock = ["a", "b"]
        [set]
        threads = "= m + 1"
        cs = 5
        m = "= n + chip.size"
    "#;
    let chip = |known: &[(&str, &Value)], name: &str| {
        assert!(known.iter().any(|(name, _)| *name == "cs") && name == "chip.size");
        Looked::Value(Value::Whole(1))
    };
    let space = read(text).unwrap();
    assert_eq!(space.names().collect::<Vec<_>>(), ["n", "lock", "threads", "cs", "m"]);
    assert_eq!(points(&space, &chip), [["2", "a", "4", "5", "3"], ["2", "b", "4", "5", "3"]]);
}

#[test]
fn a_point_whose_chip_cannot_be_is_invalid() {
    let space = read("command = \"sim\"\n[axes]\nn = [1]\n[set]\nthreads = \"= core.count\"").unwrap();
    let point = space.point(0, &|_, _| Looked::Invalid("no such chip".into())).unwrap().unwrap();
    assert_eq!((point.values[1].clone(), point.invalid.as_deref()), (None, Some("no such chip")));
}

#[test]
fn seeds_metrics_and_bounds_are_read() {
    let space = read(
        r#"
        command = "sim"
        seeds = { least = 4, most = 9 }
        until = { rate = "2%", cycles = 0.5 }
        metrics = ["cycles", { name = "rate", value = "= acquisitions / cycles", unit = "a cycle" }]
        goal = "most rate"
        budget = { points = 10, seconds = 1.5 }
        limits = { seconds = 60, memory_mib = 2 }
        "#,
    )
    .unwrap();
    let narrow = vec![("cycles".to_owned(), 0.5), ("rate".to_owned(), 0.02)];
    let Seeds::Until { least: 4, most: 9, narrow: mut found } = space.seeds.clone() else {
        panic!("{:?}", space.seeds)
    };
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(found, narrow);
    assert_eq!(space.metrics[0].source, Source::Figure("cycles".into()));
    assert!(matches!(&space.metrics[1].source, Source::Expr { unit, .. } if unit == "a cycle"));
    assert_eq!(space.goal, Some(Goal { most: true, metric: "rate".into() }));
    assert_eq!((space.budget.points, space.limits.memory), (Some(10), Some(2 << 20)));
    assert_eq!(read("command = \"sim\"\nseeds = 3").unwrap().seeds, Seeds::List(vec![1, 2, 3]));
}

#[test]
fn bad_input_is_told_with_line_key_and_what_was_expected() {
    for (text, said) in [
        ("axes = 3", "s.toml:1: `axes` is 3; expected a table of axes"),
        ("[axes]\nx = [1]", "s.toml: `command` is missing; expected the name of a command, as in `command = \"sim\"`"),
        ("comand = \"sim\"", "s.toml:1: unknown key `comand`; expected one of command, axes, set"),
        ("command = \"sim\"\n[axes]\nx = []", "s.toml:3: axis `x` has no values: the space is empty"),
        ("command = \"sim\"\nseeds = []", "s.toml:2: `seeds` is empty: the space is empty"),
        ("command = \"sim\"\n[axes]\nx = [1, 1]", "s.toml:3: axis `x` has the value `1` twice"),
        (
            "command = \"sim\"\n[axes]\nx = [1,\n[2]]",
            "s.toml:4: `axes.x[1]` is a list; expected a number, a text, true or false",
        ),
        ("command = \"sim\"\n[axes]\nx = [true, 1]", "s.toml:3: axis `x` mixes true or false with other values"),
        ("command = \"sim\"\n[axes]\nx = \"= y\"", "s.toml:3: `x` is coupled: it belongs into the table `set`"),
        (
            "command = \"sim\"\n[axes]\nx = { from = 5, to = 1, step = 1 }",
            "s.toml:3: axis `x`: from 5 to 1 has no values",
        ),
        (
            "command = \"sim\"\n[axes]\nx = { from = 0, to = 1, step = 1e-9 }",
            "s.toml:3: axis `x`: expected at most 1000000 values",
        ),
        ("command = \"sim\"\n[axes]\nx = { from = 0, to = 8, factor = 2 }", "`from` more than 0"),
        (
            "command = \"sim\"\n[axes]\nx = { from = 9223372036854775000, to = 9223372036854775807, step = 500 }",
            "s.toml:3: axis `x`: a value is too large; expected whole numbers below 2^63",
        ),
        (
            "command = \"sim\"\n[axes]\nx = { from = 1, to = 9223372036854775807, factor = 2 }",
            "s.toml:3: axis `x`: a value is too large; expected whole numbers below 2^63",
        ),
        (
            "command = \"sim\"\n[axes]\nx = { from = -9223372036854775807, to = 9223372036854775807, count = 3 }",
            "s.toml:3: axis `x`: a value is too large; expected whole numbers below 2^63",
        ),
        ("command = \"sim\"\n[axes]\nx = { from = 1, to = 8 }", "expected one of `step`, `factor` and `count`"),
        (
            "command = \"sim\"\n[axes]\nx = { chips = \"z*\" }",
            "s.toml:3: no chip fits `z*`; there are caf16, caf64, ocor64",
        ),
        ("command = \"sim\"\n[axes]\nx = [1]\n[set]\nx = 2", "s.toml:5: `x` is given twice; it stands in line 3 too"),
        ("command = \"sim\"\n[set]\nseed = 2", "s.toml:3: `seed` is no setting here; expected the key `seeds`"),
        ("command = \"sim\"\n[set]\na = \"= b\"\nb = \"= a\"", "s.toml:3: `a` and `b` are coupled in a circle"),
        ("command = \"sim\"\n[set]\na = \"= 1 +\"", "s.toml:3: `set.a` is \"1 +\": expected a value (character 4)"),
        (
            "command = \"sim\"\nuntil = { x = \"200%\" }",
            "s.toml:2: `until.x` is the text \"200%\"; expected a share of the mean",
        ),
        ("command = \"sim\"\ngoal = \"best x\"", "s.toml:2: `goal` is the text \"best x\"; expected `most` or `least`"),
        ("command = \"sim\"\nmetrics = [\"a\", \"a\"]", "s.toml:2: metric `a` is given twice"),
        (
            "command = \"sim\"\nbudget = { hours = 2 }",
            "s.toml:2: unknown key `budget.hours`; expected one of points, seconds",
        ),
        ("command = ", "s.toml:1: not TOML: "),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}\n{error}\n{said}");
    }
    let error = read("comand = \"sim\"").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `command`?"));
    let space = read("command = \"sim\"\nconstraints = [\"y < 1\"]\n[axes]\nx = [1]").unwrap();
    let error = space.point(0, &nothing).unwrap_err();
    assert_eq!(error.to_string(), "s.toml:2: `y < 1`: unknown name `y`");
    let many: String = (0..5).map(|i| format!("x{i} = {{ from = 1, to = 1000, step = 1 }}\n")).collect();
    let error = read(&format!("command = \"sim\"\n[axes]\n{many}")).unwrap_err().to_string();
    assert!(error.contains("more than 1000000000 combinations"), "{error}");
}

proptest! {
    #![proptest_config(property!(64))]

    /// The points are those of nested loops, and coupled values hold in each.
    #[test]
    fn enumeration_equals_nested_loops(lengths in prop::collection::vec(1_i64..5, 1..4), limit in 0_i64..12, add in -3_i64..4) {
        let axes: String = lengths.iter().enumerate().map(|(i, n)| format!("x{i} = {{ from = 1, to = {n}, step = 1 }}\n")).collect();
        let sum = (0..lengths.len()).map(|i| format!("x{i}")).collect::<Vec<_>>().join(" + ");
        let text = format!(
            "command = \"sim\"\nconstraints = [\"sum <= {limit}\", \"x0 != 2\"]\n[axes]\n{axes}[set]\nmore = \"= sum + ({add})\"\nsum = \"= {sum}\"\n"
        );
        let space = read(&text).unwrap();
        let mut naive: Vec<Vec<i64>> = vec![vec![]];
        for n in &lengths {
            naive = naive.iter().flat_map(|point| (1..=*n).map(move |x| [point.clone(), vec![x]].concat())).collect();
        }
        naive.retain(|point| point.iter().sum::<i64>() <= limit && point[0] != 2);
        let naive: Vec<Vec<String>> = naive
            .into_iter()
            .map(|point| {
                let sum: i64 = point.iter().sum();
                point.iter().chain(&[sum + add, sum]).map(ToString::to_string).collect()
            })
            .collect();
        prop_assert_eq!(points(&space, &nothing), naive);
    }
}
