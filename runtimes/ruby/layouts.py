#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layouts of Ruby's structures, from each version's own headers.

usage: runtimes/ruby/layouts.py HEADER... >runtimes/ruby/layouts.h

HEADER: rb_mjit_min_header-VERSION.h, which versions up to 3.2 install for their own compiler of methods, and
which has all of vm_core.h. What is in layouts.h was made from that of Debian 12's ruby3.1-dev:

    runtimes/ruby/layouts.py /usr/include/*/ruby-3.1.0/rb_mjit_min_header-3.1.2.h >runtimes/ruby/layouts.h

A structure's layout does not change within a version: its extensions are compiled for all of its releases.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include HEADER
#define AT(name, type, member) printf("\t\t." #name " = %zu,\n", __builtin_offsetof(type, member))
#define IS(name, value) printf("\t\t." #name " = %zu,\n", (size_t)(value))
typedef struct rb_iseq_constant_body body_type;
int printf(const char *form, ...);
int main(void)
{
	printf("\t{ .chain = {\n");
	IS(first, __builtin_offsetof(rb_execution_context_t, cfp) + 1);
	AT(stack, rb_execution_context_t, vm_stack);
	AT(stack_words, rb_execution_context_t, vm_stack_size);
	IS(frame_size, __builtin_offsetof(rb_control_frame_t, ep) + sizeof(VALUE *));
	IS(stride, sizeof(rb_control_frame_t));
	AT(code, rb_control_frame_t, iseq);
	AT(position, rb_control_frame_t, pc);
	AT(flags, rb_control_frame_t, ep);
	IS(flags_far, VM_ENV_DATA_INDEX_FLAGS == 0);
	IS(entry, VM_FRAME_FLAG_FINISH);
	IS(skip, VM_FRAME_FLAG_CFRAME);
	IS(kind, VM_FRAME_MAGIC_MASK);
	IS(no_kind, VM_FRAME_MAGIC_DUMMY);
	IS(tagged, __builtin_offsetof(rb_iseq_t, body) + 1);
	AT(tags[0], body_type, location.label);
	AT(tags[1], body_type, location.first_lineno);
	printf("\t  }, .ruby = {\n");
	IS(version, VERSION);
	AT(body, rb_iseq_t, body);
	AT(size, body_type, iseq_size);
	AT(instructions, body_type, iseq_encoded);
	AT(path, body_type, location.pathobj);
	AT(label, body_type, location.label);
	AT(lines, body_type, insns_info.body);
	AT(n_lines, body_type, insns_info.size);
	AT(index, body_type, insns_info.succ_index_table);
	IS(line_size, sizeof(struct iseq_insn_info_entry));
	AT(string_size, struct RString, as.heap.len);
	printf("\t  } },\n");
	return 0;
}
"""

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/ruby/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
"""


def layout(header):
    folder = os.path.dirname(header)
    others = os.path.join("/usr/include", os.path.basename(folder))
    major, minor = re.search(r"-(\d+)\.(\d+)\.\d+\.h$", header).groups()
    with tempfile.TemporaryDirectory() as place:
        source, program = os.path.join(place, "layout.c"), os.path.join(place, "layout")
        with open(source, "w", encoding="utf-8") as to:
            to.write(PROGRAM)
        subprocess.run(["gcc", "-w", "-O2", f'-DHEADER="{header}"', f"-DVERSION={major}<<8|{minor}", "-I", folder, "-I", others, source, "-o", program,
                        "-no-pie", "-Wl,--unresolved-symbols=ignore-all"], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    headers = [os.path.abspath(h) for given in sys.argv[1:] for h in glob.glob(given)]
    if not headers:
        sys.exit(__doc__)
    sys.stdout.write(HEAD + "".join(map(layout, headers)) + "/* clang-format on */\n")


if __name__ == "__main__":
    main()
