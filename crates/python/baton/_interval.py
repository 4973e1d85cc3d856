"""How sure a mean is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance


def student(degrees: float, level: float = 0.95) -> float:
    """The quantile of Student's distribution that a two-sided interval of this level needs.

    By the expansion of Cornish and Fisher; exact for one and two degrees of freedom.

    >>> [round(student(n), 2) for n in (1, 2, 9, 30)]
    [12.71, 4.3, 2.26, 2.04]
    """
    p = 0.5 + level / 2
    if degrees == 1:
        return math.tan(math.pi * (p - 0.5))
    if degrees == 2:
        return (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / degrees ** (power + 1) for power, term in enumerate(terms))


def half_width(values: Sequence[float], level: float = 0.95) -> float | None:
    """Half of the interval of the mean. None for fewer than two values."""
    if len(values) < 2:
        return None
    return student(len(values) - 1, level) * math.sqrt(variance(values) / len(values))


def difference(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> tuple[float, float | None]:
    """The mean of `a` less the mean of `b`, and half of its interval (Welch). None for fewer than two values of one.

    >>> difference([3.0, 3.0], [1.0, 1.0])
    (2.0, 0.0)
    """
    mean = fmean(a) - fmean(b)
    if min(len(a), len(b)) < 2:
        return mean, None
    parts = [(variance(values) / len(values), len(values) - 1) for values in (a, b)]
    whole = sum(part for part, _ in parts)
    if whole == 0:
        return mean, 0.0
    degrees = whole**2 / sum(part**2 / n for part, n in parts)
    return mean, student(degrees, level) * math.sqrt(whole)
