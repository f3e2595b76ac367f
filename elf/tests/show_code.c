// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the instructions of all code of a file, one a line: `ADDRESS:<tab>TEXT`.
 *
 * usage: show_code FILE
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/code_lines.h"

/* False: something went wrong. */
static bool show(const struct elf_file *file, uint64_t start, uint64_t end)
{
	while (start < end) {
		struct code_line *lines;
		size_t n;

		if (code_lines_read(file, start, end, &lines, &n) < 0)
			return false;
		for (size_t i = 0; i < n; i++)
			printf("%" PRIx64 ":\t%s\n", lines[i].address, lines[i].text);
		start = lines[n - 1].address + lines[n - 1].size;
		free(lines);
	}
	return true;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct elf_file file;
	bool is_open = fd >= 0 && elf_file_init_fd_only(&file, fd) == 0, ok = is_open;

	for (size_t i = 0; ok && i < file.n_code_sections; i++) {
		const struct elf_section *s = &file.code_sections[i];

		ok = show(&file, s->address, s->address + s->size);
	}
	if (is_open)
		elf_file_done(&file);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
