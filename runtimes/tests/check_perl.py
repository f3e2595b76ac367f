#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what `dwarfprof dump` shows of Perl with Carp's list of the same calls.

usage: check_perl.py [--programs N] [--seed N] [--show] DWARFPROF

Runs programs of random chains of calls (perl_chains.py), whose innermost function writes down Carp::longmess()
and then stops its process. The functions have to be the same, in order, with their files and lines. Blocks of eval,
which Carp has, are no functions.

Debian's Perl has threads. In place of one without, a program has the variables and structures of Perl's own headers,
and computes.
"""
import argparse
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import check_scripts
import perl_chains

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../perl"))
import layouts  # noqa: E402

LEAF = '''
use Carp ();
sub mess { return Carp::longmess("x") }
sub leaf {
  open my $to, ">:utf8", $ARGV[1] or die;
  print $to mess(); close $to; kill STOP => $$;
  return 1;
}
'''

WITHOUT_THREADS = r'''
#include <EXTERN.h>
#include <perl.h>
#ifdef MULTIPLICITY
#error "not without threads"
#endif
const U8 PL_revision = PERL_REVISION, PL_version = PERL_VERSION;
OP *PL_op;
COP *PL_curcop;
PERL_SI *PL_curstackinfo;
I32 PL_savestack_ix;

static char heks[3][64] __attribute__((aligned(8)));
static XPVGV gv_bodies[2];
static GV gvs[2];
static struct xpvhv_with_aux stash_body;
static HV stash;
static XPVCV cv_body;
static CV cv;
static COP statements[3];
static PERL_CONTEXT contexts[2];
static PERL_SI stack;

static HEK *make_hek(char *to, const char *text)
{
	HEK *hek = (HEK *)to;

	hek->hek_len = strlen(text);
	memcpy(to + __builtin_offsetof(HEK, hek_key), text, strlen(text));
	return hek;
}

static void make_gv(int i, const char *text)
{
	gvs[i].sv_any = &gv_bodies[i];
	gv_bodies[i].xiv_u.xivu_namehek = make_hek(heks[i], text);
	gv_bodies[i].xnv_u.xgv_stash = &stash;
}

__attribute__((noinline)) int Perl_runops_standard(void)
{
	clock_t end = clock() + 3 * CLOCKS_PER_SEC / 2;

	while (clock() < end)
		;
	return 0;
}

int main(void)
{
	make_gv(0, "run");
	make_gv(1, "_</a/b.pl");
	stash.sv_any = (void *)&stash_body;
	stash_body.xhv_aux.xhv_name_u.xhvnameu_name = make_hek(heks[2], "main");
	cv.sv_any = &cv_body;
	cv_body.xcv_gv_u.xcv_gv = &gvs[0];
	cv_body.xcv_start_u.xcv_start = (OP *)&statements[2];
	for (int i = 0; i < 3; i++) {
		statements[i].op_type = OP_NEXTSTATE;
		statements[i].cop_line = 10 + i;
		statements[i].cop_filegv = &gvs[1];
	}
	contexts[0].cx_type = CXt_BLOCK;
	contexts[1].cx_type = CXt_SUB;
	contexts[1].blk_oldcop = &statements[0];
	contexts[1].blk_sub.cv = &cv;
	contexts[1].blk_sub.retop = (OP *)&statements[0];
	stack.si_cxstack = contexts;
	stack.si_cxix = stack.si_cxsubix = 1;
	PL_curstackinfo = &stack;
	PL_curcop = &statements[1];
	PL_op = (OP *)&statements[1];
	return Perl_runops_standard();
}
'''
MIN_SAMPLES = 100
# The first ones are of the program's start.
SHARE = 0.9

# The text of an eval may have several lines.
CALL = re.compile(r"\t(eval \{\.\.\.\}|eval '.*?'|require .*?|([^\s(]+)(?:\(.*?\))?) called at ([^\n]*) line (\d+)\n", re.S)


def carp_frames(text):
    """[name, file, line] of each function, from where it calls the next one."""
    first = re.match(r"x at (.*) line (\d+)\.\n", text)
    calls = CALL.findall(text)
    if not first or len(calls) != text.count("\t"):
        sys.exit(f"what Carp says is not understood:\n{text}")
    place, frames = [first[1], int(first[2])], []
    for what, name, file, line in calls:
        if what != "eval {...}":
            frames.append([name or "(eval)", *place])
            place = [file, int(line)]
    return [*frames, ["<main>", *place]]


def perl_frames(sample):
    return [[f["symbol"], f["file"], f["line"]] for f in sample["user_stack"] if f["kind"] == "perl"]


def dump(dwarfprof, pid):
    said = subprocess.run([dwarfprof, "dump", "-p", str(pid), "-U", "--format", "jsonl"], check=True,
                          capture_output=True, text=True, timeout=180).stdout
    record = json.loads(said)
    return record["outcome"], perl_frames(record)


def check(dwarfprof, text, show):
    with tempfile.TemporaryDirectory() as folder:
        program, result = os.path.join(folder, "p.pl"), os.path.join(folder, "result")
        with open(program, "w", encoding="utf-8") as to:
            to.write(text)
        with subprocess.Popen(["perl", program, "0", result]) as process:
            try:
                if not os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]):
                    sys.exit("the program has ended")
                outcome, got = dump(dwarfprof, process.pid)
            finally:
                process.kill()
        with open(result, encoding="utf-8") as file:
            wanted = carp_frames(file.read())
    if show and got != wanted:
        print("got", *got, "wanted", *wanted, sep="\n    ")
    return outcome == "complete" and got == wanted


def check_without_threads(dwarfprof):
    include = glob.glob("/usr/lib/*/perl/5.36/CORE")
    if not include:
        print("without threads: there are no headers of 5.36")
        return True
    with tempfile.TemporaryDirectory() as folder:
        source, program, out = (os.path.join(folder, name) for name in ("perl.c", "perl", "out"))
        with open(source, "w", encoding="utf-8") as to:
            to.write(WITHOUT_THREADS)
        subprocess.run(["gcc", "-w", "-O1", "-no-pie", "-rdynamic", "-D_GNU_SOURCE", "-I",
                        layouts.without_threads(include[0], folder), source, "-o", program,
                        "-Wl,--unresolved-symbols=ignore-all"], check=True)
        subprocess.run([dwarfprof, "-F", "397", "--format", "jsonl", "-o", out, "--", program], check=True,
                       timeout=120, stderr=subprocess.DEVNULL)
        with open(out, encoding="utf-8") as file:
            frames = [perl_frames(json.loads(line)) for line in file]
    n_equal = frames.count([["main::run", "/a/b.pl", 11], ["<main>", "/a/b.pl", 10]])
    print(f"without threads: {n_equal} of {len(frames)} samples are whole")
    return len(frames) >= MIN_SAMPLES and n_equal >= SHARE * len(frames)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dwarfprof")
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    parts = (perl_chains.HEAD, LEAF, perl_chains.WAYS, perl_chains.MAIN)
    language = check_scripts.Language("perl", "pl", parts, set())
    draw = random.Random(args.seed)
    n_equal = sum(check(args.dwarfprof, language.make_program(draw), args.show) for _ in range(args.programs))
    print(f"{n_equal} of {args.programs} programs are as Carp says")
    return 0 if check_without_threads(args.dwarfprof) and n_equal == args.programs else 1


if __name__ == "__main__":
    sys.exit(main())
