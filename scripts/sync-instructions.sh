#!/bin/sh
# Counts the instructions of an uncontended lock-unlock pair of the generic MCS lock on the native machine and of a
# hand-written one, under callgrind, and fails if the generic one takes more. Counts do not vary between runs.
# With --all it also counts every lock of the registry (docs/locks.md has the figures).
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "sync-instructions: valgrind is missing" >&2; exit 2; }
cargo build --quiet --release -p baton-sync --example mcs_pair
binary=${CARGO_TARGET_DIR:-target}/release/examples/mcs_pair
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The instructions of a whole run: kind, number of pairs.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$binary" "$1" "$2" >"$scratch/log" 2>&1 ||
        { cat "$scratch/log" >&2; exit 1; }
    sed -n 's/^\(summary\|totals\): \([0-9]*\).*/\2/p' "$scratch/out" | head -n 1
}

# Instructions a pair: the difference of two runs, so that starting and ending the program do not count. In tenths, as
# what the program loader does may differ by a few instructions.
pair() {
    few=$(count "$1" 1000)
    many=$(count "$1" 11000)
    echo $(((many - few + 500) / 1000))
}

# Tenths as people write them.
tenths() {
    echo "$(($1 / 10)).$(($1 % 10))"
}

generic=$(pair generic)
hand=$(pair hand)
echo "instructions an uncontended MCS pair: generic $(tenths "$generic"), hand-written $(tenths "$hand")"
if [ "${1:-}" = --all ]; then
    for lock in tas ttas ticket ticket-prop mcs clh k42 hemlock cohort spin-park futex; do
        count=$(pair "$lock")
        echo "$lock $(tenths "$count")"
    done
fi
if [ "$generic" -gt "$hand" ]; then
    echo "sync-instructions: the generic lock costs more than the hand-written one" >&2
    exit 1
fi
