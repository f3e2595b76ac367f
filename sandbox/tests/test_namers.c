// SPDX-License-Identifier: Apache-2.0
/*
 * Namers find the same names as this process. What they hold, and what happens when one is killed,
 * takes too long, or gives an answer that no namer gives. This program is also the helper.
 */
#include "log/clock.h"
#include "limits/limits.h"
#include "sandbox/cpu_budget.h"
#include "sandbox/namers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/code_lines.h"
#include "elf/code_pages.h"
#include "elf/elf_file.h"
#include "sandbox/confine.h"
#include "sandbox/finders.h"
#include "sandbox/helper.h"
#include "sandbox/namer.h"
#include "sandbox/tests/helper_test.h"
#include "sandbox/tests/sealed.h"
#include "symbols/location_list.h"
#include "symbols/module.h"
#include "symbols/module_file.h"

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static size_t n_requests; /* to namers */

int __real_message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds);
int __wrap_message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds);

int __wrap_message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds)
{
	n_requests += size == sizeof(struct namer_request);
	return __real_message_send(socket, value, size, fds, n_fds);
}

int __real_namer_take(const struct namer_request *request, const struct namer_reply *r, int file,
		      struct location_cache *to, uint64_t ret_starts[NAMER_MAX_ADDRESSES]);
int __wrap_namer_take(const struct namer_request *request, const struct namer_reply *r, int file,
		      struct location_cache *to, uint64_t ret_starts[NAMER_MAX_ADDRESSES]);

int __wrap_namer_take(const struct namer_request *request, const struct namer_reply *r, int file,
		      struct location_cache *to, uint64_t ret_starts[NAMER_MAX_ADDRESSES])
{
	cr_assert(is_sealed(file), "a namer could change what is read of it");
	return __real_namer_take(request, r, file, to, ret_starts);
}

static time_t used_s; /* CPU time that helpers have used, besides what the clock says */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

/* Clocks of other processes have negative numbers. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = __real_clock_gettime(clock, ret);

	if (clock < 0)
		ret->tv_sec += used_s;
	return err;
}

static struct parsers *parsers;
static struct names *names, *own;
static struct namers *namers;

static void begin(void)
{
	const struct names_options options = { .no_debuginfod = true };

	cr_assert(parsers_new(HELPER_SELF, &parsers) == 0);
	cr_assert(names_new(&options, &names) == 0 && names_new(&options, &own) == 0);
	cr_assert(namers_start(parsers, names, &namers) == 0);
}

static void end(void)
{
	names_free(names);
	names_free(own);
	parsers_drop(parsers);
}

TestSuite(namers, .init = begin, .fini = end, .timeout = 120);

static struct module *open_module(struct names *of, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	cr_assert(fd >= 0, "%s", path);
	return module_new(of, path, "", fd);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Of one address, by both. Returns the number of locations. */
static size_t compare(struct module *a, struct module *b, uint64_t address, bool lines)
{
	const struct source_location *x, *y;
	size_t n = module_find_locations(a, address, lines, &x);
	uint64_t start = 0, other = 0;

	cr_assert_eq(module_find_locations(b, address, lines, &y), n, "%s %#lx", a->path, address);
	for (size_t i = 0; i < n; i++)
		cr_assert(is_same_text(x[i].function, y[i].function) &&
				  is_same_text(x[i].file, y[i].file) && x[i].line == y[i].line &&
				  x[i].column == y[i].column && x[i].inlined == y[i].inlined,
			  "%s %#lx: %s %s", a->path, address, x[i].function, y[i].function);
	cr_assert_eq(module_find_start(a, address, &start), module_find_start(b, address, &other));
	cr_assert_eq(start, other);
	return n;
}

/* This program's own, by what the linker has put into its file. */
static uint64_t offset_of(const void *code)
{
	struct link_map *map = NULL;
	Dl_info info;

	cr_assert(dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) != 0);
	return (uintptr_t)code - map->l_addr;
}

Test(namers, find_what_this_process_finds)
{
	struct module *a = open_module(own, "/proc/self/exe"),
		      *b = open_module(names, "/proc/self/exe");
	uint64_t at = offset_of((void *)main);
	size_t n_named = 0, n_inlined = 0;

	for (uint64_t i = 0; i < 3000; i++)
		module_want(b, at + i * 7, true);
	for (uint64_t i = 0; i < 3000; i++) {
		size_t n = compare(a, b, at + i * 7, true);

		n_named += n > 0;
		n_inlined += n > 1;
	}
	cr_assert_gt(n_named, 2000);
	cr_assert(b->debug == NULL && b->symtab == NULL); /* nothing was read here */
	cr_assert_eq(a->debug != NULL, b->keeps_locations);
	printf("%zu named, %zu inlined\n", n_named, n_inlined);
	compare(a, b, 1, false);
}

