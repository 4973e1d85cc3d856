"""Shared by scripts/check/omp-compat: the OpenMP programs that it runs, and how they are fetched and built."""

import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PYTHON = "/usr/bin/python3"
# Debian has builds of OpenBLAS with OpenMP and with pthreads side by side.
OPENBLAS = next((str(folder) for folder in Path("/usr/lib").glob("*/openblas-openmp")), "")
WHEELS = ["scikit-learn", "xgboost-cpu", "pyomp"]
NUMPY = """
import numpy as n
r = n.random.default_rng(1)
a, b = r.random((400, 400)), r.random((400, 400))
p = a @ b
print(round(float(p.sum()), 4), [round(float(x), 6) for x in n.linalg.svd(p, compute_uv=False)[:5]], round(float(n.linalg.slogdet(a)[1]), 6))
"""
LEARN = """
import numpy as n
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import pairwise_distances_argmin
r = n.random.default_rng(2)
x = r.random((3000, 20)); y = x[:, 0] + x[:, 1] * x[:, 2] > 0.7
trees = HistGradientBoostingClassifier(max_iter=20, random_state=0, early_stopping=False).fit(x, y)
means = KMeans(n_clusters=8, n_init=2, random_state=0).fit(x)
print(n.round(trees.predict_proba(x[:200])[:, 1], 6).tolist(), round(float(means.inertia_), 4))
print(pairwise_distances_argmin(x[:300], means.cluster_centers_).tolist())
"""
# What threadpoolctl finds and limits: it goes by the name of the library's file.
LIMIT = """
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as threads
from threadpoolctl import threadpool_limits
with threadpool_limits(1, user_api="openmp"):
    print(threads(), pairwise_distances_argmin(x[:300], means.cluster_centers_).sum())
print(threads())
"""
BOOST = """
import numpy as n
import xgboost
r = n.random.default_rng(3)
x = r.random((4000, 12)); y = x[:, 0] * x[:, 1] + n.sin(6 * x[:, 2])
trees = xgboost.train({"max_depth": 4, "tree_method": "hist", "seed": 1}, xgboost.DMatrix(x, y), 15)
print(n.round(trees.predict(xgboost.DMatrix(x[:300])), 5).tolist())
"""
# Compiled while it runs, so it must be a file: numba reads the source.
COMPILED = """
import numpy as n
from numba.openmp import njit, openmp_context as openmp
@njit
def remainders(count):
    total = 0
    with openmp("parallel for reduction(+: total)"):
        for i in range(count):
            total += i * i % 7
    return total
@njit
def rows(a, b):
    with openmp("parallel for"):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                b[i] += a[i, j] * a[i, j]
@njit
def fibonacci(k):
    if k < 2:
        return k
    a = 0; b = 0
    with openmp("task shared(a)"):
        a = fibonacci(k - 1)
    with openmp("task shared(b)"):
        b = fibonacci(k - 2)
    with openmp("taskwait"):
        pass
    return a + b
@njit
def tree(k):
    result = 0
    with openmp("parallel"):
        with openmp("single"):
            result = fibonacci(k)
    return result
a = n.random.default_rng(4).random((500, 300)); b = n.zeros(500)
rows(a, b)
print(remainders(100000), [round(float(x), 6) for x in b], tree(15))
"""


@dataclass
class Program:
    """A program whose output is compared. Its output is what it prints, and what it writes into the files `results`."""

    name: str
    what: str
    command: object
    """A function from a number of threads to the command."""
    kind: str
    """Who compiled it: `gcc`, `clang`, or `wheel`."""
    results: tuple = ()
    prints: bool = True
    """Whether what it prints is the same in each run. If not, only its files count."""
    search: str = ""
    """Folders that the loader is to search for the program's libraries."""
    missing: str = ""
    """Why it is not there; empty if it is."""


