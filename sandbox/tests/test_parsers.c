// SPDX-License-Identifier: Apache-2.0
/*
 * The same results as without parsers; what these may do; and if they end or are slow.
 */
#include "sandbox/parsers.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/confine.h"
#include "sandbox/helper.h"
#include "sandbox/parser.h"
#include "sandbox/tests/ask_parsers.h"
#include "sandbox/tests/sealed.h"

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

int __real_parser_take(enum parse_kind kind, const struct parser_reply *r, int file, uint64_t size,
		       struct parse_result *ret);
int __wrap_parser_take(enum parse_kind kind, const struct parser_reply *r, int file, uint64_t size,
		       struct parse_result *ret);

int __wrap_parser_take(enum parse_kind kind, const struct parser_reply *r, int file, uint64_t size,
		       struct parse_result *ret)
{
	cr_assert(is_sealed(file), "a parser could change what is read of it");
	return __real_parser_take(kind, r, file, size, ret);
}

TestSuite(parsers, .init = begin, .fini = end, .timeout = 120);

static void compare(int fd, const char *path)
{
	const struct parse_request facts = { PARSE_FACTS, fd, -1 }, image = { PARSE_IMAGE, fd, -1 };
	_cleanup_(parse_result_done) struct parse_result a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };

	cr_assert(parse_here(&facts, &a) == 0 && ask(PARSE_FACTS, fd, &b) == 0, "%s", path);
	cr_assert(memcmp(&a.facts.origin, &b.facts.origin, sizeof(a.facts.origin)) == 0, "%s",
		  path);
	cr_assert(a.facts.n_segments == b.facts.n_segments && a.facts.n_code == b.facts.n_code);
	cr_assert(memcmp(a.facts.segments, b.facts.segments,
			 a.facts.n_segments * sizeof(*a.facts.segments)) == 0);
	cr_assert(memcmp(a.facts.code, b.facts.code, a.facts.n_code * sizeof(*a.facts.code)) == 0);
	cr_assert(a.facts.cookie == b.facts.cookie && a.lacks_cfi == b.lacks_cfi);
	cr_assert_str_eq(a.debug_link, b.debug_link);
	cr_assert(parse_here(&image, &c) == 0 && ask(PARSE_IMAGE, fd, &d) == 0, "%s", path);
	cr_assert(c.image.n_cells == d.image.n_cells && c.image.n_cells > 0, "%s", path);
	cr_assert(memcmp(c.image.cells, d.image.cells, c.image.n_cells * 8UL) == 0, "%s", path);
	cr_assert(memcmp(&c.image.stats, &d.image.stats, sizeof(c.image.stats)) == 0, "%s", path);
}

static int add_path(struct dl_phdr_info *info, size_t size, void *n)
{
	_cleanup_close_ int fd = -1;

	(void)size;
	if (info->dlpi_name[0] != '/')
		return 0;
	fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0, "%s", info->dlpi_name);
	compare(fd, info->dlpi_name);
	++*(size_t *)n;
	return 0;
}

Test(parsers, find_what_this_process_finds)
{
	_cleanup_close_ int self = open_self();
	pid_t found[16];
	size_t n = 0;

	compare(self, "this program");
	dl_iterate_phdr(add_path, &n);
	cr_assert_geq(n, 5);
	/* One serves all files of a user on a device. */
	cr_assert_leq(children(spawner(), found), 2);
}

static bool is_so(enum parse_kind kind, int fd, int other)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct parse_request request = { kind, fd, other };

	cr_assert_eq(parsers_ask(parsers, &request, &job_clock, &result), 0);
	return result.is_so;
}

Test(parsers, answer_two_questions_about_two_files)
{
	_cleanup_close_ int self = open_self(),
			    libc = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);

	cr_assert(is_so(PARSE_SAME, self, self));
	cr_assert(!is_so(PARSE_SAME, self, libc));
	cr_assert(!is_so(PARSE_DEBUG, self, libc));
	cr_assert(is_so(PARSE_DEBUG, self, self)); /* has its build id */
}

