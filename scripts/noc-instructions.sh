#!/bin/sh
# Instructions a flit-hop of `baton noc` (8x8, uniform, single flits), counted by callgrind: the difference of two run
# lengths over the difference of their flit-hops. Fails where the count has grown by more than 5% over the one that is
# written here. Usage: scripts/noc-instructions.sh [BATON]
set -eu

baton=${1:-target/release/baton}
# load  instructions a flit-hop when this was last measured
table='0.1 411
0.4 550'

command -v valgrind >/dev/null || { echo "valgrind is missing" >&2; exit 1; }
[ -x "$baton" ] || { echo "$baton is missing: cargo build --release -p baton-cli" >&2; exit 1; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Prints instructions and flit-hops of one run.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$out/callgrind" "$baton" noc --rate "$1" --cycles "$2" --json \
        >"$out/json" 2>"$out/log"
    instructions=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out/log")
    hops=$(sed -n 's/^ *"flit_hops": \([0-9]*\),*/\1/p' "$out/json")
    echo "$instructions $hops"
}

grown=0
while read -r load base; do
    set -- $(count "$load" 1000) $(count "$load" 4000)
    now=$((($3 - $1) / ($4 - $2)))
    echo "load $load: $now instructions a flit-hop (written: $base)"
    [ $((now * 100)) -le $((base * 105)) ] || grown=1
done <<EOF
$table
EOF
if [ "$grown" = 1 ]; then echo "grown by more than 5%" >&2; fi
exit "$grown"
