// SPDX-License-Identifier: Apache-2.0
#include "binaries/binary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binaries/foreign_file.h"
#include "kernel/exception_probes.h"
#include "limits/limits.h"
#include "log/log.h"

void binary_unmap(struct binary *b)
{
	if (b->bytes && b->bytes != b->module->memory)
		munmap((void *)b->bytes, b->n_bytes);
	b->bytes = NULL;
	b->n_bytes = 0;
}

void binary_free(struct binary *binary)
{
	if (!binary)
		return;
	binary_unmap(binary);
	exception_probe_free(binary->probe);
	if (binary->is_foreign)
		foreign_file_close(steal_fd(&binary->module->fd));
	elf_facts_done(&binary->elf);
	module_free(binary->module);
	free(binary);
}

static const char *runtime_word(const struct binary *b)
{
	static const char *const words[] = {
#define X(name, word) word,
		DP_RUNTIMES(X)
#undef X
	};

	return words[b->table->runtime_kind & ~DP_RUNTIME_UNKNOWN];
}

/* n: how often something like that has been told. */
static int level_of(size_t *n)
{
	return (*n)++ < PARSERS_SHOWN_FAILURES ? LOG_WARNING : LOG_DEBUG;
}

void binary_use(struct binary *b)
{
	if (b->is_sampled)
		return;
	b->is_sampled = true;
	if (b->table && b->table->runtime_kind & DP_RUNTIME_UNKNOWN)
		log_message(
			level_of(b->n_unknown_runtimes),
			"%s: its runtime (%s) is of an unknown version: only native functions are shown",
			b->module->path, runtime_word(b));
}

void binary_tell_third(struct binary *b, pid_t pid)
{
	if (b->is_told_third)
		return;
	b->is_told_third = true;
	log_message(
		level_of(b->n_third_runtimes),
		"%s: its runtime (%s) is the third of process %d: only native functions are shown",
		b->module->path, runtime_word(b), pid);
}

void binary_hold(struct binary *b)
{
	if (!b)
		return;
	b->n_users++;
	table_hold(b->table);
}

void binary_drop(struct binary *b)
{
	if (!b)
		return;
	b->n_users--;
	table_drop(b->table);
	if ((b->err == 0 && !b->same) || b->n_users > 0)
		return;
	binary_drop(b->same);
	binary_free(b);
}

/*
 * Whether all its pages are in memory. The kernel reports pages as resident if the caller may not
 * know (mincore(2)), and a page may be evicted before its use; reading it then waits.
 */
static bool is_in_memory(const uint8_t *from, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)from & ~(page - 1), end = (uintptr_t)from + size;
	unsigned char is_there;

	for (uintptr_t at = start; at < end; at += page)
		if (mincore((void *)at, page, &is_there) < 0 || !(is_there & 1))
			return false;
	return true;
}

/*
 * Whoever may write to the file can cut it off while it is mapped. Then this fails, where reading the
 * page would end the process: a library's host has no elf/bus_guard.h. -ENOENT: it is gone.
 */
static int copy_own(const uint8_t *from, size_t n, uint8_t *ret)
{
	const struct iovec local = { ret, n }, remote = { (void *)from, n };
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	if (got < 0 && (errno == ENOSYS || errno == EPERM)) { /* as in a filter of seccomp */
		memcpy(ret, from, n);
		return 0;
	}
	return got == (ssize_t)n ? 0 : -ENOENT;
}

int binary_read_before(const struct binary *b, uint64_t end, void *ret, size_t size)
{
	uint64_t offset;
	size_t n;

	if (elf_facts_code_before(&b->elf, end, size, &offset, &n) < 0)
		return -ENOENT;
	if (b->is_foreign && !b->bytes && b->closed_ns == 0)
		return -EAGAIN;
	if (offset > b->n_bytes || n > b->n_bytes - offset)
		return -ENOENT;
	if (b->is_foreign && !is_in_memory(b->bytes + offset, n))
		return -EAGAIN;
	memset(ret, 0, size - n);
	return copy_own(b->bytes + offset, n, (uint8_t *)ret + size - n);
}

/* An open descriptor prevents other files of the file system from getting the same inode. */
bool binary_is_unchanged(const struct binary *b)
{
	struct file_id id;
	uint64_t changed_ns;

	return b->module->fd >= 0 && file_identify(b->module->fd, false, &id, &changed_ns) == 0 &&
	       memcmp(&id, &b->id, sizeof(id)) == 0;
}