/* Of any file, whatever is in it. */
Test(parsers, read_digests)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int self = open_self();
	_cleanup_close_ int text = memfd_create("text", MFD_CLOEXEC);
	_cleanup_close_ int holes = memfd_create("holes", MFD_CLOEXEC);
	struct file_digest here, there;
	pid_t found[16];

	cr_assert_eq(file_digest_read(self, &here), 0);
	cr_assert_eq(parsers_digest(parsers, 0, self, &there), 0);
	cr_assert_eq(memcmp(&here, &there, sizeof(here)), 0);
	cr_assert_geq(children(spawner(), found), 1);
	cr_assert_eq(ask(PARSE_TABLE_DIGEST, self, &result), 0);
	cr_assert_neq(memcmp(&here, &result.digest, sizeof(here)), 0);
	cr_assert_eq(parsers_digest(parsers, 0, text, &there), 0);
	cr_assert_eq(there.bytes[0], 0xe3, "as that of an empty file begins");
	cr_assert_eq(ftruncate(holes, 1 << 30), 0);
	cr_assert_eq(parsers_digest(parsers, 0, holes, &there), -EFBIG);
}

Test(parsers, refuse_what_is_no_binary)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int text = memfd_create("text", MFD_CLOEXEC);
	_cleanup_close_ int empty = memfd_create("empty", MFD_CLOEXEC);

	cr_assert(write(text, "no binary", 9) == 9);
	cr_assert_eq(ask(PARSE_FACTS, text, &result), -ENOEXEC);
	cr_assert_eq(ask(PARSE_IMAGE, empty, &result), -ENOEXEC);
	parser(); /* still the same */
	cr_assert_eq(ask(PARSE_N_KINDS, open_self(), &result), -EINVAL);
	expect_answer();
}

/* What a file has made of its parser must not meet files of another owner. */
Test(parsers, get_files_of_one_owner)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int other = memfd_create("other", MFD_CLOEXEC);
	_cleanup_close_ int foreign = memfd_create("foreign", MFD_CLOEXEC);
	size_t n = 2;
	pid_t found[16];

	for (int i = 0; i < 3; i++) {
		expect_answer();
		cr_assert_eq(ask(PARSE_FACTS, other, &result), -ENOEXEC);
	}
	if (geteuid() == 0) {
		cr_assert(fchown(foreign, 65534, 65534) == 0);
		cr_assert_eq(ask(PARSE_FACTS, foreign, &result), -ENOEXEC);
		n++;
	}
	cr_assert_eq(children(spawner(), found), n);
}

static void *do_nothing(void *arg)
{
	return arg;
}

/* What each layer is for; each has to fail alone. */
static const char *break_out(void)
{
	char *const arguments[] = { (char *)"true", NULL };
	pthread_t thread;

	if (open("/etc/passwd", O_RDONLY) >= 0 || open("/tmp/made", O_CREAT | O_WRONLY, 0600) >= 0)
		return "open";
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		return "socket";
	if (kill(getppid(), 0) == 0)
		return "kill";
	if (ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0)
		return "ptrace";
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	    MAP_FAILED)
		return "executable memory";
	if (fork() >= 0)
		return "fork";
	if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
		return "thread";
	execv("/bin/true", arguments);
	return NULL;
}

Test(parsers, cannot_break_out)
{
	int result;
	pid_t pid = fork();

	if (pid == 0) {
		const char *what;

		confine_self(&(struct confinement){ 0 }, NULL);
		what = break_out();
		if (what)
			(void)!write(STDERR_FILENO, what, strlen(what));
		_exit(what ? 3 : 0);
	}
	cr_assert(waitpid(pid, &result, 0) == pid);
	cr_assert(WIFEXITED(result) && WEXITSTATUS(result) == 0, "%d", result);
}

Test(parsers, have_all_layers)
{
	unsigned int user = 1u << CONFINE_USER, all = (1u << CONFINE_N_LAYERS) - 1;

	cr_assert_eq(parsers_layers(parsers), 0);
	expect_answer();
	cr_assert_eq(parsers_layers(parsers) | user, all, "%x", parsers_layers(parsers));
	cr_assert(geteuid() != 0 || (parsers_layers(parsers) & user));
}

/* However long it lives, and whether or not somebody waits for it. */
Test(parsers, may_not_compute_for_ever)
{
	pid_t first;

	expect_answer();
	first = parser();
	cr_assert_eq(cpu_limit(first), CONFINE_CPU_S);
	used_s = CONFINE_CPU_S / 5;
	expect_answer();
	expect_answer();
	cr_assert_eq(parser(), first);
	used_s = CONFINE_CPU_S / 3;
	expect_answer();
	used_s = 0;
	expect_answer();
	cr_assert_neq(parser(), first);
}

