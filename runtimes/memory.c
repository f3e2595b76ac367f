// SPDX-License-Identifier: Apache-2.0
#include "runtimes/memory.h"

#include <errno.h>
#include <string.h>

int memory_read(const struct runtime_memory *m, uint64_t address, void *ret, size_t size)
{
	return m->read(m->arg, ret, size, address);
}

int memory_word(const struct runtime_memory *m, uint64_t address, uint64_t *ret)
{
	return memory_read(m, address, ret, sizeof(*ret));
}

int memory_half(const struct runtime_memory *m, uint64_t address, uint32_t *ret)
{
	return memory_read(m, address, ret, sizeof(*ret));
}

int memory_text(const struct runtime_memory *m, uint64_t address, uint64_t n,
		char ret[RUNTIME_NAME_SIZE])
{
	int err;

	n = n < RUNTIME_NAME_SIZE ? n : RUNTIME_NAME_SIZE - 1;
	err = n > 0 ? memory_read(m, address, ret, n) : 0;
	ret[err < 0 ? 0 : n] = '\0';
	return err;
}

void memory_forget(const struct runtime_memory *m)
{
	if (m->forget)
		m->forget(m->arg);
}

int memory_check_tag(const struct runtime_memory *m, const struct dp_chain *chain,
		     const struct dp_runtime_frame *frame)
{
	uint64_t at = frame->code, first, second;
	int err = chain->tagged ? memory_word(m, at + chain->tagged - 1, &at) : 0;

	if (err == 0)
		err = memory_word(m, at + chain->tags[0], &first);
	if (err == 0)
		err = memory_word(m, at + chain->tags[1], &second);
	if (err == 0 && chain_tag(first, second) != frame->tag)
		err = -ESTALE;
	return err;
}
