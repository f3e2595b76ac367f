// SPDX-License-Identifier: Apache-2.0
#include "tables/disassembly.h"

#include <ctype.h>
#include <string.h>

static bool is_sound(const struct code_line *line)
{
	size_t n = strnlen(line->text, sizeof(line->text));

	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)line->text[i]))
			return false;
	return n > 0 && n < sizeof(line->text) && line->size > 0 && line->is_branch <= 1 &&
	       line->is_system_call <= 1;
}

bool code_lines_are_sound(const struct code_line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_sound(&lines[i]) || lines[i].address + lines[i].size < lines[i].address ||
		    (i > 0 && lines[i].address != lines[i - 1].address + lines[i - 1].size))
			return false;
	return true;
}
