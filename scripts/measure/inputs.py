"""Makes inputs that several scripts give to programs; they have the same bytes in each run."""

import random


def text(path, mebibytes):
    """Writes a text of random words: it can be compressed, but not too well."""
    rng = random.Random(20061120)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(5000)]
    with open(path, "w", encoding="ascii") as file:
        size = 0
        while size < mebibytes * 2**20:
            size += file.write(" ".join(rng.choices(words, k=12)) + "\n")
