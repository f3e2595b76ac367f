#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the C file with the viewer of HTML reports (viewer.h).

Usage: embed_viewer.py PACKAGE OUT.c, where PACKAGE is the directory of npm's speedscope, or `-` for
a file without a viewer.
"""
import glob
import json
import os
import re
import sys


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def only(pattern):
    """Reads the only file of that name, so that a release with another layout is noticed."""
    files = glob.glob(pattern)
    if len(files) != 1:
        sys.exit(f"embed_viewer.py: {pattern}: {len(files)} files, not 1: "
                 "another speedscope than the one of ci/viewers/package.json?")
    return read(files[0])


def change(script, pattern, to):
    """Changes the only place that a pattern matches."""
    script, n = re.subn(pattern, to, script)
    if n != 1:
        sys.exit(f"embed_viewer.py: {n} places in the viewer's script, not 1, are {pattern}")
    return script


def ask_for_colours(script):
    """Functions keep their kind, and get the colours that the page (html_colours.js) gives them."""
    script = change(script, r"(this\.line=(\w+)\.line,this\.col=\2\.col)\}", r"\1,this.kind=\2.kind}")
    return change(script, r"for\(let (\w+)=0;\1<(\w+)\.length;\1\+\+\)"
                  r"(\w+)\.set\(\2\[\1\]\.key,Math\.floor\(255\*\1/\2\.length\)\);",
                  r"window.dwarfprofColours(\2,(f,n)=>\3.set(f.key,n));")


def viewer(package):
    release = os.path.join(package, "dist", "release")
    name = f"speedscope {json.loads(read(package, 'package.json'))['version']}"
    style = only(os.path.join(release, "speedscope-*.css"))
    script = only(os.path.join(release, "speedscope-*.js"))
    if "localProfilePath" not in script or "loadFileFromBase64" not in script:
        sys.exit(f"embed_viewer.py: {name} cannot be given a profile by a page")
    # The font is a separate file; the reader's own monospaced font is used instead.
    style = re.sub(r"@font-face\{[^}]*\}", "", style)
    style = re.sub(r"/\*# sourceMappingURL=.*?\*/", "", style)
    script = re.sub(r"//# sourceMappingURL=.*", "", script)
    script = ask_for_colours(script)
    # An escape keeps a string from ending the element or starting a comment in it. These occur only
    # in JavaScript strings and patterns, where it means the same.
    script = re.sub(r"<(?=/script|!--|script)", r"\\x3c", script, flags=re.IGNORECASE)
    licence = f"/*!\n{name}\n\n{read(package, 'LICENSE')}*/\n"
    if re.search(r"url\(|@import", style) or "*/" in licence[:-3]:
        sys.exit(f"embed_viewer.py: {name} is not all in one piece")
    return name, f"<style>\n{licence}{style}</style>\n<script>\n{licence}{script}</script>\n"


def main():
    package, out = sys.argv[1:]
    name, html = ("", "") if package == "-" else viewer(package)
    data = html.encode()
    with open(out, "w", encoding="ascii") as file:
        file.write("/* Made by embed_viewer.py. */\n#include \"viewer.h\"\n\n")
        file.write(f"const char viewer_name[] = {json.dumps(name)};\n")
        file.write(f"const size_t viewer_size = {len(data)};\n")
        file.write("const unsigned char viewer_html[] = {\n")
        for i in range(0, len(data), 24):
            file.write(",".join(map(str, data[i:i + 24])) + ",\n")
        file.write("0};\n")


main()