def sequences(path, letters, count, length, seed):
    """Writes a FASTA file of related sequences: each is a mutation of the one before."""
    chance = random.Random(seed)
    text = [chance.choice(letters) for _ in range(length)]
    with open(path, "w") as out:
        for number in range(count):
            text = [chance.choice(letters) if chance.random() < 0.05 else letter for letter in text]
            out.write(f">s{number}\n{''.join(text)}\n")


def families(path, letters):
    """Writes a FASTA file of 150 families, each of 12 related sequences."""
    with open(path, "w") as out:
        for family in range(150):
            part = Path(f"{path}.part")
            sequences(part, letters, 12, 250, family)
            out.write(part.read_text().replace(">s", f">f{family}s"))


def inputs(folder):
    """Writes the programs' input files; returns their paths by name."""
    amino = "ACDEFGHIKLMNPQRSTVWY"
    files = {name: folder / name for name in ("proteins.fa", "few.fa", "families.fa", "bases.fa", "words", "hashes")}
    sequences(files["proteins.fa"], amino, 60, 150, 1)
    sequences(files["bases.fa"], "ACGT", 120, 400, 2)
    sequences(files["few.fa"], amino, 16, 120, 3)
    families(files["families.fa"], amino)
    files["words"].write_text("\n".join("alpha bravo charlie delta echo foxtrot golf hotel".split()) + "\n")
    # The bcrypt hashes of `charlie`, `golf` and a word that is not in the list, with 16 rounds.
    salt = "$2b$04$abcdefghijklmnopqrstuu"
    ends = ["nnnbHeSbo7Hro5QdGo8.K5GtLvhcaES", "i1snbYwmvbpbnM/SOXkpjU0yJxK24F2", "dsWnEOLx6U1kFmp3PTCly8PYYXBe/ja"]
    files["hashes"].write_text("".join(f"u{number}:{salt}{end}\n" for number, end in enumerate(ends)))
    return files


def of_debian(files):
    """Returns the programs that Debian compiled with GCC."""
    picture = files["words"].parent / "picture.ppm"
    blur = f"gm convert -size 700x500 gradient:red-blue -rotate 30 -blur 0x6 -sharpen 0x2 {picture}"
    tree = ["fasttreeMP", "-nt", "-quiet", "-nosupport", str(files["bases.fa"])]
    found = [
        Program("primecount", "primes up to 10^12", lambda n: ["primecount", "1e12", f"--threads={n}"], "gcc"),
        Program("GraphicsMagick", "rotates, blurs and sharpens a picture", lambda n: blur.split(), "gcc", (picture,)),
        Program("clustalo", "aligns 60 proteins", lambda n: ["clustalo", "-i", str(files["proteins.fa"]), f"--threads={n}"], "gcc"),
        Program("FastTree", "a tree of 120 sequences", lambda n: tree, "gcc"),
        Program("numpy", "product, SVD and determinant by OpenBLAS", lambda n: [PYTHON, "-c", NUMPY], "gcc", search=OPENBLAS),
        Program("scikit-learn", "boosted trees and k-means", lambda n: [PYTHON, "-c", LEARN], "gcc"),
    ]
    for program in found:
        if not is_there(program.command(1)):
            program.missing = "not installed"
    return found


def is_there(command):
    """Returns whether the command's program is installed and, for a Python script, whether all its imports are."""
    if not shutil.which(command[0]):
        return False
    imports = [line for line in command[-1].splitlines() if line.startswith(("import ", "from "))]
    return not imports or subprocess.run([command[0], "-c", "\n".join(imports)], capture_output=True).returncode == 0


class Missing(Exception):
    """What could not be fetched or built, in one line."""


def do(what, command, folder, **variables):
    """Runs a command in `folder`, its output in a file there; raises Missing with `what` if it fails."""
    log = folder / "omp-compat.log"
    with open(log, "a") as out:
        done = subprocess.run(command, cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=dict(os.environ, **variables))
    if done.returncode != 0:
        said = [line.strip() for line in log.read_text(errors="replace").splitlines() if re.search(r"^E:|[Ee]rror", line)]
        raise Missing(f"{what}: {(said or ['see ' + str(log)])[-1][:120]}")


