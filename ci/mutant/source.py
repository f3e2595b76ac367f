# SPDX-License-Identifier: Apache-2.0
"""The project's C code for mutants: functions, their lines, and possible changes.

Functions begin and end as clang-format leaves them, with braces in the first column.
"""
import hashlib
import os
import re

FOLDERS = ("agent", "binaries", "bpf", "bpf/x86_64", "cache", "cfi", "deliver", "doctor", "elf", "formats", "functions", "go", "kernel", "limits",
           "log", "loop", "probes", "process", "profiler", "recording", "report", "samples", "sandbox", "symbols", "tables", "tables/x86_64", "text",
           "values")
# Code that only the kernel runs is left to the kernel tests.
NOT_HERE = re.compile(r"\.bpf\.[ch]$")
COMMENT_OR_TEXT = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.S)
NAME = re.compile(r"\b([a-z_][a-z_0-9]*)\(")
# Only valgrind would notice if these were missing: a test that ends leaves nothing behind.
RELEASES = re.compile(r"_(free|done|destroy|unlink|close)\(|\b(free|close|munmap)\(|\blog_|\bprintf\(|^return$")

# Each changes what its group 0 matches; strings and comments are blanked before the search.
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
    # Drops a statement: a call or an assignment.
    (r"^(\t+)[a-z_][\w>.\[\]-]*(?:\([^;]*\)| [-+|&]?= [^;]*|\+\+|--);$", r"\1;"),
)]


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def functions(text):
    """(name, first line number, last line number), from 0, in the text of a file; only whole lines
    of code."""
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
    """The line number where a function's header begins; its body begins at start."""
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
    """{function: [(file, line number, line)]}; several files may have a function of that name."""

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
        """The places of a line in a function: (file, number)"""
        return [(path, number) for path, number, text, _ in self.lines.get(function, ()) if text.strip() == line]

    def candidates(self):
        """{folder: [(function, line, replacement)]}, in an order that depends only on the text."""
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
    """Possible replacements of a line."""
    if RELEASES.search(code.strip()) or code.lstrip().startswith(("#", "static ", "const ")):
        return
    for pattern, new in PATTERNS:
        for match in pattern.finditer(code):
            # The star of a declaration, an address, or the end of a cast is not an operator.
            if pattern.groups == 0 and re.search(r"^\t*(struct|enum|union|const|uint\w+|int|size_t|__u\d+|bool|char)\b[^=(]*$",
                                                 code[:match.start()]) and "=" not in code[:match.start()]:
                continue
            changed = text[:match.start()] + match.expand(new) + text[match.end():]
            if changed != text:
                yield changed
