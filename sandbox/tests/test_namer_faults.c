// SPDX-License-Identifier: Apache-2.0
/*
 * Namers that do not start, are of no use, or that a file has made so. Nothing that a file does makes
 * this process read it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/debug_search.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/finders.h"
#include "sandbox/hello.h"
#include "sandbox/helper.h"
#include "sandbox/message.h"
#include "sandbox/namer.h"
#include "sandbox/namer_process.h"
#include "sandbox/namers.h"
#include "sandbox/parsers.h"
#include "sandbox/tests/faulty.h"
#include "sandbox/tests/helper_test.h"
#include "symbols/failures.h"
#include "symbols/module.h"
#include "symbols/name_reader.h"

/* One letter: a namer that */
enum {
	DIES = 'd',    /* before it says hello */
	USELESS = 'u', /* after it */
	LACKS = 'l',   /* a layer */
	/* The first that gets a file of this name is taken over by it, and */
	CRASHES = 'c',
	SLEEPS = 's',
	LIES = 'e',  /* tells an error of its user's */
	OPENS = 'o', /* opens what is not found soon, and computes in between */
};

#define HOSTILE "hostile"
/* Where a file is not found for so long. */
#define SLOW "/slow/"
#define SLOW_NS 300000000

extern const char __executable_start[];

static char fault; /* of this process, a namer */
static bool lies;

struct module *__real_module_new(struct names *names, const char *path, const char *build_id,
				 int fd);
struct module *__wrap_module_new(struct names *names, const char *path, const char *build_id,
				 int fd);
int __real_message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds);
int __wrap_message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds);
int __real_debug_place_open(const struct debug_place *place, int root);
int __wrap_debug_place_open(const struct debug_place *place, int root);

int __wrap_debug_place_open(const struct debug_place *place, int root)
{
	const struct timespec time = { .tv_nsec = SLOW_NS };
	int word = 0;

	if (strncmp(place->path, SLOW, strlen(SLOW)) == 0)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, word, &time, NULL, 0);
	return __real_debug_place_open(place, root);
}

static void open_many(void)
{
	for (int i = 0; i < 60; i++) {
		char path[32];
		uint64_t opened;

		snprintf(path, sizeof(path), SLOW "%d", i);
		(void)!open(path, O_RDONLY | O_CLOEXEC);
		opened = clock_now_ns();
		while (clock_now_ns() < opened + SLOW_NS / 15)
			continue;
	}
}

struct module *__wrap_module_new(struct names *names, const char *path, const char *build_id,
				 int fd)
{
	bool is_hostile = fault && strcmp(path, HOSTILE) == 0;

	if (is_hostile && fault == CRASHES)
		_exit(1);
	if (is_hostile && fault == SLEEPS)
		(void)message_receive(HELPER_SOCKET, &(char){ 0 }, 1, (int[MESSAGE_MAX_FDS]){ 0 });
	if (is_hostile && fault == OPENS)
		open_many();
	lies = is_hostile && fault == LIES;
	return __real_module_new(names, path, build_id, fd);
}

int __wrap_message_send(int socket, const void *value, size_t size, const int *fds, size_t n_fds)
{
	struct namer_reply reply;

	if (lies && size == sizeof(reply)) {
		memcpy(&reply, value, sizeof(reply));
		reply.err = -ESHUTDOWN;
		return __real_message_send(socket, &reply, sizeof(reply), fds, n_fds);
	}
	return __real_message_send(socket, value, size, fds, n_fds);
}

static int serve_badly(void)
{
	const struct confinement lacks = { 0, 1u << CONFINE_SECCOMP };
	const struct confinement all = { (1u << CONFINE_N_LAYERS) - 1, 0 };
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), fds[MESSAGE_MAX_FDS];

	if (fault != DIES)
		(void)hello_say(HELPER_SOCKET, self, fault == LACKS ? &lacks : &all);
	if (fault != DIES)
		(void)message_receive(HELPER_SOCKET, &(char){ 0 }, 1, fds);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0])) {
		fault = strcmp(argv[1], HELPER_NAMER) == 0 ? read_fault() : WELL;
		return strchr((char[]){ DIES, USELESS, LACKS, 0 }, fault) ? serve_badly() :
									    helper_main(argc, argv);
	}
	return run_tests(argc, argv);
}

