//! `baton sweep` of `whatif`, `litmus` and `study`.

use crate::sweep::{run, space, text};
use serde_json::Value;
use std::process::Command;

/// The rows of a store as JSON, in the order of their coordinates.
fn rows(store: &str) -> Vec<Value> {
    let shown = run(&["sweep", "export", store, "--jsonl"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    text(&shown.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the command of a row prints with `--json`.
fn repeated(row: &Value) -> Value {
    let command = row["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--json"]).collect();
    serde_json::from_slice(&run(&words).stdout).unwrap_or_else(|error| panic!("{command}: {error}"))
}

#[test]
fn litmus_tests_are_swept_over_a_key_of_the_chip() {
    let folder = tempfile::tempdir().unwrap();
    let test = "X86_64 SB\n{ }\n P0 | P1 ;\n movl $1,(x) | movl $1,(y) ;\n movl (y),%eax | movl (x),%eax ;\n\
                exists (0:rax=0 /\\ 1:rax=0)\n";
    let (tests, verdicts) = (folder.path().join("SB.litmus"), folder.path().join("verdicts.csv"));
    std::fs::write(&tests, test).unwrap();
    let suite = folder.path().file_name().unwrap().to_string_lossy().into_owned();
    std::fs::write(&verdicts, format!("suite,test,verdict_x86_tso\n{suite},SB,Allow\n")).unwrap();
    let content = format!(
        "command = \"litmus\"\nseeds = 2\ngoal = \"most observed\"\n[axes]\n\"core.store_buffer\" = [0, 16]\n\
         [set]\npaths = '{}'\nverdicts = '{}'\nruns = \"= 300 + core.store_buffer\"\n",
        tests.display(),
        verdicts.display()
    );
    let (file, store) = space(folder.path(), &content);
    let swept = run(&["sweep", &file, "--store", &store]);
    assert_eq!(swept.status.code(), Some(0), "{}", text(&swept.stderr));
    let rows = rows(&store);
    let seen: Vec<_> =
        rows.iter().map(|row| (row["core.store_buffer"].as_u64(), row["allowed_seen"].as_u64())).collect();
    assert_eq!(seen, [0, 0, 16, 16].map(|entries| (Some(entries), Some(u64::from(entries > 0)))), "{rows:?}");
    assert_eq!(rows[3]["states"], repeated(&rows[3])[0]["states"]);
    // A changed test is another point.
    std::fs::write(&tests, test.replace("SB", "SB2")).unwrap();
    let again = run(&["sweep", &file, "--store", &store]);
    assert!(text(&again.stderr).contains("4 rows added"), "{}", text(&again.stderr));
}

#[test]
fn a_recording_is_replayed_over_locks_and_seeds() {
    if !baton_needs::has("xz", "a_recording_is_replayed_over_locks_and_seeds") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/check/recordings.tar.xz");
    let unpacked = Command::new("tar").args(["-xJf", recordings, "-C"]).arg(folder.path()).status().unwrap();
    assert!(unpacked.success());
    let recording = folder.path().join("counter");
    let content = format!(
        "command = \"whatif\"\nseeds = 2\n[axes]\nlock = [\"futex\", \"mcs\", \"nolock\"]\n\
         [set]\ndirectory = '{}'\nchip = \"sample-host\"\nseeds = 2\ncpus = \"= min(2, core.count)\"\n",
        recording.display()
    );
    let (file, store) = space(folder.path(), &content);
    let swept = run(&["sweep", &file, "--store", &store]);
    let said = text(&swept.stderr);
    assert!(swept.status.code() == Some(1) && said.contains("6 rows added, 2 of them failures"), "{said}");
    let rows = rows(&store);
    let time = |row: &Value| row["results.1.time_ns.median"].as_u64();
    let mcs: Vec<_> = rows.iter().filter(|row| row["lock"] == "mcs").collect();
    // Each seed of the space stands for seeds of its own.
    assert!(time(mcs[0]).is_some() && time(mcs[0]) != time(mcs[1]), "{mcs:?}");
    for row in mcs {
        let alone = repeated(row);
        assert_eq!(time(row), alone["results"][1]["time_ns"]["median"].as_u64());
        assert_eq!(row["trustworthy"], u8::from(alone["trustworthy"].as_bool().unwrap()));
    }
    let wrong = rows.iter().find(|row| row["lock"] == "nolock").unwrap();
    assert!(wrong["failure"] == "invalid" && wrong["reason"].as_str().unwrap().contains("nolock"), "{wrong}");
}

#[test]
fn a_study_has_no_seed_and_every_command_its_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let said = |content: &str, code: i32| {
        let (file, store) = space(folder.path(), content);
        let out = run(&["sweep", &file, "--store", &store, "--dry-run"]);
        assert_eq!(out.status.code(), Some(code), "{content}\n{}", text(&out.stderr));
        text(&out.stdout) + &text(&out.stderr)
    };
    let study = "command = \"study\"\n[axes]\n\"noise.latency\" = [0.0, 0.1]\n[set]\nname = \"mwait\"\nquick = true\n";
    assert_eq!(said(study, 0), "2 points, 2 rows\n");
    assert!(said(&format!("seeds = 2\n{study}"), 2).contains("`baton study` takes no seed"));
    assert!(said(&study.replace("name = \"mwait\"", ""), 2).contains("`baton study` needs `name`"));
    assert!(said(&study.replace("quick", "json"), 2).contains("`json` is no setting of a point"));
    let metric = format!("metrics = [\"verdicts.hold\"]\n{study}");
    assert!(said(&metric, 2).contains("did you mean `verdicts.holds`?"));
    let whatif = "command = \"whatif\"\n[axes]\nlock = [\"mcs\"]\n";
    assert!(said(whatif, 2).contains("`baton whatif` needs `directory`; expected it in `set` or `axes`"));
    assert!(
        said(&format!("{whatif}check = [3]\n[set]\ndirectory = \".\"\n"), 2)
            .contains("`check` is no setting of a point")
    );
    assert!(said("command = \"litmus\"\n[axes]\nruns = [100]\n", 2).contains("needs `paths`"));
    // Keys of chips are checked when a point is made.
    let refused = run(&["study", "mwait", "--quick", "--set", "noise.latencies=1"]);
    let refused = (refused.status.code(), text(&refused.stderr));
    assert!(refused.0 == Some(2) && refused.1.contains("noise.latencies"), "{refused:?}");
}
