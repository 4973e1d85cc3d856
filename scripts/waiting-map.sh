#!/bin/sh
# The map of docs/results/waiting.md: which wait policy is the best, over how long threads wait and what a monitor's end costs, beside an
# idle sibling and beside one that computes, in cycles and in joules.
#
#   scripts/waiting-map.sh [FOLDER]        pages; default: target/waiting-map
#   scripts/waiting-map.sh docs/img svg    pictures alone
#
# BATON names the command, else target/release/baton. Each map is one `baton sim`, whose table it prints too; run one alone by its line.
# Two threads compute for --think cycles, give or take nine tenths, and meet: the earlier one waits for 0.6 times --think on average.
set -eu
out=${1:-target/waiting-map}
form=${2:-html}
baton=${BATON:-target/release/baton}
mkdir -p "$out"

map() {
    name=$1
    figure=$2
    shift 2
    echo "## $name, $figure"
    "$baton" sim --chip opteron6272x4 --cores 8 --set core.contexts=2 --set core.result_latency=4 --workload barrier --barrier central \
        --threads 2 --spread 0.9 --iterations 40 --energy --figure "$figure" \
        --sweep think=300,1000,3000,10000,30000,100000,300000,1000000 --sweep wait.mwait.c1.exit=50,200,1000,5000,20000 \
        --least wait=pause,spin,mwait,mwait-park,futex "$@" --plot "$out/waiting-map-$name.$form"
}

for figure in cycles energy.without_base_joules energy.total_joules; do
    last=$(echo "$figure" | sed 's/energy.//; s/_joules//')
    # The sibling's CPU is idle.
    map "alone-$last" "$figure" --at 0,1
    # The sibling is the thread that is waited for: it computes, and its window bounds it.
    map "sibling-$last" "$figure" --at 0,8
done
