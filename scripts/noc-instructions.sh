#!/bin/sh
# Instructions a flit-hop of the network on chip, counted by callgrind: the difference of two run lengths over the
# difference of their flit-hops, so that starting and ending do not count. Fails where a count has grown by more than 5%
# over the one that is written here, or where a sparse network costs more than 1.5 times as much as a small one.
# Usage: scripts/noc-instructions.sh [BATON]     with `baton noc` itself, at the loads of the table
#        scripts/noc-instructions.sh --network   with the network and its traffic alone (cargo builds the example)
set -eu
cd "$(dirname "$0")/.."

# what  load  instructions a flit-hop when this was last measured
table='baton 0.1 277
baton 0.4 352
network 8:0.1 277
network 8:0.4 374
network 8:0.05 280
network 32:0.001 244
network 32:idle 736'

command -v valgrind >/dev/null || { echo "noc-instructions: valgrind is missing" >&2; exit 2; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

if [ "${1:-}" = --network ]; then
    kind=network
    cargo build --quiet --release -p baton-noc --example hop_cost
    program=${CARGO_TARGET_DIR:-target}/release/examples/hop_cost
else
    kind=baton
    program=${1:-${CARGO_TARGET_DIR:-target}/release/baton}
fi
[ -x "$program" ] || { echo "noc-instructions: $program is missing: cargo build --release -p baton-cli" >&2; exit 2; }

# Instructions and flit-hops of one run: load, length.
count() {
    if [ "$kind" = network ]; then
        set -- "${1%:*}" "${1#*:}" "$2"
    else
        set -- noc --rate "$1" --cycles "$2" --json
    fi
    valgrind --tool=callgrind --callgrind-out-file="$out/callgrind" "$program" "$@" >"$out/stdout" 2>"$out/log" ||
        { cat "$out/log" >&2; exit 1; }
    instructions=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$out/log")
    hops=$(sed -n -e 's/^ *"flit_hops": \([0-9]*\),*/\1/p' -e t -e 's/^\([0-9][0-9]*\)$/\1/p' "$out/stdout")
    [ -n "$instructions" ] && [ -n "$hops" ] || { echo "noc-instructions: no count of $*" >&2; exit 1; }
    echo "$instructions $hops"
}

# The two lengths of a run: cycles, or packets where they cross an idle network one by one.
lengths() {
    case $1 in
        *idle) echo 50 150 ;;
        *) echo 1000 4000 ;;
    esac
}

bad=0
while read -r which load base; do
    [ "$which" = "$kind" ] || continue
    set -- $(lengths "$load")
    set -- $(count "$load" "$1") $(count "$load" "$2")
    now=$((($3 - $1) / ($4 - $2)))
    echo "$which $load: $now instructions a flit-hop (written: $base)"
    [ $((now * 100)) -le $((base * 105)) ] || { echo "grown by more than 5%" >&2; bad=1; }
    case $load in
        8:0.05) small=$now ;;
        32:0.001) [ $((now * 2)) -le $((small * 3)) ] || { echo "sparse: more than 1.5 times 8:0.05" >&2; bad=1; } ;;
    esac
done <<TABLE
$table
TABLE
exit "$bad"
