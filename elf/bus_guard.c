// SPDX-License-Identifier: Apache-2.0
#include "elf/bus_guard.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "bpf/arch.h"
#include "elf/fault.h"

#define PAGE_SIZE ((uintptr_t)DP_USER_PAGE_SIZE)

static bool is_data_read(const siginfo_t *info, const ucontext_t *context)
{
	struct dl_find_object object;

	/* BUS_ADRERR: the file has no such page. Other codes are for broken memory or kill(). */
	return info->si_code == BUS_ADRERR && fault_is_read(context) &&
	       _dl_find_object(info->si_addr, &object) < 0;
}

/* mmap() is just a system call. */
bool bus_guard_repair(const siginfo_t *info, const void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & ~(PAGE_SIZE - 1));
	int saved = errno;
	bool is_repaired = is_data_read(info, context) &&
			   mmap(page, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				-1, 0) != MAP_FAILED;

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
