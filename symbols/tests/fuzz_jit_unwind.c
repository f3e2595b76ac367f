// SPDX-License-Identifier: Apache-2.0
/*
 * Reads any bytes as a jitdump with unwind information, or behind a byte that is odd, as a copy of frames that are
 * registered. Reading ends with one of the documented errors, or with a program that is no larger than it may be, has
 * code, and from which a table can be built or not.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "elf/elf_file.h"
#include "elf/frames_object.h"
#include "limits/limits.h"
#include "symbols/jit_unwind.h"

static int read_dump(const uint8_t *bytes, size_t size, uint8_t **ret, size_t *ret_size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	err = jit_unwind_read(fd, ret, ret_size);
	close(fd);
	return err;
}

static void check_program(const uint8_t *program, size_t size)
{
	struct elf_file file;

	EXPECT(size <= 2 * JIT_OBJECT_SIZE);
	EXPECT(elf_file_init_memory(&file, program, size) == 0);
	EXPECT(file.n_segments > 0 && file.n_segments <= FRAMES_MAX_CODE);
	for (size_t i = 0; i < file.n_segments; i++)
		EXPECT(file.segments[i].executable && file.segments[i].memory_size > 0);
	for (size_t i = 1; i < file.n_segments; i++)
		EXPECT(file.segments[i].address >
		       file.segments[i - 1].address + file.segments[i - 1].memory_size);
	elf_file_done(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *program;
	size_t program_size;
	int err;

	if (size > 0 && bytes[0] % 2 != 0)
		err = frames_object_link(bytes + 1, size - 1, &program, &program_size);
	else
		err = read_dump(bytes + (size > 0), size - (size > 0), &program, &program_size);
	EXPECT(err == 0 || err == -ENODATA || err == -EFBIG || err == -ENOEXEC || err == -EBADMSG);
	if (err < 0)
		return 0;
	check_program(program, program_size);
	free(program);
	return 0;
}
