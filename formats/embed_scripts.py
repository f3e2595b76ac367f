#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the C file with the scripts that pictures and pages carry (scripts.h).

Usage: embed_scripts.py OUT.c NAME.js...
"""
import json
import os
import re
import sys


def main():
    out, *scripts = sys.argv[1:]
    with open(out, "w", encoding="ascii") as to:
        to.write("/* Made by embed_scripts.py. */\n#include \"scripts.h\"\n")
        for script in scripts:
            with open(script, encoding="ascii") as file:
                text = file.read()
            if re.search(r"\]\]>|</script|<!--", text, re.IGNORECASE):
                sys.exit(f"embed_scripts.py: {script} has what ends the element that it is put in")
            to.write(f"\nconst char {os.path.basename(script)[:-3]}_script[] =\n")
            to.writelines(f"\t{json.dumps(line)}\n" for line in text.splitlines(keepends=True))
            to.write("\t;\n")


main()