/* A parser reads those of files that are there in place of recorded ones. */
Test(namers, tell_recorded_files_apart)
{
	char path[PATH_MAX] = "", build_id[ELF_BUILD_ID_SIZE];
	struct module_file file = { .names = names, .path = path, .build_id = build_id };
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = -1;

	cr_assert(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	elf_file_read_build_id(self, NULL, 0, build_id);
	cr_assert_neq(build_id[0], '\0');
	cr_assert_eq(parsers_layers(parsers), 0);
	cr_assert_eq(module_file_open(&file, NULL, &fd), 0);
	cr_assert_neq(parsers_layers(parsers), 0);
	build_id[0] = build_id[0] == '0' ? '1' : '0';
	cr_assert_eq(module_file_open(&file, NULL, &fd), -ESTALE);
	file.path = "/etc/passwd";
	cr_assert_eq(module_file_open(&file, NULL, &fd), -ESTALE);
}

/* A parser reads them. */
Test(namers, find_where_code_is)
{
	struct module *a = open_module(own, "/proc/self/exe"),
		      *b = open_module(names, "/proc/self/exe"),
		      *none = open_module(names, "/etc/passwd");
	_cleanup_free_ struct code_pages *x = NULL, *y = NULL;
	size_t n = 0, n_found = 0;

	cr_assert(module_find_pages(a, &x, &n) == 0 && n > 0);
	cr_assert_eq(parsers_layers(parsers), 0);
	cr_assert_eq(module_find_pages(b, &y, &n_found), 0);
	cr_assert_neq(parsers_layers(parsers), 0);
	cr_assert_eq(n_found, n);
	cr_assert_arr_eq(x, y, n * sizeof(*x));
	cr_assert_eq(module_find_pages(none, &x, &n), -ENOEXEC);
	/* What is known is not read again. */
	module_set_pages(none, steal_ptr(y), n_found);
	cr_assert_eq(module_find_pages(none, &y, &n), 0);
	cr_assert_eq(n, n_found);
	cr_assert_arr_eq(x, y, n * sizeof(*x));
}

/* A parser does. */
Test(namers, disassemble)
{
	struct module *a = open_module(own, "/proc/self/exe"),
		      *b = open_module(names, "/proc/self/exe"),
		      *none = open_module(names, "/etc/passwd");
	_cleanup_free_ struct code_line *x = NULL, *y = NULL;
	uint64_t at = offset_of((void *)main);
	size_t n = 0, n_found = 0;

	cr_assert_eq(module_disassemble(a, at, at + 64, &x, &n), 0);
	cr_assert(n > 4 && n < 64 && x[0].address == at);
	cr_assert_eq(parsers_layers(parsers), 0);
	cr_assert_eq(module_disassemble(b, at, at + 64, &y, &n_found), 0);
	cr_assert_neq(parsers_layers(parsers), 0);
	cr_assert_eq(n_found, n);
	cr_assert_arr_eq(x, y, n * sizeof(*x));
	free(steal_ptr(y));
	cr_assert_eq(module_disassemble(b, 0, 1, &y, &n), -ENODATA);
	cr_assert_eq(module_disassemble(none, at, at + 64, &y, &n), -ENOEXEC);
}

/* Files that this process only refers to: a finder opens them. */
Test(namers, find_names_in_files_that_finders_open)
{
	struct module *a = open_module(own, "/proc/self/exe"), *b, *lost;
	uint64_t at = offset_of((void *)main);
	const struct source_location *found;
	size_t n_named = 0;

	if (geteuid() != 0)
		cr_skip("finders need CAP_DAC_READ_SEARCH");
	lost = module_new(names, "lost", "", open("/proc/self/exe", O_PATH | O_CLOEXEC));
	cr_assert_eq(module_find_locations(lost, at, false, &found), 0);
	cr_assert_eq(namers_n_failed(namers), 1);
	cr_assert_eq(parsers_use_finders(parsers), 0);
	b = module_new(names, "/proc/self/exe", "", open("/proc/self/exe", O_PATH | O_CLOEXEC));
	b->debug_fd = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	for (uint64_t i = 0; i < 1000; i++)
		n_named += compare(a, b, at + i * 7, true) > 0;
	cr_assert_gt(n_named, 500);
	cr_assert_eq(namers_n_failed(namers), 1);
}

/* As reports do. Returns whether the start of a function without a name is known. */
static bool look_up(struct module *module, uint64_t address)
{
	const struct source_location *found;
	size_t n = module_find_locations(module, address, false, &found);
	bool is_named = n > 0 && found[n - 1].function;
	uint64_t start;

	(void)module_find_locations(module, address, true, &found);
	return !is_named && module_find_start(module, address, &start) == 0;
}

/* A request for each would cost more than finding it. */
Test(namers, answer_about_many_at_once)
{
	struct module *library;
	size_t n_starts = 0;
	Dl_info info;

	cr_assert(dladdr((void *)elf_version, &info) != 0);
	library = open_module(names, info.dli_fname);
	for (uint64_t i = 0; i < NAMER_MAX_ADDRESSES; i++)
		module_want(library, i * 149, true);
	(void)look_up(library, 0);
	n_requests = 0;
	for (uint64_t i = 0; i < NAMER_MAX_ADDRESSES; i++)
		n_starts += look_up(library, i * 149);
	cr_assert_eq(n_requests, 0);
	cr_assert_gt(n_starts, 10);
}

static int compare_library(struct dl_phdr_info *info, size_t size, void *n)
{
	struct module *a, *b;

	(void)size;
	if (info->dlpi_name[0] != '/')
		return 0;
	a = open_module(own, info->dlpi_name);
	b = open_module(names, info->dlpi_name);
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		for (uint64_t at = 0; (info->dlpi_phdr[i].p_flags & PF_X) && at < 40000; at += 1001)
			*(size_t *)n += compare(a, b, info->dlpi_phdr[i].p_vaddr + at, true) > 0;
	module_close(a, true);
	module_close(b, true);
	cr_assert_eq(module_has_source(a), module_has_source(b));
	compare(a, b, info->dlpi_phdr[1].p_vaddr + 5000, false);
	return 0;
}

Test(namers, find_names_of_libraries)
{
	size_t n = 0;

	dl_iterate_phdr(compare_library, &n);
	cr_assert_gt(n, 200);
}

static pid_t namer(void)
{
	pid_t spawner[16], found[16];

	/* One that was killed may take a while to end. */
	while (children(getpid(), spawner) != 1 || children(spawner[0], found) != 1)
		usleep(1000);
	return found[0];
}

Test(namers, are_replaced)
{
	struct module *a = open_module(own, "/proc/self/exe"),
		      *b = open_module(names, "/proc/self/exe");
	uint64_t at = offset_of((void *)main);
	static const int signals[] = { SIGKILL, SIGSTOP };

	for (uint64_t i = 0; i < 4; i++) {
		cr_assert_gt(compare(a, b, at + i, true), 0);
		cr_assert(kill(namer(), signals[i % 2]) == 0);
	}
	cr_assert_gt(compare(a, b, at + 5, true), 0);
	cr_assert_eq(namers_n_failed(namers), 0);
}

Test(namers, are_ended_if_idle)
{
	struct module *a = open_module(own, "/proc/self/exe"),
		      *b = open_module(names, "/proc/self/exe");
	uint64_t at = offset_of((void *)main);
	pid_t first;

	cr_assert_gt(compare(a, b, at, true), 0);
	first = namer();
	names_rest(names, UINT64_C(3600000000000));
	cr_assert_eq(namer(), first);
	names_rest(names, 0);
	cr_assert_gt(compare(a, b, at + 1, true), 0);
	cr_assert_neq(namer(), first);
	cr_assert_eq(namers_n_failed(namers), 0);
}

static int nice_of_namer_for(struct names *of)
{
	struct module *m = open_module(of, "/proc/self/exe");
	const struct source_location *found;

	cr_assert_gt(module_find_locations(m, offset_of((void *)main), true, &found), 0);
	return getpriority(PRIO_PROCESS, (id_t)namer());
}

Test(namers, go_last_if_told)
{
	const struct names_options options = { .no_debuginfod = true, .go_last = true };
	struct names *last;
	struct namers *theirs;

	cr_assert(names_new(&options, &last) == 0 && namers_start(parsers, last, &theirs) == 0);
	cr_assert_eq(nice_of_namer_for(last), 10);
	names_free(last);
	cr_assert_eq(nice_of_namer_for(names), getpriority(PRIO_PROCESS, 0));
}

/* Only the binary that it computes for. */
Test(namers, may_not_take_too_long)
{
	struct module *a = open_module(names, "/proc/self/exe"),
		      *b = open_module(names, "/proc/self/exe");
	uint64_t at = offset_of((void *)main);
	const struct source_location *found;

	cr_assert_gt(module_find_locations(b, at, true, &found), 0);
	namers_set_time_limit(namers, 0);
	while (namers_n_failed(namers) == 0)
		(void)module_find_locations(a, at++, true, &found);
	namers_set_time_limit(namers, NAMERS_TIME_NS);
	cr_assert_eq(module_find_locations(a, at, true, &found), 0);
	cr_assert_gt(module_find_locations(b, at + 50, true, &found), 0);
	cr_assert_eq(namers_n_failed(namers), 1);
}

/* With one that may not answer, others of the user's are not tried for a while. */
Test(namers, cost_the_user_of_what_takes_too_long)
{
	enum { USER = 65432 };
	_cleanup_close_ int other = memfd_create("other", MFD_CLOEXEC);
	const struct source_location *found;
	struct found_file file;

	if (geteuid() != 0)
		cr_skip("finders need CAP_DAC_READ_SEARCH");
	cr_assert_eq(parsers_use_finders(parsers), 0);
	namers_set_time_limit(namers, 0);
	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++) {
		struct module *m = module_new(names, "/proc/self/exe", "",
					      open("/proc/self/exe", O_PATH | O_CLOEXEC));

		m->user = USER;
		cr_assert_eq(finders_open(parsers_finders(parsers), USER, other, &file), 0);
		close(file.fd);
		for (uint64_t at = 0; namers_n_failed(namers) == i; at++)
			(void)module_find_locations(m, at, true, &found);
	}
	cr_assert_eq(finders_open(parsers_finders(parsers), USER, other, &file), -EBUSY);
}