class Debian:
    """Debian's sources, fetched by apt-get with lists of its own, so that the system's stay as they are."""

    def __init__(self, cache):
        self.folder = cache / "sources"
        lists = cache / "apt"
        for folder in (self.folder, lists / "lists/partial", lists / "cache/archives/partial", lists / "parts"):
            folder.mkdir(parents=True, exist_ok=True)
        self.options = [f"-oDir::Etc::SourceParts={lists}/parts", "-oDir::Etc::SourceList=/dev/null", f"-oDir::State::Lists={lists}/lists",
                        f"-oDir::Cache={lists}/cache", "-oAPT::Sandbox::User="]
        self.fresh = False

    def refresh(self):
        """Takes the system's sources of Debian, with source packages, and reads their lists; once."""
        if self.fresh:
            return
        parts = Path(self.options[0].partition("=")[2])
        for file in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]:
            text = file.read_text() if file.is_file() else ""
            if "debian" in text:
                text = re.sub(r"^Types: deb$", "Types: deb deb-src", text, flags=re.M)
                (parts / file.name).write_text(re.sub(r"^deb (.*)", r"deb \1\ndeb-src \1", text, flags=re.M))
        do("the lists of Debian's packages", ["apt-get", *self.options, "-q", "update"], self.folder)
        self.fresh = True

    def source(self, package, into):
        """Unpacks the upstream source of `package` into a new folder."""
        if not (found := list(self.folder.glob(f"{package}_*.orig.tar.*"))):
            self.refresh()
            do(f"the source of {package}", ["apt-get", *self.options, "-q", "--tar-only", "source", package], self.folder)
            found = list(self.folder.glob(f"{package}_*.orig.tar.*"))
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True)
        do(f"the source of {package}", ["tar", "xf", str(found[0].resolve()), "--strip-components=1"], into)

    def library(self, package, into):
        """Unpacks a binary package into a folder, without installing it."""
        if not (found := list(self.folder.glob(f"{package}_*.deb"))):
            self.refresh()
            do(f"the package {package}", ["apt-get", *self.options, "-q", "download", package], self.folder)
            found = list(self.folder.glob(f"{package}_*.deb"))
        do(f"the package {package}", ["dpkg", "-x", str(found[0].resolve()), str(into)], self.folder)


def fasttree(debian, folder):
    do("fasttree", ["clang-19", "-w", "-O2", "-fopenmp", "-DOPENMP", "-DUSE_DOUBLE", "fasttree.c", "-o", "fasttree", "-lm"], folder)
    return folder / "fasttree"


def clustalo(debian, folder):
    debian.library("libargtable2-dev", folder / "argtable")
    table, flags = folder / "argtable/usr", "-w -O2 -fopenmp"
    lib = next(table.rglob("libargtable2.a")).parent
    # Without the shared library's link and libtool's file the linker takes the static one.
    for name in ("libargtable2.so", "libargtable2.la"):
        (lib / name).unlink(missing_ok=True)
    do("clustalo", ["./configure", "--quiet"], folder, CC="clang-19", CXX="clang++-19", CFLAGS=f"{flags} -I{table}/include",
       CXXFLAGS=f"{flags} -std=c++11", LDFLAGS=f"-L{lib}")
    do("clustalo", ["make", "-s", f"-j{os.cpu_count()}"], folder)
    return folder / "src/clustalo"


def muscle(debian, folder):
    # The file comes from a script that asks git.
    (folder / "src/gitver.txt").write_text('"5.1"\n')
    (folder / "src/Linux").mkdir()
    do("muscle", ["make", f"-j{os.cpu_count()}", "CXX=clang++-19", "CXXFLAGS=-w -O1 -fopenmp", "Linux/muscle"], folder / "src")
    return folder / "src/Linux/muscle"


