"""The programs of the evaluation, and their inputs, which have the same bytes in each run.

A server runs while a client loads it, and is ended when the client has ended."""

import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from inputs import text

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "examples" / "predict"
# Programs of examples/predict whose predictions were looked at while the replay was developed, and programs that were
# held out.
SEEN = ["short", "oversubscribed", "pipeline", "readers", "phases"]
HELD_OUT = ["nesting", "dynamic", "long", "mixed", "pool"]
# The threads of programs that do not take their number as an argument.
FIXED = {"pipeline": 3}


@dataclass
class Program:
    """A program at one number of threads: its command, and a client if it is a server."""

    name: str
    group: str
    threads: int
    command: list
    # If `command` is a server: the client that loads it, and the port on which it answers.
    load: list = field(default_factory=list)
    port: int = 0

    @property
    def label(self):
        return f"{self.name} {self.threads}"


def tree(name, threads, folder):
    """Compiles a program of examples/predict and returns it."""
    target = folder / name
    if not target.exists():
        subprocess.run(["cc", "-O2", "-g", "-o", target, SOURCES / f"{name}.c", "-lpthread"], check=True)
    group = "held out" if name in HELD_OUT else "seen"
    return Program(name, group, threads, [target] if name in FIXED else [target, str(threads)])


def film(path, width, height, frames):
    """Writes a film in the format Y4M: a gradient that moves, with a little noise."""
    rng = random.Random(265)
    noise = [rng.randrange(12) for _ in range(width * height + frames)]
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420\n".encode())
        for frame in range(frames):
            luma = (x * 2 + y + 5 * frame + noise[x + y * width + frame] & 255 for y in range(height) for x in range(width))
            file.write(b"FRAME\n" + bytes(luma) + bytes([128]) * (width * height // 2))


def spheres(count, line):
    """Returns `count` random balls in a cube, each formatted by `line`."""
    rng = random.Random(37)
    places = ([rng.uniform(-4, 4) for _ in range(3)] + [rng.uniform(0.2, 0.9)] for _ in range(count))
    return "".join(line.format(*place) + "\n" for place in places)


def povray_scene(path):
    head = ("camera { location <0, 2, -12> look_at 0 }\nlight_source { <6, 9, -9> rgb 1 }\n"
            "plane { y, -5 pigment { checker rgb 1 rgb 0.2 } finish { reflection 0.2 } }\n")
    ball = "sphere {{ <{0:.3f}, {1:.3f}, {2:.3f}>, {3:.3f} pigment {{ rgb <0.5, 0.6, 0.9> }} finish {{ reflection 0.4 }} }}"
    path.write_text(head + spheres(200, ball))


def tachyon_scene(path):
    head = ("BEGIN_SCENE\nRESOLUTION 1600 1200\nCAMERA ZOOM 1.0 ASPECTRATIO 1.0 ANTIALIASING 1 RAYDEPTH 4\n"
            "CENTER 0 0 -12 VIEWDIR 0 0 1 UPDIR 0 1 0\nEND_CAMERA\nLIGHT CENTER 6 9 -9 RAD 0.2 COLOR 1 1 1\n")
    ball = ("SPHERE CENTER {0:.3f} {1:.3f} {2:.3f} RAD {3:.3f} TEXTURE AMBIENT 0.1 DIFFUSE 0.5 SPECULAR 0.4 OPACITY 1.0 "
            "COLOR 0.5 0.6 0.9 TEXFUNC 0")
    path.write_text(head + spheres(200, ball) + "END_SCENE\n")


def proteins(folder):
    """Writes a model of a protein family, and the sequences among which hmmsearch looks for members."""
    rng = random.Random(332)
    letters = "ACDEFGHIKLMNPQRSTVWY"
    ancestor = rng.choices(letters, k=150)
    mutated = lambda: "".join(rng.choice(letters) if rng.random() < 0.3 else letter for letter in ancestor)
    family = "".join(f"s{i} {mutated()}\n" for i in range(12))
    (folder / "family.sto").write_text(f"# STOCKHOLM 1.0\n{family}//\n")
    with open(folder / "proteins.fasta", "w", encoding="ascii") as file:
        for i in range(120_000):
            body = mutated() if i % 250 == 0 else "".join(rng.choices(letters, k=250))
            file.write(f">p{i}\n{body}\n")
    subprocess.run(["hmmbuild", "--amino", folder / "family.hmm", folder / "family.sto"], check=True, capture_output=True)


def apache(folder, threads, port):
    """Writes a configuration of Apache with one process and `threads` threads that answer; returns its path."""
    site = folder / "site"
    site.mkdir(exist_ok=True)
    (site / "index.html").write_text("<p>hello</p>\n" * 200)
    modules = Path("/usr/lib/apache2/modules")
    config = folder / f"apache.{threads}.conf"
    config.write_text(
        f"ServerRoot {folder}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {folder}/apache.{threads}.pid\n"
        f"DefaultRuntimeDir {folder}\nErrorLog /dev/null\n"
        f"LoadModule mpm_worker_module {modules}/mod_mpm_worker.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n"
        f"LoadModule dir_module {modules}/mod_dir.so\n"
        f"StartServers 1\nServerLimit 1\nThreadsPerChild {threads}\nThreadLimit {threads}\nMaxRequestWorkers {threads}\n"
        f"MinSpareThreads 1\nMaxSpareThreads {threads}\nMaxKeepAliveRequests 0\nDocumentRoot {site}\n")
    return config


# The executables of the Debian programs, each with the package that has it.
DEBIAN = {
    "pigz": "pigz", "pbzip2": "pbzip2", "plzip": "plzip", "zstd": "zstd", "x265": "x265", "povray": "povray",
    "tachyon": "tachyon", "hmmsearch": "hmmer", "db_bench": "rocksdb-tools", "memcached": "memcached and libmemcached-tools",
    "apache2": "apache2 and apache2-utils",
}


def debian(name, threads, folder):
    """Writes the input of a Debian program unless it exists, and returns the program."""
    made = lambda file, make, *how: None if (folder / file).exists() else make(folder / file, *how)
    port, load = 0, []
    count = str(threads)
    if name in ("pigz", "pbzip2", "plzip", "zstd"):
        size = {"plzip": 6, "pbzip2": 12}.get(name, 24)
        data = folder / f"text.{size}"
        made(data.name, text, size)
        command = {
            "pigz": ["pigz", "-p", count, "-n", "-c", data],
            "pbzip2": ["pbzip2", f"-p{count}", "-b1", "-c", data],
            "plzip": ["plzip", "-n", count, "-1", "-B", "256KiB", "-c", data],
            "zstd": ["zstd", "-q", "-5", f"-T{count}", "-B512KiB", "-c", data],
        }[name]
    elif name == "x265":
        made("film.y4m", film, 416, 240, 24)
        command = ["x265", "--pools", count, "--preset", "fast", "--log-level", "error", "--no-progress", "--input",
                   folder / "film.y4m", "-o", "/dev/null"]
    elif name == "povray":
        made("balls.pov", povray_scene)
        command = ["povray", f"+WT{count}", "+BS8", "-D", "-GA", "+W240", "+H180", "+O/dev/null", f"+I{folder}/balls.pov"]
    elif name == "tachyon":
        made("balls.dat", tachyon_scene)
        command = ["tachyon", folder / "balls.dat", "-numthreads", count, "-format", "PPM", "-o", "/dev/null"]
    elif name == "hmmsearch":
        if not (folder / "family.hmm").exists():
            proteins(folder)
        command = ["hmmsearch", "--cpu", count, "--noali", "-o", "/dev/null", folder / "family.hmm", folder / "proteins.fasta"]
    elif name == "db_bench":
        command = ["db_bench", "--benchmarks=fillrandom,readrandom", f"--threads={count}", "--num=20000", "--reads=40000",
                   f"--db={folder}/db.{count}", "--disable_wal", "--compression_type=none", "--histogram=0"]
    elif name == "memcached":
        port = 21_211 + threads
        command = ["memcached", "-t", count, "-p", str(port), "-U", "0", "-l", "127.0.0.1", "-m", "64", "-u", "root"]
        load = ["memcslap", f"--servers=127.0.0.1:{port}", "--concurrency=8", "--execute-number=2500", "--test=set"]
    elif name == "apache2":
        port = 28_080 + threads
        command = ["apache2", "-X", "-f", apache(folder, threads, port)]
        load = ["ab", "-q", "-k", "-n", "5000", "-c", count, f"http://127.0.0.1:{port}/index.html"]
    else:
        raise KeyError(name)
    return Program(name, "Debian", threads, command, load, port)


def missing():
    """Returns the Debian programs that are not installed, with their packages."""
    return [f"{name} ({package})" for name, package in DEBIAN.items() if shutil.which(name) is None]
