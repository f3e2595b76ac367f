#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layouts of CPython's structures, from each version's own headers.

usage: runtimes/python/layouts.py INCLUDE... >runtimes/python/layouts.h
       runtimes/python/layouts.py --published INCLUDE... >runtimes/python/published.h

INCLUDE: the directories of Python.h, of versions from 3.8 on. Those from 3.13 on publish their layout:
where in what they publish (_Py_DebugOffsets) each member is. layouts.h was made from the headers of pyenv's
versions 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1, published.h from those of its 3.13.0, and of
libpython3.14-dev 3.14.10-1 and libpython3.15-dev 3.15.2-1, unpacked:

    runtimes/python/layouts.py ~/.pyenv/versions/3.{8,9,10,11,12}.*/include/python3.* >runtimes/python/layouts.h
    runtimes/python/layouts.py --published ~/.pyenv/versions/3.13.0/include/python3.13 usr/include/python3.1[45] \
        >runtimes/python/published.h

A structure's layout does not change within a version: its extensions are compiled for all of its releases.
"""
import os
import re
import subprocess
import sys
import tempfile

# Of a string's state, the first bit of its kind.
KIND_BIT = r"""
static size_t kind_bit(void)
{
	PyASCIIObject string;
	unsigned int bits;

	memset(&string, 0, sizeof(string));
	string.state.kind = 1;
	memcpy(&bits, &string.state, sizeof(bits));
	return (size_t)__builtin_ctz(bits);
}
"""

# Of a structure: X(name in the layout, type, member).
PROGRAM = r"""
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#define FRAME _PyInterpreterFrame
#define THREADS threads.head
#else
#define FRAME PyFrameObject
#define THREADS tstate_head
#endif
#define SIZE(type, member) sizeof(((type *)0)->member)
#define AT(name, type, member) printf("\t\t." #name " = %zu,\n", offsetof(type, member))
#define IS(name, value) printf("\t\t." #name " = %zu,\n", (size_t)(value))
#define UP_TO(type, member) offsetof(type, member) + SIZE(type, member)
""" + KIND_BIT + r"""
int main(void)
{
	size_t size = 0, ends[] = {
#if PY_VERSION_HEX >= 0x030b0000
		UP_TO(FRAME, previous), UP_TO(FRAME, f_code), UP_TO(FRAME, prev_instr), UP_TO(FRAME, owner),
#else
		UP_TO(FRAME, f_back), UP_TO(FRAME, f_code), UP_TO(FRAME, f_lasti),
#endif
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		size = ends[i] > size ? ends[i] : size;
	printf("\t{ .python = {\n");
	AT(interpreters, _PyRuntimeState, interpreters.head);
	AT(next_interpreter, PyInterpreterState, next);
	AT(first_thread, PyInterpreterState, THREADS);
	AT(next_thread, PyThreadState, next);
	AT(thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030b0000
	AT(thread_frame, PyThreadState, cframe);
	IS(c_frame, offsetof(_PyCFrame, current_frame) + 1);
	AT(c_previous, _PyCFrame, previous);
	IS(frame_size, size);
	AT(previous, FRAME, previous);
	AT(code, FRAME, f_code);
	AT(position, FRAME, prev_instr);
	IS(position_size, SIZE(FRAME, prev_instr));
#else
	AT(thread_frame, PyThreadState, frame);
	IS(frame_size, size);
	AT(previous, FRAME, f_back);
	AT(code, FRAME, f_code);
	AT(position, FRAME, f_lasti);
	IS(position_size, SIZE(FRAME, f_lasti));
#endif
#if PY_VERSION_HEX >= 0x030c0000
	AT(entry, FRAME, owner);
	printf("\t\t.entry_kind = DP_PYTHON_ENTRY_LINK,\n");
	IS(link, FRAME_OWNED_BY_CSTACK);
#elif PY_VERSION_HEX >= 0x030b0000
	AT(entry, FRAME, is_entry);
	printf("\t\t.entry_kind = DP_PYTHON_ENTRY_FLAG,\n");
#else
	printf("\t\t.entry_kind = DP_PYTHON_ENTRY_EACH,\n");
#endif
	AT(name, PyCodeObject, co_name);
	AT(line, PyCodeObject, co_firstlineno);
	AT(hash, PyASCIIObject, hash);
	printf("\t  }, .names = {\n");
	IS(version, PY_MAJOR_VERSION << 8 | PY_MINOR_VERSION);
#if PY_VERSION_HEX >= 0x030b0000
	AT(qualname, PyCodeObject, co_qualname);
	AT(instructions, PyCodeObject, co_code_adaptive);
#endif
	AT(filename, PyCodeObject, co_filename);
#if PY_VERSION_HEX >= 0x030a0000
	AT(lines, PyCodeObject, co_linetable);
#else
	AT(lines, PyCodeObject, co_lnotab);
#endif
	AT(string_size, PyASCIIObject, length);
	AT(string_state, PyASCIIObject, state);
	IS(string_ascii, sizeof(PyASCIIObject));
	IS(string_text, sizeof(PyCompactUnicodeObject));
	AT(bytes_size, PyVarObject, ob_size);
	AT(bytes, PyBytesObject, ob_sval);
	IS(string_kind, kind_bit());
	printf("\t  } },\n");
}
"""

PUBLISHED = r"""
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030e0000
#define ENTRY_OWNER FRAME_OWNED_BY_INTERPRETER
#else
#define ENTRY_OWNER FRAME_OWNED_BY_CSTACK
#endif
#define AT(name, member) printf("\t  ." #name " = %zu,\n", offsetof(struct _Py_DebugOffsets, member))
#define IS(name, value) printf("\t  ." #name " = %zu,\n", (size_t)(value))
""" + KIND_BIT + r"""
#ifdef Py_GIL_DISABLED
int main(void)
{
	IS(string_kind_free, kind_bit());
	printf("\t},\n");
}
#else
int main(void)
{
	printf("\t{ .version = %d,\n", PY_MAJOR_VERSION << 8 | PY_MINOR_VERSION);
	IS(size, sizeof(struct _Py_DebugOffsets));
	IS(link, ENTRY_OWNER);
	IS(string_kind, kind_bit());
	AT(free_threaded, free_threaded);
	AT(interpreters, runtime_state.interpreters_head);
	AT(next_interpreter, interpreter_state.next);
	AT(first_thread, interpreter_state.threads_head);
	AT(next_thread, thread_state.next);
	AT(thread_id, thread_state.thread_id);
	AT(thread_frame, thread_state.current_frame);
	AT(previous, interpreter_frame.previous);
	AT(code, interpreter_frame.executable);
	AT(position, interpreter_frame.instr_ptr);
	AT(entry, interpreter_frame.owner);
#if PY_VERSION_HEX >= 0x030e0000
	AT(copies, code_object.co_tlbc);
	AT(copy, interpreter_frame.tlbc_index);
#endif
	AT(name, code_object.name);
	AT(line, code_object.firstlineno);
	AT(qualname, code_object.qualname);
	AT(filename, code_object.filename);
	AT(lines, code_object.linetable);
	AT(instructions, code_object.co_code_adaptive);
	AT(string_size, unicode_object.length);
	AT(string_state, unicode_object.state);
	AT(string_ascii, unicode_object.asciiobject_size);
	AT(bytes_size, bytes_object.ob_size);
	AT(bytes, bytes_object.ob_sval);
#if PY_VERSION_HEX >= 0x030e0000
	AT(tasks.type, pyobject.ob_type);
	AT(tasks.type_name, type_object.tp_name);
	AT(tasks.type_flags, type_object.tp_flags);
	AT(tasks.set_mask, set_object.mask);
	AT(tasks.set_table, set_object.table);
	AT(tasks.digits, long_object.ob_digit);
	AT(tasks.next_node, llist_node.next);
	AT(tasks.generator_frame, gen_object.gi_iframe);
	AT(tasks.generator_state, gen_object.gi_frame_state);
	AT(tasks.stack, interpreter_frame.stackpointer);
	/* _PyGen_yf() in Objects/genobject.c */
	IS(tasks.awaited_slot, PY_VERSION_HEX >= 0x030f0000 ? 2 : 1);
	IS(tasks.generator, FRAME_OWNED_BY_GENERATOR);
	printf("\t  .tasks.awaiting = %d,\n", FRAME_SUSPENDED_YIELD_FROM);
#if PY_VERSION_HEX >= 0x030f0000
	printf("\t  .tasks.ended = %d,\n", FRAME_CLEARED);
#else
	printf("\t  .tasks.ended = %d,\n", FRAME_COMPLETED);
#endif
#endif
}
#endif
"""

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/python/layouts.py from the headers of each version. Rows of struct {}. */
/* clang-format off */
"""


def rows(program_text, include, *options):
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w") as to:
            to.write(program_text)
        subprocess.run(["cc", "-w", *options, "-I", include, "-I", os.path.join(include, "internal"), "-I", os.path.dirname(include),
                        "-o", program, source], check=True)
        return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout


def main():
    are_published = sys.argv[1:2] == ["--published"]
    includes = sys.argv[2 if are_published else 1:]
    if not includes or includes[0].startswith("-"):
        sys.exit(__doc__)
    if are_published:
        # What is published is the same without the lock of the interpreter.
        made = [rows(PUBLISHED, include) + rows(PUBLISHED, include, "-DPy_GIL_DISABLED") for include in includes]
    else:
        made = [rows(PROGRAM, include) for include in includes]
    made.sort(key=lambda text: int(re.search(r"version = (\d+)", text)[1]))
    head = HEAD.format("published" if are_published else "dp_runtime_image")
    # Where clang-format puts it.
    tail = ("\t" if are_published else "") + "/* clang-format on */\n"
    sys.stdout.write(head + "".join(made) + tail)


if __name__ == "__main__":
    main()
