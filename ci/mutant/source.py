# SPDX-License-Identifier: Apache-2.0
"""The project's C as mutants need it: functions, their lines, and what could be changed in these.

Functions begin and end as clang-format leaves them, with braces in the first column.
"""
import hashlib
import os
import re

FOLDERS = ("binaries", "bpf", "cache", "cfi", "doctor", "elf", "go", "kernel", "log", "loop", "process", "profiler", "report", "samples",
           "symbols", "tables", "tables/x86_64")
# What only the kernel runs is for the tests that need it.
NOT_HERE = re.compile(r"\.bpf\.[ch]$")
COMMENT_OR_TEXT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.S)
NAME = re.compile(r"\b([a-z_][a-z_0-9]*)\(")
# What may be missing without anybody noticing, but valgrind: nothing is left behind by a test that ends.
RELEASES = re.compile(r"_(free|done|destroy|unlink|close)\(|\b(free|close|munmap)\(|\blog_|\bprintf\(|^return$")

# Each changes what its group 0 matches; strings and comments are blank when it is looked for.
PATTERNS = [(re.compile(pattern), new) for pattern, new in (
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ ", " - "), (r" - ", " + "), (r" \+= ", " -= "), (r" -= ", " += "),
    (r" << ", " >> "), (r" >> ", " << "), (r" & ", " | "), (r" \|= ", " &= "), (r" &= ", " |= "),
    (r"\breturn true;", "return false;"), (r"\breturn false;", "return true;"),
    (r"\breturn -E[A-Z]+;", "return 0;"),
    (r"(?<=[(&| ])!(?=[a-z(])", ""),
    (r"\bcontinue;", ";"), (r"^(\t+)break;$", r"\1;"),
    # A statement that is left out: a call, or an assignment.
    (r"^(\t+)[a-z_][\w>.\[\]-]*(?:\([^;]*\)| [-+|&]?= [^;]*|\+\+|--);$", r"\1;"),
)]


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def functions(text):
    """(name, number of its first line, of its last) of the text of a file, from 0; whole lines of code alone."""
    lines, start = text.split("\n"), None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = number_of_head(lines, start)
            names = [name for name in NAME.findall("\n".join(lines[head:start])) if not name.startswith("__")]
            if names:
                yield names[0], start + 1, number
            start = None


def number_of_head(lines, start):
    """Of the line that a function's header begins with; its body begins at start."""
    head = start
    while head > 0 and lines[head - 1] and not lines[head - 1].startswith(("#", "}", " *", "/*")):
        head -= 1
    return head


def files(root):
    for folder in FOLDERS:
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith((".c", ".h")) and not NOT_HERE.search(name):
                yield f"{folder}/{name}"


class Tree:
    """{function: [(file, number of a line, line)]}, where a function's name may be in several files."""

    def __init__(self, root):
        self.lines, self.sizes = {}, {}
        for path in files(root):
            with open(os.path.join(root, path)) as file:
                text = file.read()
            self.add(path, text)

    def add(self, path, text):
        lines, code = text.split("\n"), COMMENT_OR_TEXT.sub(blank, text).split("\n")
        for name, first, last in functions(text):
            folder = path.partition("/")[0]
            self.sizes[folder] = self.sizes.get(folder, 0) + last - first
            self.lines.setdefault(name, []).extend((path, number, lines[number], code[number])
                                                   for number in range(first, last))

    def find(self, function, line):
        """The locations of a line in a function: (file, number)"""
        return [(path, number) for path, number, text, _ in self.lines.get(function, ()) if text.strip() == line]

    def candidates(self):
        """{folder: [(function, line, what it becomes)]}, in an order that has to do with the text alone."""
        found = {}
        for function, lines in self.lines.items():
            texts = [text.strip() for _, _, text, _ in lines]
            for path, _, text, code in lines:
                if texts.count(text.strip()) > 1 or not code.strip() or code.rstrip().endswith("\\"):
                    continue
                for new in changes(text, code):
                    found.setdefault(path.partition("/")[0], []).append((function, text.strip(), new.strip()))
        return {folder: sorted(set(all_), key=lambda one: hashlib.sha256("\n".join(one).encode()).digest())
                for folder, all_ in found.items()}


def changes(text, code):
    """What a line may become."""
    if RELEASES.search(code.strip()) or code.lstrip().startswith(("#", "static ", "const ")):
        return
    for pattern, new in PATTERNS:
        for match in pattern.finditer(code):
            # A declaration's star, an address, the end of a cast: it is no operator there.
            if pattern.groups == 0 and re.search(r"^\t*(struct|enum|union|const|uint\w+|int|size_t|__u\d+|bool|char)\b[^=(]*$",
                                                 code[:match.start()]) and "=" not in code[:match.start()]:
                continue
            changed = text[:match.start()] + match.expand(new) + text[match.end():]
            if changed != text:
                yield changed
