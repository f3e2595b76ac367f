// SPDX-License-Identifier: Apache-2.0
#include "sandbox/process_memory.h"

#include <errno.h>
#include <string.h>

#include "sandbox/fetchers.h"

#define PAGE ((uint64_t)sizeof(((struct process_memory_page *)0)->bytes))

/* Not the address of a page. */
#define NO_PAGE 1

void process_memory_init(struct process_memory *m, struct fetchers *fetchers, pid_t pid)
{
	m->fetchers = fetchers;
	m->pid = pid;
	m->err = 0;
	process_memory_forget(m);
}

void process_memory_forget(struct process_memory *m)
{
	for (size_t i = 0; i < PROCESS_MEMORY_PAGES; i++)
		m->pages[i].address = NO_PAGE;
}

static struct process_memory_page *find_page(struct process_memory *m, uint64_t address)
{
	struct process_memory_page *p = &m->pages[address / PAGE % PROCESS_MEMORY_PAGES];

	if (p->address == address)
		return p;
	p->address = address;
	p->err = fetchers_read(m->fetchers, m->pid, address, p->bytes, PAGE);
	if (p->err == -EPERM || p->err == -ENOSYS)
		m->err = p->err;
	return p;
}

int process_memory_read(void *memory, void *ret, size_t size, uint64_t address)
{
	uint8_t *to = ret;

	while (size > 0) {
		uint64_t offset = address % PAGE;
		size_t part = size < PAGE - offset ? size : PAGE - offset;
		const struct process_memory_page *p = find_page(memory, address - offset);

		if (p->err < 0)
			return p->err;
		memcpy(to, p->bytes + offset, part);
		to += part;
		address += part;
		size -= part;
	}
	return 0;
}
