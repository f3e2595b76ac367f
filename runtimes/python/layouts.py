#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layouts of CPython's structures, from each version's own headers.

usage: runtimes/python/layouts.py INCLUDE... >runtimes/python/layouts.h

INCLUDE: the directories of Python.h, of versions from 3.8 on that do not publish their layout (3.13 and
later do: _Py_DebugOffsets). What is in layouts.h was made from those of pyenv's versions 3.8.18, 3.9.18,
3.10.13, 3.11.7 and 3.12.1:

    runtimes/python/layouts.py ~/.pyenv/versions/3.{8,9,10,11,12}.*/include/python3.* >runtimes/python/layouts.h

A structure's layout does not change within a version: its extensions are compiled for all of its releases.
"""
import os
import re
import subprocess
import sys
import tempfile

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
	printf("\t  } },\n");
}
"""

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/python/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
"""


def rows(include):
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w") as to:
            to.write(PROGRAM)
        subprocess.run(["cc", "-w", "-I", include, "-I", os.path.join(include, "internal"), "-o", program, source],
                       check=True)
        return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    made = [rows(include) for include in sys.argv[1:]]
    made.sort(key=lambda text: int(re.search(r"version = (\d+)", text)[1]))
    sys.stdout.write(HEAD + "".join(made) + "/* clang-format on */\n")


if __name__ == "__main__":
    main()
