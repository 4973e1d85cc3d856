"""Figures from the spans that the programs of scripts/measure/unlike.c write: where threads ran, and for how long a fast CPU
idled beside a slow one that worked."""

from typing import NamedTuple

# Figures count from this time after the start of the watched program.
FROM_NS = 100_000_000


class Span(NamedTuple):
    thread: int
    start: int
    end: int
    cpu: int
    # `free`, `holds`, or `held` if other threads wait for the holder.
    state: str


class Run(NamedTuple):
    start: int
    end: int
    spans: list


def read(text):
    """Reads what a program wrote; returns its Run."""
    first, *lines = text.splitlines()
    _, start, end = first.split()
    spans = [Span(int(thread), int(begin), int(until), int(cpu), state) for thread, begin, until, cpu, state in map(str.split, lines)]
    return Run(int(start), int(end), spans)


def within(spans, start, end):
    """Returns the parts of spans that lie between two times."""
    cut = (span._replace(start=max(span.start, start), end=min(span.end, end)) for span in spans)
    return [span for span in cut if span.start < span.end]


def share(spans, fast):
    """Returns the part of the spans' time that was on fast CPUs; None without any time."""
    total = sum(span.end - span.start for span in spans)
    return sum(span.end - span.start for span in spans if span.cpu in fast) / total if total else None


def joined(spans):
    """Returns the times, ascending, at which at least one of the spans lasts."""
    out = []
    for start, end in sorted((span.start, span.end) for span in spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def idle(spans, fast, start, end):
    """Returns the longest time in nanoseconds in which a fast CPU ran none of the threads, while slow CPUs ran one all the time."""
    works = joined(within([span for span in spans if span.cpu not in fast], start, end))
    longest = 0
    for cpu in fast:
        busy = joined(within([span for span in spans if span.cpu == cpu], start, end))
        for begin, until in works:
            # The ends of the times at which the fast CPU is busy cut the time in which a slow one works.
            at = begin
            for first, last in busy:
                if last <= begin or first >= until:
                    continue
                longest = max(longest, first - at)
                at = max(at, last)
            longest = max(longest, until - at)
    return longest


def figures(runs, fast):
    """Returns the figures of a run of one or several programs, of which the first is watched."""
    watched, spans = runs[0], [span for run in runs for span in run.spans]
    start, end = watched.start + FROM_NS, watched.end
    own = within(watched.spans, start, end)
    return {
        "ns": watched.end - watched.start,
        "fast": share(own, fast),
        "held": share([span for span in own if span.state == "held"], fast),
        "idle_ns": idle(spans, fast, start, end),
    }