/* Names of a user who has used up its part are missing until it may have more; others' are not. */
Test(namers, let_nobody_wait_for_others_for_long)
{
	struct module *a = open_module(names, "/proc/self/exe"),
		      *b = open_module(names, "/proc/self/exe");
	uint64_t at = offset_of((void *)main), began = clock_now_ns();
	struct cpu_budget_counts counts = { 0 };
	const struct source_location *found;
	struct cpu_budget *budget;

	cr_assert_eq(cpu_budget_new(0.001, &counts, &budget), 0);
	parsers_set_budget(parsers, budget);
	cpu_budget_begin(budget);
	a->user = 1;
	b->user = 2;
	cr_assert_eq(cpu_budget_pause_ns(budget, 2), 0);
	cpu_budget_spend(budget, 1, CPU_BUDGET_SAVED_NS);
	cr_assert_eq(module_find_locations(a, at, true, &found), 0);
	cr_assert_lt(clock_now_ns() - began, 20 * CPU_BUDGET_WAITED_NS);
	cr_assert_gt(module_find_locations(b, at, true, &found), 0);
	cr_assert_gt(counts.refused, 0);
	cpu_budget_lift(budget);
	cr_assert_gt(module_find_locations(a, at, true, &found), 0);
	cr_assert_eq(namers_n_failed(namers), 0);
	cpu_budget_drop(budget);
}