/* Nobody need wait for a parser that somebody has ended or stopped, while idle or at work. */
Test(parsers, are_replaced)
{
	static const int signals[] = { SIGKILL, SIGSTOP };
	pid_t helpers[2];

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		expect_answer();
		cr_assert(kill(parser(), signals[i]) == 0);
		expect_answer();
		helpers[0] = parser();
		helpers[1] = spawner();
		cr_assert(kill(helpers[1], signals[i]) == 0);
		kill(helpers[0], SIGKILL); /* it may have ended with the spawner */
		expect_answer();
	}
}

#define N_STOPPED 6
static atomic_bool is_enough;

static void *ask_on(void *unused)
{
	while (!is_enough)
		expect_answer();
	return unused;
}

/* Nor do many of them keep a file from having its table. */
Test(parsers, are_replaced_by_new_ones)
{
	pthread_t threads[N_STOPPED];
	pid_t helpers[16];

	is_enough = false;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		cr_assert(pthread_create(&threads[i], NULL, ask_on, NULL) == 0);
	while (children(spawner(), helpers) < N_STOPPED)
		usleep(1000);
	is_enough = true;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < N_STOPPED; i++)
		cr_assert(kill(helpers[i], SIGSTOP) == 0);
	expect_answer();
}

Test(parsers, are_ended_if_idle)
{
	pid_t first;

	expect_answer();
	first = parser();
	parsers_rest(parsers, UINT64_C(3600000000000));
	cr_assert_eq(parser(), first);
	parsers_rest(parsers, 0);
	expect_answer();
	cr_assert_neq(parser(), first);
}

/* Also zombies are listed. */
static size_t count_children(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];
	size_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	cr_assert(file);
	while (fscanf(file, "%*d") != EOF)
		n++;
	return n;
}

/* A child that waits, with this number: clone3(2). Needs CAP_CHECKPOINT_RESTORE. */
static pid_t fork_with_number(pid_t number)
{
	struct clone_args how = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof(how));

	while (pid == 0)
		pause();
	return pid;
}

/* Not only when the next one is started. */
Test(parsers, leave_no_zombies)
{
	expect_answer();
	cr_assert_eq(count_children(spawner()), 1);
	cr_assert(kill(parser(), SIGKILL) == 0);
	while (count_children(spawner()) > 0)
		usleep(1000);
	expect_answer();
}

/* A host may wait for all children, so that a number may belong to another process. */
Test(parsers, may_be_waited_for_by_others)
{
	pid_t first, other;

	expect_answer();
	first = spawner();
	cr_assert(kill(first, SIGKILL) == 0 && waitpid(first, NULL, 0) == first);
	if (geteuid() != 0)
		cr_skip_test("cannot choose a process's number");
	/* The number is free when its process group, of parsers, has ended as well. */
	while ((other = fork_with_number(first)) < 0)
		cr_assert(errno == EEXIST, "%s", strerror(errno));
	cr_assert_eq(other, first);
	parsers_drop(parsers);
	parsers = NULL;
	cr_assert(is_alive(other));
	cr_assert(kill(other, SIGKILL) == 0 && waitpid(other, NULL, 0) == other);
}

/* Without a helper, this process does it. */
Test(parsers, need_not_be_there)
{
	const char *const programs[] = { "/nonexistent", "/bin/false" };

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		end();
		if (parsers_new(programs[i], &parsers) == 0)
			expect_answer();
		else
			cr_assert_null(parsers);
		expect_answer();
	}
}

