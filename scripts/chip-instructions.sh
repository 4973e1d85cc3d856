#!/bin/sh
# Instructions a guest operation of the simulated chip, counted by callgrind: the difference of two run lengths over the
# difference of their guest operations, so that starting and ending do not count. Fails where a count has grown by more
# than 5% over the one that is written here. Usage: scripts/chip-instructions.sh   (cargo builds the program)
set -eu
cd "$(dirname "$0")/.."

# A guest operation of `qmd` is a request to the queue device on wires of its own, with its answer.
# chip  lock  wait  threads  settings  instructions a guest operation when this was last measured
table="sample-host mcs pause 64 core.count=64,core.per_cluster=64 807
sample-host spin-park spin-park 64 core.count=64,core.per_cluster=64 1089
sample-host tas pause 64 core.count=64,core.per_cluster=64 892
ocor64 mcs spin 64 core.atomics=near 31095
ocor64 spin-park spin-park 64 core.atomics=far 12862
caf16 qmd pause 16 noise.latency=0 5618"

command -v valgrind >/dev/null || { echo "chip-instructions: valgrind is missing" >&2; exit 2; }
cargo build --quiet --release -p baton-bench --bin speed
program=${CARGO_TARGET_DIR:-target}/release/speed
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Instructions and guest operations of one run: chip, lock, wait, threads, settings, iterations.
count() {
    # shellcheck disable=SC2046 # one argument a setting
    valgrind --tool=callgrind --callgrind-out-file="$out/callgrind.$6" "$program" "chips/$1.toml" "$2" "$3" "$4" "$6" \
        $(echo "$5" | tr , ' ') >"$out/stdout.$6" 2>"$out/log.$6" || { cat "$out/log.$6" >&2; exit 1; }
    instructions=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out/log.$6")
    operations=$(sed -n 's/^\([0-9]*\) guest operations.*/\1/p' "$out/stdout.$6")
    [ -n "$instructions" ] && [ -n "$operations" ] || { echo "chip-instructions: no count of $*" >&2; exit 1; }
    echo "$instructions $operations"
}

bad=0
while read -r chip lock wait threads settings base; do
    # Both lengths at once: what is counted does not depend on what else runs.
    count "$chip" "$lock" "$wait" "$threads" "$settings" 20 >"$out/short" &
    count "$chip" "$lock" "$wait" "$threads" "$settings" 60 >"$out/long"
    wait $!
    set -- $(cat "$out/short" "$out/long")
    now=$((($3 - $1) / ($4 - $2)))
    echo "$chip $lock $wait, $threads threads: $now instructions a guest operation (written: $base)"
    [ $((now * 100)) -le $((base * 105)) ] || { echo "grown by more than 5%" >&2; bad=1; }
done <<TABLE
$table
TABLE
exit "$bad"
