#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the names of stubs in all forms of a PLT that linkers produce with objdump's.

usage: check_plt.py SHOW_LOCATIONS
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cli/tests"))
import harness  # noqa: E402

SHOW = os.path.abspath(sys.argv[1])
SOURCE = """
#include <vector>
#include <stdlib.h>
#include <string.h>
extern "C" { typedef long function(long); }
static long one(long n) { return n + 1; }
extern "C" { __attribute__((used)) static function *choose() { return one; } }
extern "C" long chosen(long n) __attribute__((ifunc("choose")));
function *volatile address = labs;
struct thing { virtual ~thing(); void work(std::vector<int> v); };
int main(int argc, char **argv)
{
    thing t;
    t.work({ argc });
    return labs(argc) + chosen(argc) + strlen(argv[0]) + (address == labs);
}
"""
LIBRARY = """
#include <vector>
struct thing { virtual ~thing(); void work(std::vector<int> v); };
thing::~thing() {}
void thing::work(std::vector<int> v) {}
"""
FORMS = {
    "lazy": ["-Wl,-z,lazy"],
    "now": ["-Wl,-z,now"],
    "ibt": ["-Wl,-z,lazy", "-Wl,-z,ibtplt", "-fcf-protection=full"],
    "ibt-now": ["-Wl,-z,now", "-Wl,-z,ibtplt", "-fcf-protection=full"],
    "no-pie": ["-no-pie", "-fno-pie"],
}


def run(*command, **kwargs):
    return subprocess.run(command, check=True, capture_output=True, text=True, **kwargs).stdout


class Stubs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.directory = directory.name
        for name, text in ("program.cc", SOURCE), ("library.cc", LIBRARY):
            with open(cls.path(name), "w") as file:
                file.write(text)
        run("g++", "-shared", "-fPIC", "-o", cls.path("library.so"), cls.path("library.cc"))

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    def names(self, path, addresses, *options):
        lines = run(SHOW, *options, path, input="".join(f"{a:x}\n" for a in addresses)).splitlines()
        return {int(lines[i], 16): lines[i + 1] for i in range(len(lines) - 1) if lines[i].startswith("0x00")}

    def compare(self, path, chosen):
        """Compares with objdump, which has no names for IFUNCs; nor has a stripped program."""
        text = run("objdump", "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", path)
        stubs = {int(a, 16): re.sub(r"@+[\w.]+(?=@plt)", "", name)
                 for a, name in re.findall(r"(?m)^([0-9a-f]+) <(.*@plt)>:$", text)}
        ours = self.names(path, stubs, "-d", "none")
        for address, name in stubs.items():
            self.assertEqual(ours[address], chosen if name.startswith("*ABS*") else name, path)
            self.assertEqual(self.names(path, [address + 7], "-d", "none")[address + 7], ours[address])
        return set(ours.values())

    def test_all_forms(self):
        for form, flags in FORMS.items():
            path = self.path(form)
            run("g++", "-O1", "-fno-builtin", "-fplt", *flags, "-o", path, self.path("program.cc"), self.path("library.so"))
            for stripped in False, True:
                with self.subTest(form, stripped=stripped):
                    if stripped:
                        run("strip", path)
                    names = self.compare(path, "??" if stripped else "chosen@plt")
                    self.assertLessEqual({"labs@plt", "strlen@plt"}, names)

    def test_names_are_demangled(self):
        path = self.path("demangled")
        run("g++", "-o", path, self.path("program.cc"), self.path("library.so"))
        symbols = run("objdump", "-d", "-j", ".plt", path)
        address = int(re.search(r"(?m)^([0-9a-f]+) <_ZN5thing4work.*@plt>:$", symbols)[1], 16)
        for style, name in ("simple", "thing::work@plt"), ("full", "thing::work(std::vector<int, std::allocator<int> >)@plt"):
            self.assertEqual(self.names(path, [address], "-d", style)[address], name)


if __name__ == "__main__":
    harness.run_tests()