static struct parsers *parsers;
static struct names *names;
static struct namers *namers;

static void start(void)
{
	const struct names_options options = { .no_debuginfod = true };

	cr_assert(parsers_new(program, &parsers) == 0 && names_new(&options, &names) == 0);
	cr_assert(namers_start(parsers, names, &namers) == 0);
}

static void stop(void)
{
	names = names_free(names);
	parsers = parsers_drop(parsers);
}

static void begin(void)
{
	faulty_begin();
	start();
}

static void end(void)
{
	stop();
	faulty_end();
}

TestSuite(namer_faults, .init = begin, .fini = end, .timeout = 120);

/* This program, under a name; it has a name for main(). */
static struct module *open_self(const char *name)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0);
	return module_new(names, name, "", fd);
}

static bool is_named(struct module *module)
{
	const struct source_location *found;

	return module_find_locations(module, (uint64_t)main - (uint64_t)__executable_start, false,
				     &found) > 0;
}

static bool is_read_here(const struct module *module)
{
	return module->debug || module->symtab;
}

/* This process reads names, and says so once. */
Test(namer_faults, of_all)
{
	static const struct {
		char fault;
		const char *why;
	} faults[] = {
		{ DIES, "parsers cannot be started" },
		{ USELESS, "readers end at once" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		stop();
		start();
		set_fault(faults[i].fault);
		for (int n = 0; n < 3; n++) {
			struct module *module = open_self("any");

			cr_assert(is_named(module) && is_read_here(module));
		}
		cr_assert_eq(n_said("itself, with its rights"), i + 1);
		cr_assert_eq(n_said(faults[i].why), 1);
	}
}

/* Nobody reads names, and that is said once. */
Test(namer_faults, if_confined_ones_are_required)
{
	static const char faults[] = { DIES, USELESS, LACKS };
	struct confinement confinement;

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		stop();
		start();
		parsers_require(parsers);
		cr_assert(parsers_check(parsers, &confinement) == 0 && !confinement.missing);
		set_fault(faults[i]);
		for (int n = 0; n < 3; n++) {
			struct module *module = open_self("any");

			cr_assert(!is_named(module) && !is_read_here(module));
		}
		cr_assert_eq(n_said("names are missing"), i + 1);
		cr_assert_eq(n_said("warning"), i + 1);
		cr_assert_eq(namers_n_failed(namers), 0);
		set_fault(WELL);
	}
}

/* What a file does to namers costs its own names, and others are found, by namers. */
Test(namer_faults, of_a_file)
{
	static const struct {
		char fault;
		const char *said;
	} faults[] = {
		{ CRASHES, HOSTILE " has no names: its reader crashed" },
		{ SLEEPS, HOSTILE " has no names: its reader took too long" },
		{ LIES, HOSTILE " has no names: its reader gave a wrong answer" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct module *hostile, *other;
		uint64_t begun = clock_now_ns();

		stop();
		start();
		namers_set_time_limit(namers, UINT64_C(1000000000));
		set_fault(faults[i].fault);
		hostile = open_self(HOSTILE);
		other = open_self("other");
		for (int n = 0; n < 3; n++)
			cr_assert(!is_named(hostile) && !is_read_here(hostile));
		cr_assert(is_named(other) && !is_read_here(other));
		cr_assert_eq(namers_n_failed(namers), 1);
		cr_assert_eq(n_said(faults[i].said), 1);
		cr_assert_eq(n_said("warning"), i + 1);
		cr_assert_lt(clock_now_ns() - begun, UINT64_C(30000000000));
	}
}

/* One that sleeps over a file that may not answer is lost, and others of the user's are not tried. */
Test(namer_faults, of_a_file_that_may_not_answer)
{
	enum { USER = 65432 };
	_cleanup_close_ int other = memfd_create("other", MFD_CLOEXEC);
	struct found_file file;

	if (geteuid() != 0)
		cr_skip("finders need CAP_DAC_READ_SEARCH");
	cr_assert_eq(parsers_use_finders(parsers), 0);
	namers_set_time_limit(namers, UINT64_C(200000000));
	set_fault(SLEEPS);
	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++) {
		int self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
		struct module *m = module_new(names, HOSTILE, "", self);

		m->user = USER;
		cr_assert_eq(finders_open(parsers_finders(parsers), USER, other, &file), 0);
		close(file.fd);
		cr_assert(!is_named(m) && namers_n_failed(namers) == i + 1);
	}
	cr_assert_eq(finders_open(parsers_finders(parsers), USER, other, &file), -EBUSY);
}