Test(namers, end_at_once_without_names)
{
	struct module *a = open_module(names, "/proc/self/exe");
	const struct source_location *found;

	names_disable(names);
	cr_assert_eq(module_find_locations(a, offset_of((void *)main), true, &found), 0);
	cr_assert_eq(namers_n_failed(namers), 0);
}

/* Whatever it does, and whether or not somebody waits for it. The next one has the same binary. */
Test(namers, may_not_compute_for_ever)
{
	struct module *a = open_module(names, "/proc/self/exe");
	const struct source_location *found;
	pid_t first;

	cr_assert_gt(module_find_locations(a, offset_of((void *)main), true, &found), 0);
	first = namer();
	cr_assert_eq(cpu_limit(first), CONFINE_CPU_S);
	used_s = CONFINE_CPU_S / 5;
	cr_assert_gt(module_find_locations(a, offset_of((void *)begin), true, &found), 0);
	cr_assert_eq(namer(), first);
	used_s = CONFINE_CPU_S / 3;
	cr_assert_gt(module_find_locations(a, offset_of((void *)end), true, &found), 0);
	cr_assert_neq(namer(), first);
}

Test(namers, hold_nothing)
{
	struct module *a = open_module(names, "/proc/self/exe");
	const struct source_location *found;
	pid_t pid;

	cr_assert_gt(module_find_locations(a, offset_of((void *)main), true, &found), 0);
	pid = namer();
	cr_assert_eq(status(pid, "Seccomp", 10), 2);
	cr_assert_eq(status(pid, "NoNewPrivs", 10), 1);
	cr_assert_eq(status(pid, "CapEff", 16), 0);
	cr_assert_eq(status(pid, "CapPrm", 16), 0);
	cr_assert(geteuid() != 0 || status(pid, "Uid", 10) == 65533);
}

