// SPDX-License-Identifier: Apache-2.0
/*
 * perf's side-band with several listeners, whose records can have a wrong size, overflowing rings,
 * and CPUs that come and go; the kernel's own addresses and names of BPF programs are the
 * expectation.
 */
#include <bpf/bpf.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/root_main.h"
#include "process/sideband.h"
#include "process/tests/process_world.h"
#include "symbols/kallsyms.h"

/* Listeners at the same time: all but the last get some records with too large a size. */
#define N_LISTENERS 4

/* More than a ring has room for. */
#define N_MAPPINGS 6000
#define N_AT_ONCE 200

static struct sideband *listeners[N_LISTENERS];
static struct kallsyms *kallsyms;

static void begin_listening(void)
{
	cpu_set_t first;

	begin();
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	cr_assert(sched_setaffinity(0, sizeof(first), &first) == 0);
	cr_assert(kallsyms_new_unread(some_names(), "/dev/null", &kallsyms) == 0);
	for (int i = 0; i < N_LISTENERS; i++)
		cr_assert(sideband_new(1, &listeners[i]) == 0);
	sideband_tell_kallsyms(listeners[0], kallsyms);
}

static void end_listening(void)
{
	for (int i = 0; i < N_LISTENERS; i++)
		sideband_free(listeners[i]);
	kallsyms_free(kallsyms);
	end();
}

TestSuite(sideband, .init = begin_listening, .fini = end_listening, .timeout = 60);

static void drain(void)
{
	for (int i = 0; i < N_LISTENERS; i++)
		cr_assert(sideband_drain(listeners[i], &table) == 0);
}

/* Fills the rings with records of mappings, which contain paths. */
static void fill_rings(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert(fd >= 0);
	for (int i = 0; i < N_MAPPINGS; i++) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		cr_assert(p != MAP_FAILED);
		munmap(p, 4096);
		if (i % N_AT_ONCE == 0)
			drain();
	}
	close(fd);
	drain();
}

/* Loads an empty program. Returns its descriptor and its address. */
static int load_program(const char *name, uint64_t *ret_address)
{
	/* r0 = 0; exit */
	const struct bpf_insn code[] = { { .code = 0xb7 }, { .code = 0x95 } };
	struct bpf_prog_info info = { .nr_jited_ksyms = 1, .jited_ksyms = (uintptr_t)ret_address };
	uint32_t size = sizeof(info);
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, name, "GPL", code, 2, NULL);

	cr_assert(fd >= 0, "cannot load a program: %d", fd);
	cr_assert(bpf_obj_get_info_by_fd(fd, &info, &size) == 0);
	return fd;
}

/* Others may load programs meanwhile, but not without end. */
static bool all_is_applied(void)
{
	for (int turn = 0; turn < 1000; turn++) {
		bool is_behind = false;

		drain();
		for (int i = 0; i < N_LISTENERS; i++)
			is_behind |= sideband_is_behind(listeners[i]);
		if (!is_behind)
			return true;
		usleep(1000);
	}
	return false;
}

/* A CPU that comes online again has new rings: records in the old ones are kept. */
Test(sideband, cpus_come_and_go)
{
	for (unsigned int turn = 0; turn < 3; turn++) {
		const char *names[] = { "before", "after" };

		for (size_t i = 0; i < 2; i++) {
			uint64_t address = 0, offset;
			int fd = load_program(names[i], &address);
			const char *name;

			if (i == 0)
				sideband_drop_cpu(listeners[0], 0);
			cr_assert(all_is_applied());
			name = kallsyms_find(kallsyms, address, &offset);
			cr_assert(name && offset == 0 && strstr(name, names[i]), "%s", names[i]);
			if (i == 0)
				cr_assert_eq(sideband_add_cpu(listeners[0], 0), 0);
			cr_assert(sideband_take_loss(listeners[0]) == (i == 0), "%s", names[i]);
			close(fd);
		}
	}
	/* A CPU that goes offline twice, and one that comes online twice. */
	sideband_drop_cpu(listeners[0], 0);
	sideband_drop_cpu(listeners[0], 0);
	cr_assert_eq(sideband_add_cpu(listeners[0], 0), 0);
	cr_assert_eq(sideband_add_cpu(listeners[0], 0), 0);
}

Test(sideband, others_may_listen)
{
	fill_rings();
	for (size_t length = 1; length < BPF_OBJ_NAME_LEN; length++) {
		const char *wanted = &"listened_to_bpf"[BPF_OBJ_NAME_LEN - 1 - length], *name;
		uint64_t address = 0, offset;
		int fd = load_program(wanted, &address);

		cr_assert(all_is_applied(), "a record is never applied");
		cr_assert(address != 0, "the kernel does not show where its programs are");
		name = kallsyms_find(kallsyms, address, &offset);
		cr_assert(name && offset == 0, "%lx", address);
		cr_assert_str_eq(name + strlen(name) - length, wanted);
		close(fd);
	}
}
