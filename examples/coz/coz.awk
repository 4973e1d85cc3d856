# What Coz predicts: rounds a second for each line and virtual speed-up, from its profile. Usage: awk -f coz.awk profile.coz
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
    rounds[line, bin] += pair[2]; time[line, bin] += duration; count[line, bin]++; lines[line] = 1
}
/^samples/ {
    split($2, at, "="); split($3, pair, "="); n = split(at[2], path, "/"); samples[path[n]] += pair[2]
}
END {
    for (line in lines) {
        printf "%-16s", line
        base = time[line, "as it is"] ? rounds[line, "as it is"] / time[line, "as it is"] : 0
        n = split("as it is,half,gone", bins, ",")
        for (i = 1; i <= n; i++) {
            b = bins[i]
            if (!time[line, b]) { printf "  %s: no experiment", b; continue }
            rate = rounds[line, b] / time[line, b]
            printf "  %s: %.0f/s", b, rate
            if (i > 1 && base) printf " (%+.0f%%)", (rate / base - 1) * 100
            printf " n=%d", count[line, b]
        }
        printf "\n"
    }
}
