#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layouts of Perl's structures, from each version's own headers.

usage: runtimes/perl/layouts.py INCLUDE... >runtimes/perl/layouts.h

INCLUDE: the directories of perl.h, of versions from 5.36 on, built with threads. The same headers give the layout
of builds without. What is in layouts.h was made from those of Debian's libperl5.36, libperl5.40 and libperl5.42,
unpacked:

    runtimes/perl/layouts.py */usr/lib/*/perl/*.*.*/CORE >runtimes/perl/layouts.h

A structure's layout does not change within a version: its extensions are compiled for all of its releases.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LAYOUT = os.path.join(HERE, "../../bpf/perl_layout.h")

PROGRAM = r"""
#include <EXTERN.h>
#include <perl.h>
#undef printf
int printf(const char *form, ...);
#define AT(name, type, member) printf("\t\t." #name " = %zu,\n", __builtin_offsetof(type, member))
#define IS(name, value) printf("\t\t." #name " = %zu,\n", (size_t)(unsigned int)(value))
#define FITS(size, type, member) \
	_Static_assert(__builtin_offsetof(type, member) + sizeof(((type *)0)->member) <= (size), #member)
typedef struct interpreter perl_type;
typedef struct stackinfo stack_type;
typedef struct context context_type;
typedef struct xpvhv_with_aux package_type;
#define SUB cx_u.cx_blk.blk_u.blku_sub
#define FORMAT cx_u.cx_blk.blk_u.blku_format
#define EVAL cx_u.cx_blk.blk_u.blku_eval
#define SAME(a, b) _Static_assert(__builtin_offsetof(context_type, a) == __builtin_offsetof(context_type, b), #a)
SAME(SUB.retop, FORMAT.retop);
SAME(SUB.retop, EVAL.retop);
SAME(SUB.cv, FORMAT.cv);
/* The first members; and a bit field, which no offset can be had of. */
_Static_assert(__builtin_offsetof(SV, sv_any) == 0, "");
_Static_assert(__builtin_offsetof(OP, op_next) == 0, "");
#define OP_TYPE (__builtin_offsetof(OP, op_targ) + sizeof(PADOFFSET))
_Static_assert(__builtin_offsetof(OP, op_flags) == OP_TYPE + 2 && MAXO <= DP_PERL_OP_TYPES, "");
_Static_assert(CXTYPEMASK == DP_PERL_KINDS, "");
FITS(DP_PERL_STACK_READ, stack_type, si_cxsubix);
FITS(DP_PERL_CONTEXT_READ, context_type, SUB.cv);
FITS(DP_PERL_BODY_READ, XPVCV, xcv_flags);
FITS(DP_PERL_NAME_READ, XPVGV, xnv_u.xgv_stash);
FITS(DP_PERL_OP_READ, OP, op_flags);
FITS(DP_PERL_STATEMENT_READ, COP, cop_seq);
int main(void)
{
	printf("\t{ .perl = {\n");
#ifdef USE_ITHREADS
	IS(is_threaded, 1);
	AT(stack, perl_type, Icurstackinfo);
	AT(statement, perl_type, Icurcop);
	AT(op, perl_type, Iop);
	AT(saved, perl_type, Isavestack_ix);
	AT(file, COP, cop_file);
#else
	AT(file, COP, cop_filegv);
#endif
	AT(contexts, stack_type, si_cxstack);
	AT(previous, stack_type, si_prev);
	AT(last, stack_type, si_cxix);
	AT(last_sub, stack_type, si_cxsubix);
	IS(context_size, sizeof(context_type));
	AT(type, context_type, cx_u.cx_blk.blku_type);
	AT(caller, context_type, cx_u.cx_blk.blku_oldcop);
	AT(saved_before, context_type, cx_u.cx_blk.blku_oldsaveix);
	AT(resume, context_type, SUB.retop);
	AT(function, context_type, SUB.cv);
	AT(package, XPVCV, xcv_stash);
	AT(start, XPVCV, xcv_start_u);
	AT(name, XPVCV, xcv_gv_u);
	AT(flags, XPVCV, xcv_flags);
	AT(gv_name, XPVGV, xiv_u.xivu_namehek);
	AT(gv_package, XPVGV, xnv_u.xgv_stash);
	IS(op_type, OP_TYPE);
	AT(line, COP, cop_line);
	AT(sequence, COP, cop_seq);
	IS(is_native, CVf_ISXSUB);
	IS(is_named, CVf_NAMED);
	IS(is_lexical, CVf_LEXICAL);
	IS(op_call, OP_ENTERSUB);
	IS(op_goto, OP_GOTO);
	IS(op_next, OP_NEXTSTATE);
	IS(op_debug, OP_DBSTATE);
	IS(kind_null, CXt_NULL);
	IS(kind_block, CXt_BLOCK);
	IS(kind_sub, CXt_SUB);
	IS(kind_format, CXt_FORMAT);
	IS(kind_eval, CXt_EVAL);
	IS(kind_defer, CXt_DEFER);
	IS(is_reused, CXp_MULTICALL);
	IS(is_fake, CXp_SUB_RE_FAKE);
	IS(is_eval_block, CXp_EVALBLOCK | CXp_TRY);
	printf("\t  }, .perl_names = {\n");
	IS(version, PERL_REVISION << 8 | PERL_VERSION);
#ifdef USE_ITHREADS
	IS(interpreter_size, sizeof(perl_type));
#endif
	AT(package_name, package_type, xhv_aux.xhv_name_u);
	AT(package_names, package_type, xhv_aux.xhv_name_count);
	AT(size, HEK, hek_len);
	AT(text, HEK, hek_key);
	IS(is_utf8, HVhek_UTF8);
	printf("\t  } },\n");
	return 0;
}
"""

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/perl/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
"""


def limits():
    """What the walker reads."""
    with open(LAYOUT, encoding="utf-8") as file:
        return "".join(re.findall(r"^#define DP_PERL_\w+ (?:0x)?[0-9a-f]+\n", file.read(), re.M))


def layout(include):
    with tempfile.TemporaryDirectory() as place:
        source, program = os.path.join(place, "layout.c"), os.path.join(place, "layout")
        with open(source, "w", encoding="utf-8") as to:
            to.write(limits() + PROGRAM)
        subprocess.run(["gcc", "-w", "-O2", "-D_REENTRANT", "-D_GNU_SOURCE", "-I", include, source, "-o", program,
                        "-no-pie", "-Wl,--unresolved-symbols=ignore-all"], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout


def without_threads(include, place):
    """A copy of the headers, in a directory, of a build without threads."""
    copy = shutil.copytree(include, os.path.join(place, "CORE"))
    with open(os.path.join(copy, "config.h"), "r+", encoding="utf-8") as file:
        text = re.sub(r"^#define\s+(USE_ITHREADS|USE_THREADS|MULTIPLICITY)\b.*$", "", file.read(), flags=re.M)
        file.seek(0)
        file.truncate()
        file.write(text)
    return copy


def layouts(include):
    with tempfile.TemporaryDirectory() as place:
        return layout(include) + layout(without_threads(include, place))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.stdout.write(HEAD + "".join(map(layouts, sys.argv[1:])) + "/* clang-format on */\n")


if __name__ == "__main__":
    main()
