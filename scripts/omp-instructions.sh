#!/bin/sh
# Counts the instructions and accesses of the OpenMP runtime under callgrind: an iteration of all of `epcc`'s measurements, and a region
# with twenty tasks a thread, by a team of eight whose threads have the processor by turns (crates/workloads/examples/constructs). What a
# turn takes is counted alone and left out. Fails if what the simulated chip charges (`COUNTED`, `COUNTED_TASKS` in
# crates/workloads/src/epcc.rs) is off by more than a twentieth. Another compiler, or another malloc, may give other counts; then the
# figures are to be written anew.
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "omp-instructions: valgrind is missing" >&2; exit 2; }
cargo build --quiet --release -p baton-workloads --example constructs
program=${CARGO_TARGET_DIR:-target}/release/examples/constructs
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Instructions and turns of a run.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$program" "$@" >"$scratch/turns" 2>"$scratch/log" ||
        { cat "$scratch/log" >&2; exit 1; }
    instructions=$(sed -n 's/^\(summary\|totals\): \([0-9]*\).*/\2/p' "$scratch/out" | head -n 1)
    echo "$instructions $(cut -d ' ' -f 1 "$scratch/turns")"
}

# The difference of two runs: what, the smaller number, the larger one.
between() {
    count "$1" "$2" >"$scratch/few"
    count "$1" "$3" >"$scratch/many"
    read -r before turns_before <"$scratch/few"
    read -r after turns_after <"$scratch/many"
    instructions=$((after - before))
    turns=$((turns_after - turns_before))
}

between turns 1000 3000
# In hundredths of an instruction.
turn=$((100 * instructions / turns))

status=0
while read -r name have accesses; do
    # No more tasks than a team's queue takes.
    [ "$name" = epcc ] && few=20 many=60 || few=10 many=110
    between "$name" $few $many
    counted=$(((10 * instructions - turn * turns / 10) / (many - few)))
    made=$((($("$program" "$name" $many accesses | cut -d ' ' -f 2) - $("$program" "$name" $few accesses | cut -d ' ' -f 2)) / (many - few)))
    echo "$name $((counted / 10)).$((counted % 10)) instructions, said $((have / 10)).$((have % 10)); $made accesses, said $accesses"
    off=$((counted > have ? counted - have : have - counted))
    off_accesses=$((made > accesses ? made - accesses : accesses - made))
    if [ $((off * 20)) -gt "$counted" ] || [ $((off_accesses * 20)) -gt "$made" ]; then
        echo "omp-instructions: what is charged for $name is stale in crates/workloads/src/epcc.rs" >&2
        status=1
    fi
done <<LIST
$("$program" said)
LIST
exit $status
