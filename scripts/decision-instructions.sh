#!/bin/sh
# Instructions of a call of a scheduling policy, counted by callgrind: the difference of two run lengths over the difference of their
# calls, the example's own work (a heap of what comes) among them. Fails where a count has grown by more than 5% over the one that is
# written here. Usage: scripts/decision-instructions.sh   (cargo builds the example)
set -eu
cd "$(dirname "$0")/.."

# policy  CPUs  threads  instructions a call when this was last measured
table="amp-default 64 1000 2011
pa 64 1000 5193
pa 256 4000 14859
min-tlp 64 1000 3895
eevdf 64 1000 12897
fair 64 1000 1152"

command -v valgrind >/dev/null || { echo "decision-instructions: valgrind is missing" >&2; exit 2; }
cargo build --quiet --release -p baton-sched --example decide
program=${CARGO_TARGET_DIR:-target}/release/examples/decide
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Instructions and calls of one run: policy, CPUs, threads, steps.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$out/callgrind.$4" "$program" "$@" >"$out/stdout.$4" 2>"$out/log.$4" ||
        { cat "$out/log.$4" >&2; exit 1; }
    instructions=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out/log.$4")
    calls=$(sed -n 's/^\([0-9]*\) calls.*/\1/p' "$out/stdout.$4")
    [ -n "$instructions" ] && [ -n "$calls" ] || { echo "decision-instructions: no count of $*" >&2; exit 1; }
    echo "$instructions $calls"
}

bad=0
while read -r policy cpus threads base; do
    count "$policy" "$cpus" "$threads" 5000 >"$out/short" &
    count "$policy" "$cpus" "$threads" 15000 >"$out/long"
    wait $!
    set -- $(cat "$out/short" "$out/long")
    now=$((($3 - $1) / ($4 - $2)))
    echo "$policy, $cpus CPUs, $threads threads: $now instructions a call (written: $base)"
    [ $((now * 100)) -le $((base * 105)) ] || { echo "grown by more than 5%" >&2; bad=1; }
done <<TABLE
$table
TABLE
exit "$bad"