/* Whoever looks up what it opens does so for it. */
Test(namer_faults, of_a_file_that_names_others)
{
	uint64_t began = clock_now_ns();

	if (geteuid() != 0)
		cr_skip("finders need CAP_DAC_READ_SEARCH");
	cr_assert_eq(parsers_use_finders(parsers), 0);
	namers_set_time_limit(namers, UINT64_C(1000000000));
	set_fault(OPENS);
	cr_assert(!is_named(open_self(HOSTILE)));
	cr_assert_eq(n_said(HOSTILE " has no names: its reader took too long"), 1);
	cr_assert_lt(clock_now_ns() - began, UINT64_C(15000000000));
}

/* There may be thousands of them. */
Test(namer_faults, of_many_files)
{
	set_fault(CRASHES);
	for (int i = 0; i < PARSERS_SHOWN_FAILURES + 3; i++)
		cr_assert(!is_named(open_self(HOSTILE)));
	cr_assert_eq(n_said(HOSTILE " has no names"), PARSERS_SHOWN_FAILURES);
	stop();
	cr_assert_eq(n_said("no tables or names for 3 more binaries"), 1);
	start();
}

/* Names are missing until another namer can be started. */
Test(namer_faults, for_a_while)
{
	struct module *module = open_self("any");

	cr_assert(is_named(module));
	set_fault(DIES);
	names_set_reader(names, NULL, NULL); /* ends the one that was well */
	cr_assert(namers_start(parsers, names, &namers) == 0);
	module = open_self("later");
	cr_assert(!is_named(module) && !is_read_here(module));
	cr_assert_eq(n_said("names are missing"), 1);
	set_fault(WELL);
	while (!is_named(module))
		usleep(10000);
	cr_assert_eq(n_said("warning"), 1);
	cr_assert_eq(namers_n_failed(namers), 0);
}

Test(namer_faults, do_not_give_a_binary_more_time_than_a_namer_has)
{
	const uint64_t second = UINT64_C(1000000000), most = second * CONFINE_CPU_S / 2;
	struct namer_cost cost = { .time_ns = 2 * second };

	cr_assert_eq(namer_cost_left(&cost, 10 * second), 8 * second);
	cost.size = 100 << 20;
	cr_assert_eq(namer_cost_left(&cost, 10 * second), 18 * second);
	cost.since_ns = clock_now_ns() - 1000 * second;
	cr_assert_geq(namer_cost_left(&cost, 10 * second), 28 * second);
	cost.since_ns = 1; /* long ago */
	cr_assert_eq(namer_cost_left(&cost, most), most - 2 * second);
	cost.time_ns = most;
	cr_assert_eq(namer_cost_left(&cost, most), 0);
}

#define TEN(text) text text text text text text text text text text
#define LONG_NAME "_Z" TEN(TEN(TEN("fivefive")))

void has_a_long_name(void) __asm__(LONG_NAME);
void has_a_long_name(void)
{
}

/* Whoever has read them, this process or a namer; once of each file. */
Test(namer_faults, are_not_what_limits_leave_out)
{
	const uint64_t at = (uint64_t)has_a_long_name - (uint64_t)__executable_start;
	const char *first[PARSERS_SHOWN_FAILURES];
	const struct source_location *found;

	for (int i = 0; i < 2; i++) {
		struct module *module = open_self("any");

		cr_assert(is_named(module));
		cr_assert_eq(failures_look(names_failures(names), first), 0);
		for (int lines = 0; lines < 2; lines++)
			cr_assert_eq(module_find_locations(module, at, lines, &found), 1);
		cr_assert_str_eq(found->function, LONG_NAME);
		cr_assert_eq(failures_look(names_failures(names), first), 1);
		cr_assert_str_eq(
			first[0],
			"any: its names are incomplete: beyond 4 KiB (a name that is demangled), "
			"longer ones remain mangled (DEMANGLE_MAX_MANGLED)");
		cr_assert_eq(is_read_here(module), i);
		stop();
		start();
		names_set_reader(names, NULL, NULL);
	}
}
