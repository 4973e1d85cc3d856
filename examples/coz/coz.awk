# What Coz predicts: rounds a second for each line and virtual speed-up. Usage: awk -F'\t' -f coz.awk profile.coz
/^experiment/ {
    line = ""; speedup = 0
    for (i = 2; i <= NF; i++) {
        if (split($i, pair, "=") < 2) continue
        if (pair[1] == "selected") { n = split(pair[2], path, "/"); line = path[n] }
        if (pair[1] == "speedup") speedup = pair[2] + 0
        if (pair[1] == "duration") duration = pair[2] / 1e9
    }
}
/^throughput-point/ {
    split($3, pair, "=")
    # Three bins: the line as it is, about half as long, and almost gone.
    bin = speedup == 0 ? "as it is" : speedup <= 0.25 ? "" : speedup <= 0.75 ? "half" : "gone"
    if (bin == "") next
    if (bin == "as it is") { base_rounds += pair[2]; base_time += duration }
    rounds[line, bin] += pair[2]; time[line, bin] += duration; count[line, bin]++; lines[line] = 1
}
END {
    # As it is: all experiments without a speed-up, whatever the line.
    if (!base_time) { print "no experiment without a speed-up: run longer"; exit 1 }
    base = base_rounds / base_time
    printf "%-16s  %.0f/s\n", "as it is", base
    for (line in lines) {
        printf "%-16s", line
        n = split("half,gone", bins, ",")
        for (i = 1; i <= n; i++) {
            b = bins[i]
            if (!time[line, b]) { printf "  %s: no experiment", b; continue }
            rate = rounds[line, b] / time[line, b]
            printf "  %s: %.0f/s", b, rate
            printf " (%+.0f%%, %d experiments)", (rate / base - 1) * 100, count[line, b]
        }
        printf "\n"
    }
}
