#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layouts of Ruby's structures, from each version's own headers.

usage: runtimes/ruby/layouts.py HEADER... >runtimes/ruby/layouts.h

HEADER: rb_mjit_min_header-VERSION.h, which versions up to 3.2 install for their own compiler of methods, and
which has all of vm_core.h; or that of a later version's sources, and with a comma, the directory of its
ruby/config.h. What is in layouts.h was made from Debian 12's ruby3.1-dev, and from Debian's sources of ruby3.3
with its ruby3.3-dev:

    runtimes/ruby/layouts.py /usr/include/*/ruby-3.1.0/rb_mjit_min_header-3.1.2.h \
        ruby-3.3.8/vm_core.h,/usr/include/x86_64-linux-gnu/ruby-3.3.0 >runtimes/ruby/layouts.h

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
#ifdef SOURCES
#include "internal/imemo.h"
#include "internal/string.h"
#include "iseq.h"
#include "method.h"
#include "ruby/version.h"
#define VERSION (RUBY_API_VERSION_MAJOR << 8 | RUBY_API_VERSION_MINOR)
#define STRING_SIZE len
#else
#define STRING_SIZE as.heap.len
#endif
#define AT(name, type, member) printf("\t\t." #name " = %zu,\n", __builtin_offsetof(type, member))
#define IS(name, value) printf("\t\t." #name " = %zu,\n", (size_t)(value))
typedef struct rb_iseq_constant_body body_type;
/* symbol.h has it, as rb_symbols_t. */
struct symbols {
	unsigned int last_id;
	void *by_text;
	VALUE ids;
};
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
	IS(machine, __builtin_offsetof(rb_execution_context_t, machine.stack_start) + 1);
	IS(c_kind, VM_FRAME_MAGIC_CFUNC);
	IS(c_method, (VM_ENV_DATA_INDEX_FLAGS - VM_ENV_DATA_INDEX_ME_CREF) * sizeof(VALUE));
	IS(c_type_mask, RUBY_T_MASK | IMEMO_MASK << RUBY_FL_USHIFT);
	IS(c_type, RUBY_T_IMEMO | imemo_ment << RUBY_FL_USHIFT);
	AT(c_definition, rb_callable_method_entry_t, def);
	AT(c_name, rb_method_definition_t, original_id);
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
	AT(string_size, struct RString, STRING_SIZE);
	IS(last_operator, tLAST_OP_ID);
	IS(number_shift, RUBY_ID_SCOPE_SHIFT);
	IS(first_names, tNEXT_ID - 1);
	AT(error, rb_execution_context_t, errinfo);
	AT(texts, struct symbols, ids);
	printf("\t  } },\n");
	return 0;
}
"""

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/ruby/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
"""


def options(header, config):
    folder = os.path.dirname(header)
    if config:
        return ["-DSOURCES", "-I", folder, "-I", os.path.join(folder, "include"), "-I", config]
    others = os.path.join("/usr/include", os.path.basename(folder))
    major, minor = re.search(r"-(\d+)\.(\d+)\.\d+\.h$", header).groups()
    return [f"-DVERSION={major}<<8|{minor}", "-I", folder, "-I", others]


def layout(header, config):
    with tempfile.TemporaryDirectory() as place:
        source, program = os.path.join(place, "layout.c"), os.path.join(place, "layout")
        with open(source, "w", encoding="utf-8") as to:
            to.write(PROGRAM)
        subprocess.run(["gcc", "-w", "-O2", f'-DHEADER="{header}"', *options(header, config), source, "-o", program,
                        "-no-pie", "-Wl,--unresolved-symbols=ignore-all"], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    given = [argument.partition(",") for argument in sys.argv[1:]]
    headers = [(os.path.abspath(header), config) for pattern, _, config in given for header in glob.glob(pattern)]
    if not headers:
        sys.exit(__doc__)
    sys.stdout.write(HEAD + "".join(layout(*header) for header in headers) + "/* clang-format on */\n")


if __name__ == "__main__":
    main()