/* Answers of a namer that a file has taken over. */

static const struct namer_request asked = {
	.kind = NAMER_FIND,
	.n = 2,
	.lines = true,
	.addresses = { 16, 32 },
};

/* An honest answer, as sections. */
struct answer {
	struct namer_reply reply;
	struct location_address addresses[3];
	struct kept_location locations[3];
	uint64_t starts[3];
	char text[16];
};

static struct answer honest(void)
{
	return (struct answer){
		.reply = { .n_addresses = 2, .n_locations = 3, .names_size = 12 },
		.addresses = { { 16, 1, LOCATION_LINES }, { 32, 2, LOCATION_LINES } },
		.locations = { { 1, 6, 1, 2 }, { 1, 6, 3, LOCATION_INLINED }, { 6, 0, 0, 0 } },
		.starts = { NAMER_NO_START, 24 },
		.text = "\0main\0a.c\0\0",
	};
}

static int take(const struct answer *a)
{
	_cleanup_close_ int file = memfd_create("result", MFD_CLOEXEC);
	struct location_cache cache = { 0 };
	size_t n_locations = a->reply.n_locations < 3 ? a->reply.n_locations : 3;
	size_t n_addresses = a->reply.n_addresses < 3 ? a->reply.n_addresses : 3;
	size_t n_names = a->reply.names_size < 16 ? a->reply.names_size : 16;
	uint64_t starts[NAMER_MAX_ADDRESSES];
	int n;

	cr_assert(write(file, a->addresses, n_addresses * sizeof(a->addresses[0])) >= 0);
	cr_assert(write(file, a->locations, n_locations * sizeof(a->locations[0])) >= 0);
	cr_assert(write(file, a->starts, n_addresses * sizeof(a->starts[0])) >= 0);
	cr_assert(write(file, a->text, n_names) >= 0);
	n = __real_namer_take(&asked, &a->reply, file, &cache, starts);
	cr_assert(n > 0 || cache.n_entries == 0);
	cr_assert(n <= 0 || memcmp(starts, a->starts, (size_t)n * sizeof(starts[0])) == 0);
	location_cache_done(&cache);
	return n;
}

#define EXPECT_REFUSED(change)                                                                     \
	do {                                                                                       \
		struct answer a = honest();                                                        \
                                                                                                   \
		change;                                                                            \
		cr_assert_eq(take(&a), -EPROTO, #change);                                          \
	} while (0)

Test(namer_take, believes_what_may_be_right)
{
	struct answer a = honest();

	cr_assert_eq(take(&a), 2);
	a.reply.n_addresses = a.reply.n_locations = 1; /* the rest will be asked for again */
	cr_assert_eq(take(&a), 1);
}

Test(namer_take, checks_everything)
{
	EXPECT_REFUSED(a.reply.err = -ESHUTDOWN);
	EXPECT_REFUSED(a.reply.err = 1);
	EXPECT_REFUSED(a.reply.n_addresses = 0);
	EXPECT_REFUSED(a.reply.n_addresses = 3);
	EXPECT_REFUSED(a.reply.n_locations = 2);
	EXPECT_REFUSED(a.reply.n_locations = UINT32_MAX);
	EXPECT_REFUSED(a.reply.names_size = 0);
	EXPECT_REFUSED(a.reply.names_size = UINT32_MAX);
	EXPECT_REFUSED(a.reply.names_size = 16 + 1);
	EXPECT_REFUSED(a.addresses[0].address = 17);
	EXPECT_REFUSED(a.addresses[1].address = 16);
	EXPECT_REFUSED(a.addresses[0].flags = 0);
	EXPECT_REFUSED(a.addresses[0].flags |= 4);
	EXPECT_REFUSED(a.addresses[0].n_locations = LOCATION_MAX + 1);
	EXPECT_REFUSED(a.addresses[0].n_locations = 0);
	EXPECT_REFUSED(a.locations[1].function = 12);
	EXPECT_REFUSED(a.locations[2].file = UINT32_MAX);
	EXPECT_REFUSED(a.text[11] = 'x');
}
