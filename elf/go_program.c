// SPDX-License-Identifier: Apache-2.0
#include "elf/go_program.h"

#include <errno.h>
#include <stdlib.h>

#include "elf/elf_open.h"
#include "elf/go_tables.h"

struct go_program {
	Elf *elf;
	struct go_file tables;
};

int go_program_new(int fd, struct go_program **ret)
{
	struct go_program *program = calloc(1, sizeof(*program));
	int err = -ENOENT;

	if (!program)
		return -ENOMEM;
	program->elf = elf_open(fd);
	if (program->elf)
		err = go_tables_read(program->elf, &program->tables);
	if (err < 0) {
		go_program_free(program);
		return err;
	}
	*ret = program;
	return 0;
}

struct go_program *go_program_free(struct go_program *program)
{
	if (!program)
		return NULL;
	go_file_done(&program->tables);
	elf_end(program->elf);
	free(program);
	return NULL;
}

const struct go_file *go_program_tables(const struct go_program *program)
{
	return &program->tables;
}
