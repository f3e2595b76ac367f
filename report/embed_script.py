#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the C file with the script that SVG pictures carry (svg_script.h).

Usage: embed_script.py SCRIPT.js OUT.c
"""
import json
import sys


def main():
    script, out = sys.argv[1:]
    with open(script, encoding="ascii") as file:
        text = file.read()
    if "]]>" in text:
        sys.exit(f"embed_script.py: {script}: ]]> ends the CDATA section that it is put in")
    with open(out, "w", encoding="ascii") as file:
        file.write("/* Made by embed_script.py. */\n#include \"svg_script.h\"\n\nconst char svg_script[] =\n")
        file.writelines(f"\t{json.dumps(line)}\n" for line in text.splitlines(keepends=True))
        file.write("\t;\n")


main()
