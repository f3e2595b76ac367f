// SPDX-License-Identifier: Apache-2.0
/*
 * Reads any bytes as a perf map (from the second byte on, if the first is even) or as a jitdump.
 * Reading ends with one of the documented errors, and each piece of code that is found contains the
 * address. A file that arrives in two parts gives the same result as a complete one.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "limits/limits.h"
#include "symbols/jit_reader.h"

static int file_of(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

/* All that there is. */
static int read_on(enum jit_kind kind, int fd, struct jit_position *at, struct jit_index *index)
{
	int more = 1;

	while (more > 0) {
		struct jit_pieces pieces = { .bytes = NULL };

		more = jit_file_read(kind, fd, at, &pieces);
		EXPECT(pieces.n < JIT_PIECES_MAX &&
		       jit_pieces_place(&pieces, SIZE_MAX, index) == 0);
		jit_pieces_done(&pieces);
	}
	return more;
}

/* Reads a first part, then the rest. */
static int read_in_two(const uint8_t *bytes, size_t size, size_t first, struct jit_index *index)
{
	enum jit_kind kind = size == 0 || bytes[0] % 2 == 0 ? JIT_MAP : JIT_DUMP;
	size_t skip = size > 0;
	int fd = file_of(bytes + skip, first - skip), err;
	struct jit_position at = { 0 };

	err = read_on(kind, fd, &at, index);
	if (write(fd, bytes + first, size - first) != (ssize_t)(size - first))
		abort();
	if (err == 0)
		err = read_on(kind, fd, &at, index);
	close(fd);
	return err;
}

static void check_all(struct jit_index *index)
{
	for (size_t i = 0; i < index->n_codes && i < 64; i++)
		EXPECT(index->codes[i].name && index->codes[i].size > 0);
	for (uint64_t address = 0; address < 0x4000; address += 37) {
		uint64_t offset = UINT64_MAX;
		uint32_t code = jit_index_find(index, address, UINT64_MAX, &offset);

		if (code == JIT_CODE_NONE)
			code = jit_index_find(index, address, 1000, &offset);
		if (code != JIT_CODE_NONE)
			EXPECT(code < index->n_codes && offset < index->codes[code].size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct jit_index whole = { 0 }, parts = { 0 };
	size_t middle = size / 2 > 0 ? size / 2 : size;
	int err;

	err = read_in_two(bytes, size, size, &whole);
	EXPECT(err == 0 || err == -EBADMSG || err == -ENOEXEC);
	EXPECT(read_in_two(bytes, size, middle, &parts) == err);
	EXPECT(whole.n_codes == parts.n_codes);
	check_all(&whole);
	check_all(&parts);
	jit_index_done(&whole);
	jit_index_done(&parts);
	return 0;
}
