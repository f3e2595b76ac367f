// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_record.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/arch.h"

#define MAGIC 0x4a695444u /* "JiTD" in the writer's byte order */
#define VERSION 1

const uint8_t *jit_window_get(struct jit_window *w, int fd, uint64_t at, size_t size)
{
	size_t want = size > JIT_WINDOW_SIZE ? size : JIT_WINDOW_SIZE;
	uint8_t *bytes;
	ssize_t n;

	if (at >= w->start && at - w->start <= w->size && size <= w->size - (at - w->start))
		return w->bytes + (at - w->start);
	if (w->room < want) {
		bytes = realloc(w->bytes, want);
		if (!bytes)
			return NULL;
		w->bytes = bytes;
		w->room = want;
	}
	n = pread(fd, w->bytes, w->room, (off_t)at);
	w->start = at;
	w->size = n > 0 ? (size_t)n : 0;
	return size <= w->size ? w->bytes : NULL;
}

int jit_header_read(int fd, struct jit_file_header *ret)
{
	if (pread(fd, ret, sizeof(*ret), 0) != sizeof(*ret))
		return 0;
	if (ret->magic != MAGIC || ret->version != VERSION || ret->machine != DP_ELF_MACHINE ||
	    ret->size < sizeof(*ret))
		return -ENOEXEC;
	return 1;
}
