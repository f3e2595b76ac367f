// SPDX-License-Identifier: Apache-2.0
#include "elf/bus_guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "bpf/arch.h"
#include "elf/fault.h"
#include "limits/limits.h"

#define PAGE_SIZE ((uintptr_t)DP_USER_PAGE_SIZE)

static unsigned int n_repaired;
/* Who is confined would ask in vain each time, and a namer another process. */
static bool is_unreadable;

static bool is_data_read(const siginfo_t *info, const ucontext_t *context)
{
	struct dl_find_object object;

	/* BUS_ADRERR: the file has no such page. Other codes are for broken memory or kill(). */
	return info->si_code == BUS_ADRERR && fault_is_read(context) &&
	       _dl_find_object(info->si_addr, &object) < 0;
}

/* A list that is read in pieces. */
struct text {
	int fd;
	ssize_t n, at;
	char bytes[1024];
};

/* -1: there is no more. */
static int next_character(struct text *t)
{
	if (t->at == t->n) {
		t->at = 0;
		t->n = read(t->fd, t->bytes, sizeof(t->bytes));
	}
	return t->n <= 0 ? -1 : t->bytes[t->at++];
}

/* A hexadecimal number, and what follows it. */
static uintptr_t next_number(struct text *t)
{
	uintptr_t value = 0;
	int c;

	while (c = next_character(t), (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))
		value = value << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	return value;
}

/* Where the mapping with an address ends; 0: not known, as where nothing may be opened. */
static uintptr_t find_end(uintptr_t address)
{
	struct text list = { .fd = -1 };
	uintptr_t start, end = 0;
	int c = '\n';

	if (!__atomic_load_n(&is_unreadable, __ATOMIC_RELAXED))
		list.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (list.fd < 0) {
		if (errno == EACCES || errno == EPERM)
			__atomic_store_n(&is_unreadable, true, __ATOMIC_RELAXED);
		return 0;
	}
	while (c == '\n') {
		start = next_number(&list);
		end = next_number(&list);
		if (address >= start && address < end)
			break;
		end = 0;
		while (c = next_character(&list), c >= 0 && c != '\n')
			;
	}
	close(list.fd);
	return end;
}

/* All that it calls are just system calls. */
bool bus_guard_repair(const siginfo_t *info, const void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(PAGE_SIZE - 1), end = 0;
	int saved = errno;
	bool is_repaired;

	if (!is_data_read(info, context))
		return false;
	if (__atomic_add_fetch(&n_repaired, 1, __ATOMIC_RELAXED) > BUS_GUARD_MAX_PAGES)
		end = find_end(page);
	is_repaired = mmap((void *)page, end > page ? end - page : PAGE_SIZE, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
	errno = saved;
	return is_repaired;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	if (bus_guard_repair(info, context))
		return;
	/* The same access faults again and ends the program. */
	signal(number, SIG_DFL);
	if (info->si_code <= 0)
		raise(number); /* it was sent, so it would not come again */
}

int bus_guard_install(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}
