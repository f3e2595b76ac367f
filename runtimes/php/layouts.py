#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the layouts of PHP's structures, from each version's own headers.

usage: runtimes/php/layouts.py INCLUDE... >runtimes/php/layouts.h

INCLUDE: the directories of headers of versions without threads (ZTS). What is in layouts.h was made from
those of Debian 12's php8.2-dev, and of php8.4-dev 8.4.27-1, unpacked:

    runtimes/php/layouts.py /usr/include/php/20220829 usr/include/php/20240924 >runtimes/php/layouts.h

A structure's layout does not change while ZEND_MODULE_API_NO, to which extensions are compiled, is the same.
"""
import os
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <php.h>
#include <stddef.h>
#include <stdio.h>
#ifdef ZTS
#error "with threads, each has its own executor_globals"
#endif
#define AT(name, type, member) printf("\t\t." #name " = %zu,\n", offsetof(type, member))
#define IS(name, value) printf("\t\t." #name " = %zu,\n", (size_t)(value))
int main(void)
{
	printf("\t{ .chain = {\n");
	AT(variable, zend_executor_globals, current_execute_data);
	IS(frame_size, offsetof(zend_execute_data, prev_execute_data) + sizeof(zend_execute_data *));
	AT(next, zend_execute_data, prev_execute_data);
	AT(code, zend_execute_data, func);
	AT(position, zend_execute_data, opline);
	AT(flags, zend_execute_data, This.u1.type_info);
	IS(entry, ZEND_CALL_TOP);
	IS(native, ZEND_INTERNAL_FUNCTION);
	IS(fleeting, ZEND_ACC_CLOSURE | ZEND_ACC_HEAP_RT_CACHE | ZEND_ACC_TRAIT_CLONE);
	AT(tags[0], zend_op_array, function_name);
	AT(tags[1], zend_op_array, opcodes);
	IS(file, offsetof(zend_op_array, filename) + 1);
	AT(hash, zend_string, h);
	AT(n_steps, zend_op_array, last);
	AT(first_line, zend_op_array, line_start);
	IS(step_size, sizeof(zend_op));
	AT(step_line, zend_op, lineno);
	AT(scope, zend_op_array, scope);
	AT(class_name, zend_class_entry, name);
	printf("\t  }, .php = {\n");
	IS(api, ZEND_MODULE_API_NO);
	AT(function, zend_op_array, function_name);
	AT(scope, zend_op_array, scope);
	AT(file, zend_op_array, filename);
	AT(first_line, zend_op_array, line_start);
	AT(instructions, zend_op_array, opcodes);
	AT(n_instructions, zend_op_array, last);
	IS(instruction_size, sizeof(zend_op));
	AT(line, zend_op, lineno);
	AT(class_name, zend_class_entry, name);
	AT(string_size, zend_string, len);
	AT(string_text, zend_string, val);
	printf("\t  } },\n");
	return 0;
}
"""

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/php/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
"""


def layout(directory):
    includes = ["-I" + os.path.join(directory, name) for name in ("", "main", "TSRM", "Zend", "ext")]
    with tempfile.TemporaryDirectory() as place:
        source, program = os.path.join(place, "layout.c"), os.path.join(place, "layout")
        with open(source, "w", encoding="utf-8") as to:
            to.write(PROGRAM)
        subprocess.run(["gcc", "-w", *includes, source, "-o", program], check=True)
        return subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.stdout.write(HEAD + "".join(map(layout, sys.argv[1:])) + "/* clang-format on */\n")


if __name__ == "__main__":
    main()