def cd_hit(debian, folder):
    do("cd-hit", ["make", f"-j{os.cpu_count()}", "CC=clang++-19 -w", "zlib=no", "cd-hit"], folder)
    return folder / "cd-hit"


def john(debian, folder):
    tools = [f"{name}=clang-19" for name in ("CC", "CPP", "AS", "LD")]
    do("john", ["make", f"-j{os.cpu_count()}", *tools, "OMPFLAGS=-fopenmp", "linux-x86-64"], folder / "src")
    return folder / "run/john"


def by_clang(files, cache):
    """Returns the programs that are built here by clang of upstream's sources, of which Debian has packages."""
    debian, work = Debian(cache), files["words"].parent
    few, clusters, pot = work / "few.aligned", work / "clusters", cache / "john/run/john.pot"
    rows = [
        ("fasttree", fasttree, "a tree of 120 sequences", lambda n: ["-nt", "-quiet", "-nosupport", files["bases.fa"]], ()),
        ("clustalo", clustalo, "aligns 60 proteins", lambda n: ["-i", files["proteins.fa"], f"--threads={n}"], ()),
        ("muscle", muscle, "aligns 16 proteins", lambda n: ["-align", files["few.fa"], "-threads", n, "-output", few, "-quiet"], (few,)),
        ("cd-hit", cd_hit, "clusters 1,800 proteins",
         lambda n: ["-T", n, "-c", 0.6, "-n", 4, "-i", files["families.fa"], "-o", clusters], (clusters, Path(f"{clusters}.clstr"))),
        ("john", john, "finds two of three bcrypt passwords",
         lambda n: ["--format=bcrypt", f"--wordlist={files['words']}", "--rules", files["hashes"]], (pot,)),
    ]
    return [of_source(debian, cache, *row) for row in rows]


def of_source(debian, cache, name, build, what, arguments, results):
    """Builds a program unless the cache has it already. Cd-hit prints how long it took."""
    folder = cache / name
    built, missing = folder / "omp-compat.built", ""
    if not built.exists():
        print(f"{name}: fetched and built in {folder}", file=sys.stderr, flush=True)
        try:
            if not shutil.which("clang-19"):
                raise Missing("clang-19 is not installed")
            debian.source(name, folder)
            built.write_text(str(build(debian, folder)))
        except (Missing, OSError) as why:
            missing = str(why)
    program = "" if missing else built.read_text()
    return Program(name, what, lambda n: [program, *map(str, arguments(n))], "clang", results, name != "cd-hit", missing=missing)


def of_wheels(cache):
    """Returns the Python programs, for wheels in a virtual environment of its own."""
    scripts = {"scikit-learn": (LEARN + LIMIT, "boosted trees and k-means; limits threads by threadpoolctl"), "xgboost-cpu": (BOOST, "boosted trees"),
               "pyomp": (COMPILED, "loops and tasks that are compiled while it runs")}
    venv, found = cache / "venv", []
    python = venv / "bin/python"
    if not python.exists():
        venv.mkdir(parents=True, exist_ok=True)
        do("a virtual environment", [sys.executable, "-m", "venv", str(venv)], venv)
    for wheel in WHEELS:
        (text, what), missing, file = scripts[wheel], "", cache / f"{wheel}.py"
        file.write_text(text)
        have = subprocess.run([str(python), "-m", "pip", "show", wheel], capture_output=True, text=True, check=False).stdout
        if not have:
            try:
                do(f"the wheel {wheel}", [str(python), "-m", "pip", "install", "-q", "--only-binary", ":all:", wheel], venv)
            except Missing as why:
                missing = str(why)
            have = subprocess.run([str(python), "-m", "pip", "show", wheel], capture_output=True, text=True, check=False).stdout
        version = re.search(r"^Version: (.*)$", have, re.M)
        name = f"{wheel} {version[1]}" if version else wheel
        found.append(Program(name, what, lambda n, file=file: [str(python), str(file)], "wheel", missing=missing))
    return found
