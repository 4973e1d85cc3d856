"""Reads the DejaGnu directives of a test of GCC: how to compile it, how to run it, and what it must do."""

import re
import shlex

DIRECTIVE = re.compile(r"\{\s*(dg-[a-z-]+)((?:[^{}\"]|\"(?:[^\"\\]|\\.)*\"|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
# Words of a selector that hold on this host; words that name an offload device are missing, so they do not hold.
HOLDS = re.compile(r"^(\*-\*-linux\*|\*-\*-gnu\*|\*-\*-\*|[ix][?0-9]*86\S*-\*-\*|lp64|lto|vect_simd_clones|size32plus|tls_runtime|tls"
                   r"|sync_int_long|sync_char_short|fpic|shared|avx_runtime|alias|large_long_double|fopenmp|pthread|c\+\+\S*)$")


def words(text):
    """Splits the arguments of a directive into words, strings and braced lists, without their quotes or braces."""
    found = re.findall(r"\"(?:[^\"\\]|\\.)*\"|\{(?:[^{}]|\{[^{}]*\})*\}|[^\s{}\"]+", text)
    return [word[1:-1] if word[0] in "\"{" else word for word in found]


def holds(selector):
    """Returns whether a selector such as `target { lto && lp64 }` holds on this host, which has no offload device."""
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
    """A test file with the content of its directives."""

    def __init__(self, path, language):
        self.path, self.language = path, language
        self.what, self.options, self.sources = "run", [], []
        self.environment, self.outputs = {}, []
        self.should_fail, self.needs = False, []
        defaults = ["-O2"]
        for name, rest in DIRECTIVE.findall(path.read_text(errors="replace")):
            arguments = words(rest)
            # A directive is ignored if its last argument is a selector that does not hold here.
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
        """Returns why the test is not run (this host lacks what it needs, or it is only to be compiled), or None if it is run."""
        if self.needs:
            return "needs " + ", ".join(self.needs)
        return None if self.what == "run" else f"is to {self.what} only"

    def judge(self, code, output):
        """Returns why a run with this exit code and output fails the test, or None if it passes."""
        if (code != 0) != self.should_fail:
            return f"ends with {code}"
        lost = [pattern for pattern in self.outputs if not re.search(pattern.replace("\\[", "[").replace("\\]", "]"), output)]
        return f"does not print {lost[0]!r}" if lost else None
