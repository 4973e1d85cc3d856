#!/bin/sh
# Instructions a guest operation of the simulated chip, counted by callgrind: the difference of two run lengths over the
# difference of their guest operations. Fails where the count has grown by more than 5% over the one that is written
# here. Usage: scripts/chip-instructions.sh [BATON]
set -eu

baton=${1:-target/release/baton}
# lock  wait  threads  instructions a guest operation when this was last measured
table='mcs pause 64 720
spin-park spin-park 64 898
tas pause 64 845'

command -v valgrind >/dev/null || { echo "valgrind is missing" >&2; exit 1; }
[ -x "$baton" ] || { echo "$baton is missing: cargo build --release -p baton-cli" >&2; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Prints instructions and guest operations of one run.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$out/callgrind" "$baton" sim --chip chips/sample-host.toml \
        --set "core.count=$3" --set "core.per_cluster=$3" --workload lock --lock "$1" --wait "$2" --threads "$3" \
        --iterations "$4" --no-trace --json >"$out/json" 2>"$out/log"
    instructions=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out/log")
    operations=$(sed -n 's/^ *"guest_operations": \([0-9]*\),*/\1/p' "$out/json")
    echo "$instructions $operations"
}

grown=0
while read -r lock wait threads base; do
    set -- $(count "$lock" "$wait" "$threads" 50) $(count "$lock" "$wait" "$threads" 250)
    now=$((($3 - $1) / ($4 - $2)))
    echo "$lock $wait, $threads threads: $now instructions a guest operation (written: $base)"
    [ $((now * 100)) -le $((base * 105)) ] || grown=1
done <<EOF
$table
EOF
if [ "$grown" = 1 ]; then echo "grown by more than 5%" >&2; fi
exit "$grown"
