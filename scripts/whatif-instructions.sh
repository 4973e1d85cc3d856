#!/bin/sh
# Instructions that an event of a recording costs `baton whatif`, counted by callgrind: to read it in its order, to make steps of it
# (reading included), and to run these under spin-park. Each is the difference of two runs of which one goes further with the same
# recording. Fails where a count has grown by more than 5% over the one that is written here.
# Usage: scripts/whatif-instructions.sh   (cargo builds the example)
set -eu
cd "$(dirname "$0")/.."

# what  the run that goes as far, the one before  instructions an event when this was last measured
table="read read open 297
compile compile open 1684
replay replay compile 6885"
rounds=5000

command -v valgrind >/dev/null || { echo "whatif-instructions: valgrind is missing" >&2; exit 2; }
cargo build --quiet --release -p baton-replay --example event_cost
program=${CARGO_TARGET_DIR:-target}/release/examples/event_cost
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for far in open read compile replay; do
    valgrind --tool=callgrind --callgrind-out-file="$out/callgrind" "$program" "$far" "$rounds" >"$out/events" 2>"$out/log" ||
        { cat "$out/log" >&2; exit 1; }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out/log" >"$out/$far"
done
events=$(sed -n 's/^\([0-9]*\) events$/\1/p' "$out/events")

bad=0
while read -r what far before base; do
    now=$((($(cat "$out/$far") - $(cat "$out/$before")) / events))
    echo "$what: $now instructions an event (written: $base)"
    [ $((now * 100)) -le $((base * 105)) ] || { echo "grown by more than 5%" >&2; bad=1; }
done <<TABLE
$table
TABLE
exit "$bad"
