"""Prints the results of the evaluation as tables, and the bars that they are judged by."""

from itertools import combinations
from statistics import median

from measuring import NEAR

OWN = ""
# The locks of this evaluation that `baton list locks` offers for general use, and how many times its time under its own lock a
# program may take under them.
GENERAL = ["futex", "spin-park", "adaptive", "ticket-barging", "mcs-barging", "clh-barging"]
LONGER = 1.25


def spread(times):
    """Returns the median and the range of times. From five runs on, the range leaves out the shortest and the longest,
    as a busy machine may have disturbed either."""
    ordered = sorted(times)
    inner = ordered[1:-1] if len(ordered) >= 5 else ordered
    return median(ordered), inner[0], inner[-1]


def differ(one, two):
    """Returns -1 if the first times are shorter, 1 if the second ones are, 0 for a tie. A tie means that the ranges
    overlap (by chance alone, two groups of five runs do not overlap in one of 126 comparisons) or that the medians are
    closer than 3%."""
    near = abs(median(one) - median(two)) < NEAR * min(median(one), median(two))
    if near or (max(one) >= min(two) and max(two) >= min(one)):
        return 0
    return -1 if median(one) < median(two) else 1


def foretold(case):
    """Returns, by label, the predicted median and the ends of its 95% interval, in seconds."""
    rows = case["predicted"]["rows"]
    def of(row):
        ends = row.get("interval_ns") or row["time_ns"]
        high = float("inf") if ends["high"] is None else ends["high"] * 1e-9
        return row["time_ns"]["median"] * 1e-9, ends["low"] * 1e-9, high
    return {label: of(row) for label, row in rows.items() if row["by_seed_ns"]}


def said(one, two):
    """Returns -1 if the first prediction has the shorter median, 1 if the second has, 0 if they are closer than 3%."""
    near = abs(one[0] - two[0]) < NEAR * min(one[0], two[0])
    return 0 if near else -1 if one[0] < two[0] else 1


class Case:
    """The results of one program at one number of threads, with the figures that judge them."""

    def __init__(self, found):
        self.found = found
        predicted = foretold(found)
        self.own = spread(found["times"][OWN]) if found["times"][OWN] else None
        self.predicted_own = predicted.pop(OWN, None)
        self.labels = [label for label in predicted if found["times"].get(label)]
        self.measured = {label: spread(found["times"][label]) for label in self.labels}
        self.predicted = {label: predicted[label] for label in self.labels}
        # A run that was cut off takes at least its limit: `cut` are the locks cut off in a measured run, `bounded` in a predicted
        # one.
        self.cut = {label for label in self.labels if label in found["ended"]}
        rows = found["predicted"]["rows"]
        self.bounded = {label for label in self.labels if rows[label]["cut_off"]}
        self.trusted = found["predicted"]["trustworthy"]

    @property
    def title(self):
        return f"{self.found['name']}, {self.found['threads']} threads"

    def pairs(self):
        """Counts the pairs of locks whose measured times differ, by their prediction: right order, tie, wrong order."""
        counts = [0, 0, 0]
        for one, two in combinations(self.labels, 2):
            is_so = differ(*(self.found["times"][label] for label in (one, two)))
            if is_so == 0 or {one, two} <= self.cut:
                continue
            told = 0 if {one, two} <= self.bounded else said(self.predicted[one], self.predicted[two])
            counts[0 if told == is_so else 1 if told == 0 else 2] += 1
        return counts

    def errors(self):
        """Returns |predicted / measured - 1| of each lock that did not collapse."""
        return [abs(self.predicted[label][0] / self.measured[label][0] - 1) for label in self.labels if label not in self.cut]

    def covered(self):
        """Returns, for each lock, whether the measured median lies in the predicted interval. A run that collapsed was
        cut off, so it counts as covered also if the interval reaches beyond its time."""
        inside = lambda label: self.predicted[label][1] <= self.measured[label][0] <= self.predicted[label][2]
        reaches = lambda label: label in self.cut and self.predicted[label][2] >= self.measured[label][0]
        return [inside(label) or reaches(label) for label in self.labels]

    def false_collapses(self):
        """Returns the locks that are predicted at more than twice the recorded lock's time but measured at less than
        1.2 times it."""
        if self.own is None or self.predicted_own is None:
            return []
        slow = lambda label: self.predicted[label][0] > 2 * self.predicted_own[0]
        return [label for label in self.labels if slow(label) and self.measured[label][0] < 1.2 * self.own[0]]

    def called_faster(self):
        """Returns the locks that are predicted to be faster than the recorded one, and those among them that measure slower."""
        if self.own is None or self.predicted_own is None:
            return [], []
        called = [label for label in self.labels if said(self.predicted[label], self.predicted_own) < 0]
        times = self.found["times"]
        return called, [label for label in called if differ(times[label], times[OWN]) > 0]