/* However this process ends. */
Test(parsers, end_with_it)
{
	pid_t found[16], helpers[2], pid = fork();
	size_t n = 0;

	if (pid == 0) {
		begin();
		expect_answer();
		pause();
	}
	do {
		n = children(pid, found);
		helpers[0] = n == 1 ? found[0] : 0;
		n = n == 1 ? children(found[0], found) : 0;
		helpers[1] = n == 1 ? found[0] : 0;
	} while (n == 0);
	cr_assert(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	for (size_t i = 0; i < 2; i++)
		while (is_alive(helpers[i]))
			usleep(1000);
}

/* Code of which every byte has a row: the table takes a while. */
#define LONG_CODE (24u << 20)

static void put(uint8_t **at, const void *bytes, size_t size)
{
	memcpy(*at, bytes, size);
	*at += size;
}

static int make_long_file(void)
{
	static const char names[] = "\0.eh_frame\0.text\0.shstrtab";
	const uint64_t text = 0x1000000, size = 3 * LONG_CODE + 4096;
	const uint32_t cie[] = { 16, 0, 0x78010001, 0x08070c10, 0x190 };
	const uint32_t fde[] = { 3 * LONG_CODE + 20, sizeof(cie) + 4 };
	const Elf64_Phdr load = { .p_type = PT_LOAD,
				  .p_flags = PF_R | PF_X,
				  .p_vaddr = text,
				  .p_filesz = size,
				  .p_memsz = size };
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = text + 1024,
		  .sh_offset = 1024,
		  .sh_size = sizeof(cie) + sizeof(fde) + 16 + 3 * LONG_CODE },
		{ .sh_name = 11,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = text,
		  .sh_size = LONG_CODE },
		{ .sh_name = 17,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = 512,
		  .sh_size = sizeof(names) },
	};
	const Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = 640,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(load),
		.e_phnum = 1,
		.e_shentsize = sizeof(*sections),
		.e_shnum = ARRAY_SIZE(sections),
		.e_shstrndx = 3,
	};
	int fd = memfd_create("long", MFD_CLOEXEC);
	uint8_t *bytes, *at;

	cr_assert(ftruncate(fd, (off_t)size) == 0);
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), &load, sizeof(load));
	memcpy(bytes + 512, names, sizeof(names));
	memcpy(bytes + 640, sections, sizeof(sections));
	at = bytes + 1024;
	put(&at, cie, sizeof(cie));
	put(&at, fde, sizeof(fde));
	put(&at, &(uint64_t){ text }, 8);
	put(&at, &(uint64_t){ LONG_CODE }, 8);
	/* DW_CFA_advance_loc 1, DW_CFA_def_cfa_offset n */
	for (uint32_t i = 0; i < LONG_CODE; i++)
		put(&at, (uint8_t[]){ 0x41, 0x0e, (uint8_t)(8 * (1 + i * i % 13)) }, 3);
	munmap(bytes, size);
	return fd;
}

Test(parsers, may_not_take_too_long)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = make_long_file();

	parsers_set_cpu_limit(parsers,
			      UINT64_C(600000000000)); /* sanitizers take more than usual */
	cr_assert_eq(ask(PARSE_IMAGE, fd, &result), 0);
	cr_assert_gt(result.image.stats.n_rows, LONG_CODE / 2);
	parsers_set_cpu_limit(parsers, 0);
	parse_result_done(&result);
	cr_assert_eq(ask(PARSE_IMAGE, fd, &result), -ETIME);
	parsers_set_cpu_limit(parsers, PARSERS_CPU_NS);
	expect_answer();
}

static void *end_at_work(void *ends)
{
	while (__atomic_load_n(&job_clock, __ATOMIC_RELAXED) == 0)
		usleep(1000);
	__atomic_store_n((bool *)ends, true, __ATOMIC_RELAXED);
	return NULL;
}

Test(parsers, are_not_waited_for_by_who_ends)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = make_long_file();
	bool ends = false;
	const struct parse_request request = {
		.kind = PARSE_IMAGE, .fd = fd, .other = -1, .ends = &ends
	};
	pthread_t thread;

	job_clock = 0;
	cr_assert_eq(pthread_create(&thread, NULL, end_at_work, &ends), 0);
	cr_assert_eq(parsers_ask(parsers, &request, &job_clock, &result), -ECANCELED);
	pthread_join(thread, NULL);
	expect_answer();
}

Test(parsers, are_not_begun_by_who_ends)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int self = open_self();
	const bool ends = true;
	const struct parse_request request = {
		.kind = PARSE_FACTS, .fd = self, .other = -1, .ends = &ends
	};
	pid_t found[16];
	size_t n = children(spawner(), found);

	cr_assert_eq(parsers_ask(parsers, &request, &job_clock, &result), -ECANCELED);
	cr_assert_eq(children(spawner(), found), n);
}

/* Of this thread. */
static uint64_t cpu_time(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* A file of 4 TiB that takes 73 MiB may take no longer than one of the latter size. */
Test(parsers, get_no_time_for_holes)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = make_long_file();
	const struct parse_request request = { PARSE_IMAGE, fd, -1 };
	uint64_t took = cpu_time();

	cr_assert_eq(parse_here(&request, &result), 0);
	took = cpu_time() - took;
	parse_result_done(&result);
	/* For 73 MiB, at most four times as much; for 4 TiB, 41 times. */
	parsers_set_cpu_limit(parsers, took / 8);
	cr_assert(ftruncate(fd, INT64_C(4) << 40) == 0);
	cr_assert_eq(ask(PARSE_IMAGE, fd, &result), -ETIME);
}
