#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layouts of Perl's structures, from each version's own headers.

usage: runtimes/perl/layouts.py INCLUDE... >runtimes/perl/layouts.h

INCLUDE: the directories of perl.h, of versions from 5.36 on with threads. What is in layouts.h was made from that
of Debian 12's libperl-dev:

    runtimes/perl/layouts.py /usr/lib/*/perl/5.36/CORE >runtimes/perl/layouts.h

A structure's layout does not change within a version: its extensions are compiled for all of its releases.
"""
import os
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <EXTERN.h>
#include <perl.h>
#ifndef USE_ITHREADS
#error "without threads, the interpreter is not in a structure"
#endif
#undef printf
int printf(const char *form, ...);
#define AT(name, type, member) printf("\t\t." #name " = %zu,\n", __builtin_offsetof(type, member))
#define IS(name, value) printf("\t\t." #name " = %zu,\n", (size_t)(unsigned int)(value))
typedef struct interpreter perl_type;
typedef struct stackinfo stack_type;
typedef struct context context_type;
typedef struct xpvhv_with_aux stash_type;
int main(void)
{
	printf("\t{ .chain = {\n");
	IS(first, __builtin_offsetof(perl_type, Icurstackinfo) + 1);
	IS(frame_size, sizeof(context_type));
	IS(stride, -(int)sizeof(context_type));
	AT(code, context_type, cx_u.cx_blk.blk_u.blku_sub.cv);
	AT(position, context_type, cx_u.cx_blk.blku_oldcop);
	AT(flags, context_type, cx_u.cx_blk.blku_type);
	IS(tagged, __builtin_offsetof(CV, sv_any) + 1);
	AT(tags[0], XPVCV, xcv_root_u);
	AT(tags[1], XPVCV, xcv_gv_u);
	AT(array_next, stack_type, si_prev);
	AT(array, stack_type, si_cxstack);
	AT(array_last, stack_type, si_cxix);
	AT(carried, perl_type, Icurcop);
	IS(kinds, 1 << CXt_SUB | 1 << CXt_FORMAT);
	IS(bare, 1 << CXt_NULL);
	AT(kept, context_type, cx_u.cx_blk.blk_u.blku_sub.retop);
	AT(root, perl_type, Imain_cv);
	AT(phase, perl_type, Iphase);
	IS(root_phase, PERL_PHASE_RUN);
	printf("\t  }, .perl = {\n");
	IS(version, PERL_REVISION << 8 | PERL_VERSION);
	AT(name, XPVCV, xcv_gv_u);
	AT(cv_flags, XPVCV, xcv_flags);
	AT(cv_stash, XPVCV, xcv_stash);
	AT(gv_name, XPVGV, xiv_u.xivu_namehek);
	AT(gv_stash, XPVGV, xnv_u.xgv_stash);
	AT(stash_name, stash_type, xhv_aux.xhv_name_u);
	AT(stash_names, stash_type, xhv_aux.xhv_name_count);
	AT(text, HEK, hek_key);
	AT(line, COP, cop_line);
	AT(file, COP, cop_file);
	IS(is_named, CVf_NAMED);
	printf("\t  } },\n");
	return 0;
}
"""

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/perl/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
"""


def layout(include):
    with tempfile.TemporaryDirectory() as place:
        source, program = os.path.join(place, "layout.c"), os.path.join(place, "layout")
        with open(source, "w", encoding="utf-8") as to:
            to.write(PROGRAM)
        subprocess.run(["gcc", "-w", "-O2", "-D_REENTRANT", "-D_GNU_SOURCE", "-I", include, source, "-o", program,
                        "-no-pie", "-Wl,--unresolved-symbols=ignore-all"], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.stdout.write(HEAD + "".join(map(layout, sys.argv[1:])) + "/* clang-format on */\n")


if __name__ == "__main__":
    main()