def table(case):
    print(f"### {case.title} ({case.found['group']})\n")
    by_itself = f"By itself {case.own[0] * 1e3:.0f} ms. " if case.own else ""
    predicted = case.found["predicted"]
    trusted = "trustworthy" if case.trusted else f"marked untrustworthy: {'; '.join(predicted['reasons'])}"
    print(f"{by_itself}Self-check {predicted['check']['error'] * 100:+.0f}%, "
          f"{predicted['not_replayable_share'] * 100:.1f}% not replayable: {trusted}.\n")
    print("| lock | runs | measured ms | range | predicted ms | range | predicted / measured |")
    print("| --- | --: | --: | --- | --: | --- | --: |")
    milli = lambda seconds: f"{seconds * 1e3:.0f}"
    for label in sorted(case.labels, key=lambda label: case.measured[label][0]):
        m, p = case.measured[label], case.predicted[label]
        note = " (ended at the limit)" if label in case.cut else ""
        least = "≥ " if label in case.bounded else ""
        print(f"| {label}{note} | {len(case.found['times'][label])} | {milli(m[0])} | {milli(m[1])}–{milli(m[2])} | "
              f"{least}{milli(p[0])} | {milli(p[1])}–{'' if p[2] == float('inf') else milli(p[2])} | {p[0] / m[0]:.2f} |")
    print()


def percent(part, whole):
    return f"{part / whole * 100:.0f}%" if whole else "–"


def middle(values):
    return f"{median(values) * 100:.0f}%" if values else "–"


def added(cases):
    return [sum(column) for column in zip(*(case.pairs() for case in cases))] or [0, 0, 0]


def line(title, cases):
    """Returns a row of the summary: the bars over a group of cases."""
    right, tie, wrong = added(cases)
    differ = right + tie + wrong
    errors = [error for case in cases for error in case.errors()]
    covered = [inside for case in cases for inside in case.covered()]
    called = [case.called_faster() for case in cases]
    faster, slower = (sum(len(found[place]) for found in called) for place in (0, 1))
    false = sum(len(case.false_collapses()) for case in cases)
    return (f"| {title} | {len(cases)} | {differ} | {percent(right, differ)} | {percent(tie, differ)} | {percent(wrong, differ)} | "
            f"{middle(errors)} | {percent(sum(covered), len(covered))} | {false} | {slower} of {faster} |")


def general(cases):
    """Prints how much longer programs take under the locks for general use than under their own lock."""
    print(f"| lock | programs | median of its time by the own lock's | beyond {LONGER} |\n| --- | --: | --: | --- |")
    for label in GENERAL:
        shares = {case.found["name"]: case.measured[label][0] / case.own[0] for case in cases if label in case.measured and case.own}
        beyond = [f"{name} {share:.2f}" for name, share in shares.items() if share > LONGER]
        if shares:
            print(f"| {label} | {len(shares)} | {median(shares.values()):.2f} | {', '.join(beyond) or 'none'} |")
    print()


def print_all(found):
    cases = [Case(case) for case in found]
    cpus = min((case.found["threads"] for case in cases), default=0)
    groups = {
        "seen": [case for case in cases if case.found["group"] == "seen"],
        "held out": [case for case in cases if case.found["group"] == "held out"],
        "Debian": [case for case in cases if case.found["group"] == "Debian"],
        f"{cpus} threads": [case for case in cases if case.found["threads"] <= cpus],
        f"more than {cpus}": [case for case in cases if case.found["threads"] > cpus],
        "trusted": [case for case in cases if case.trusted],
        "**all**": cases,
    }
    print("### The bars\n")
    head = ("programs | cases | pairs that differ | order right | called a tie | wrong | median error | in the interval | "
            "false collapses | called faster, measured slower")
    print(f"| {head} |\n| --- |{' --: |' * head.count('|')}")
    print("\n".join(line(title, of) for title, of in groups.items() if of))
    print()
    print("### Locks for general use, more threads than CPUs\n")
    general(groups[f"more than {cpus}"])
    print("### Each program\n")
    print(f"| {head} |\n| --- |{' --: |' * head.count('|')}")
    print("\n".join(line(case.title, [case]) for case in cases))
    print()
    for case in cases:
        table(case)
