"""What a test of GCC's says of itself in DejaGnu's directives: how it is compiled, what it is run with, what it should do."""

import re
import shlex

DIRECTIVE = re.compile(r"\{\s*(dg-[a-z-]+)((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\"|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
# Words of a selector that hold here. Those that name a device do not.
HOLDS = re.compile(r"^(\*-\*-linux\*|\*-\*-gnu\*|\*-\*-\*|[ix][?0-9]*86\S*-\*-\*|lp64|lto|vect_simd_clones|size32plus|tls_runtime|tls"
                   r"|sync_int_long|sync_char_short|fpic|shared|avx_runtime|alias|large_long_double|fopenmp|pthread|c\+\+\S*)$")


def words(text):
    """The arguments of a directive: words, strings and braced lists."""
    found = re.findall(r"\"(?:[^\"\\]|\\.)*\"|\{(?:[^{}]|\{[^{}]*\})*\}|[^\s{}\"]+", text)
    return [word[1:-1] if word[0] in "\"{" else word for word in found]


def holds(selector):
    """Whether a selector as `target { lto && lp64 }` holds on this host, which has no device."""
    selector = re.sub(r"^\s*(target|xfail)\s+", "", selector.strip())
    text = selector.replace("{", "(").replace("}", ")")
    parts = re.findall(r"[()!]|&&|\|\||[^\s()!]+", text)
    python = {"&&": "and", "||": "or", "!": "not", "(": "(", ")": ")"}
    code, last = [], ""
    for part in parts:
        operand = part not in python or part in "(!"
        if operand and last == "operand":
            code.append("or")
        code.append(python.get(part, str(bool(HOLDS.match(part)))))
        last = "operand" if part not in python or part == ")" else ""
    return not code or bool(eval(" ".join(code)))


class Test:
    """A test's file with what it says of itself."""

    def __init__(self, path, language):
        self.path, self.language = path, language
        self.what, self.options, self.sources = "run", [], []
        self.environment, self.outputs = {}, []
        self.should_fail, self.needs = False, []
        defaults = ["-O2"]
        for name, rest in DIRECTIVE.findall(path.read_text(errors="replace")):
            arguments = words(rest)
            # A directive whose last argument is a selector that does not hold says nothing.
            selector = arguments[-1] if arguments and re.match(r"\s*target\b", arguments[-1]) else None
            if selector is not None and not holds(selector):
                if name == "dg-do":
                    self.needs.append(selector.split(None, 1)[-1])
                continue
            if name == "dg-do":
                self.what = arguments[0]
            elif name == "dg-options":
                defaults = []
                self.options += shlex.split(arguments[0])
            elif name == "dg-additional-options":
                self.options += shlex.split(arguments[0])
            elif name == "dg-additional-sources":
                self.sources += [path.parent / source for source in arguments[0].split()]
            elif name == "dg-set-target-env-var":
                self.environment[arguments[0]] = arguments[1]
            elif name == "dg-output":
                self.outputs.append(arguments[0])
            elif name in ("dg-shouldfail", "dg-xfail-run-if"):
                self.should_fail = name == "dg-shouldfail"
            elif name == "dg-require-effective-target" and not holds(arguments[0]):
                self.needs.append(arguments[0])
            elif name == "dg-skip-if" and len(arguments) > 1 and holds(arguments[1]) and not (len(arguments) > 2 and arguments[2]):
                self.needs.append("skipped everywhere")
        self.options = defaults + self.options

    def why_not(self):
        """Why it is not run here; None if it is."""
        if self.needs:
            return "needs " + ", ".join(self.needs)
        return None if self.what == "run" else f"is to {self.what} only"

    def judge(self, code, output):
        """Why what a run did is wrong; None if it is right."""
        if (code != 0) != self.should_fail:
            return f"ends with {code}"
        lost = [pattern for pattern in self.outputs if not re.search(pattern.replace("\\[", "[").replace("\\]", "]"), output)]
        return f"does not print {lost[0]!r}" if lost else None
