// SPDX-License-Identifier: Apache-2.0
/*
 * Verifiers unwind as this process does: its own stack. What they hold, what is refused of their answers, and
 * what happens when one is killed or takes too long. This program is also the helper.
 */
#include "sandbox/verifiers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/helper.h"
#include "sandbox/message.h"
#include "sandbox/parse.h"
#include "sandbox/tests/helper_test.h"
#include "sandbox/tests/sealed.h"
#include "sandbox/verifier.h"

#define MAX_MAPPINGS 64
#define DEPTH 20
#define STACK_SIZE 16384

/*
 * What a helper is asked for at most, and does instead: computes without end, ends, says too much, answers
 * twice, computes for a while, or sleeps.
 */
#define ENDLESS 777
#define DEADLY 778
#define LYING 779
#define TALKING 780
#define SLOW 781
#define SLEEPING 782

#define LIMIT_NS UINT64_C(300000000)

static bool is_helper;

int __real_second_walk_run(struct second_walk *w, const struct second_stack *of, size_t max_frames,
			   struct second_frame *ret_frames, struct second_result *ret);
int __wrap_second_walk_run(struct second_walk *w, const struct second_stack *of, size_t max_frames,
			   struct second_frame *ret_frames, struct second_result *ret);

static time_t later_s; /* how much later it is than the clock says */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int err = __real_clock_gettime(clock, ret);

	if (clock == CLOCK_MONOTONIC)
		ret->tv_sec += later_s;
	return err;
}

int __real_verifier_take(const struct verifier_reply *r, int file, size_t max_frames,
			 struct second_frame *frames, struct second_result *ret);
int __wrap_verifier_take(const struct verifier_reply *r, int file, size_t max_frames,
			 struct second_frame *frames, struct second_result *ret);

int __wrap_verifier_take(const struct verifier_reply *r, int file, size_t max_frames,
			 struct second_frame *frames, struct second_result *ret)
{
	cr_assert(is_sealed(file), "a verifier could change what is read of it");
	return __real_verifier_take(r, file, max_frames, frames, ret);
}

bool __real_second_walk_has_rule(struct second_walk *w, uint64_t pc);
bool __wrap_second_walk_has_rule(struct second_walk *w, uint64_t pc);

bool __wrap_second_walk_has_rule(struct second_walk *w, uint64_t pc)
{
	if (is_helper && pc == DEADLY)
		_exit(1);
	return __real_second_walk_has_rule(w, pc);
}

static void compute(uint64_t ns)
{
	uint64_t end_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < end_ns)
		;
}

int __wrap_second_walk_run(struct second_walk *w, const struct second_stack *of, size_t max_frames,
			   struct second_frame *ret_frames, struct second_result *ret)
{
	const struct verifier_reply reply = { .end = "what nobody has asked" };
	volatile bool goes_on = is_helper && max_frames == ENDLESS;
	char byte;

	while (goes_on)
		;
	if (is_helper && max_frames == DEADLY)
		_exit(1);
	if (is_helper && max_frames == LYING) {
		*ret = (struct second_result){ .n_frames = LYING + 1 };
		return 0;
	}
	if (is_helper && max_frames == TALKING)
		(void)message_send(HELPER_SOCKET, &reply, sizeof(reply), NULL, 0);
	if (is_helper && max_frames == SLOW)
		compute(LIMIT_NS / 2);
	if (is_helper && max_frames == SLEEPING)
		(void)!read(HELPER_SOCKET, &byte, 1);
	return __real_second_walk_run(w, of, max_frames, ret_frames, ret);
}

int main(int argc, char **argv)
{
	is_helper = helper_is_one(argv[0]);
	if (is_helper)
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static struct second_mapping mappings[MAX_MAPPINGS];
static int fds[MAX_MAPPINGS];
static uint8_t bytes[STACK_SIZE];
static struct second_part part = { .is_cut = 1 };
static struct second_stack stack = {
	.maps = 1, .mappings = mappings, .parts = &part, .n_parts = 1, .bytes = bytes
};
static struct parsers *parsers;
static struct verifiers *verifiers, *own;

/* Executable mappings of files, as /proc/self/maps has them. */
static void add_mapping(uint64_t start, uint64_t end, uint64_t offset, const char *path)
{
	_cleanup_(parse_result_done) struct parse_result facts = { 0 };
	struct second_mapping *m = &mappings[stack.n_mappings];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	cr_assert(stack.n_mappings < MAX_MAPPINGS && fd >= 0, "%s", path);
	cr_assert_eq(parse_here(&(struct parse_request){ PARSE_FACTS, fd, -1 }, &facts), 0);
	*m = (struct second_mapping){ .start = start, .end = end, .has_segments = 1 };
	cr_assert_eq(elf_facts_bias(&facts.facts, start, offset, &m->bias), 0);
	m->file_start = facts.facts.segments[0].address & -(uint64_t)4096;
	m->file = ++stack.n_mappings;
	fds[m->file - 1] = fd;
}

static void read_mappings(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/maps", "re");
	uint64_t start, end, offset;
	char line[1024], access[5], path[512];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %511s", &start,
			   &end, access, &offset, path) == 5 &&
		    access[2] == 'x' && path[0] == '/')
			add_mapping(start, end, offset, path);
	cr_assert_geq(stack.n_mappings, 3);
}

static __attribute__((noinline)) int capture(void)
{
	static const int order[DP_N_REGISTERS] = {
		[DP_RAX] = REG_RAX,    [DP_RDX] = REG_RDX,    [DP_RCX] = REG_RCX,
		[DP_RBX] = REG_RBX,    [DP_RSI] = REG_RSI,    [DP_RDI] = REG_RDI,
		[DP_REG_FP] = REG_RBP, [DP_REG_SP] = REG_RSP, [DP_R8] = REG_R8,
		[DP_R9] = REG_R9,      [DP_R10] = REG_R10,    [DP_R11] = REG_R11,
		[DP_R12] = REG_R12,    [DP_R13] = REG_R13,    [DP_R14] = REG_R14,
		[DP_R15] = REG_R15,    [DP_REG_PC] = REG_RIP,
	};
	struct iovec from, to = { bytes, sizeof(bytes) };
	ucontext_t context;
	ssize_t n;

	cr_assert_eq(getcontext(&context), 0);
	for (int i = 0; i < DP_N_REGISTERS; i++)
		stack.regs.reg[i] = (uint64_t)context.uc_mcontext.gregs[order[i]];
	part.start = stack.regs.reg[DP_REG_SP];
	from = (struct iovec){ (void *)part.start, sizeof(bytes) };
	/* Reads as far as there is a stack, which sanitizers do not see. */
	n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	cr_assert_gt(n, 0);
	part.size = stack.n_bytes = (size_t)n;
	return 0;
}

/* Through a pointer: compilers put recursive functions into themselves. */
static int descend(int depth);
static int (*volatile descend_again)(int depth) = descend;

static int descend(int depth)
{
	if (depth > 0)
		return descend_again(depth - 1) + 1;
	return capture();
}

static void begin(void)
{
	cr_assert_eq(parsers_new(HELPER_SELF, &parsers), 0);
	cr_assert_eq(verifiers_new(parsers, &verifiers), 0);
	cr_assert_eq(verifiers_new(NULL, &own), 0);
	stack.pid = stack.tid = getpid();
	stack.user = geteuid();
	read_mappings();
	cr_assert_eq(descend(DEPTH), DEPTH);
}

static void end(void)
{
	verifiers_free(verifiers);
	verifiers_free(own);
	parsers_drop(parsers);
	for (size_t i = 0; i < stack.n_mappings; i++)
		close(fds[i]);
}

TestSuite(verifiers, .init = begin, .fini = end, .timeout = 120);

static struct second_frame frames[2][DP_MAX_FRAMES];
static struct second_result results[2];

static int walk(void)
{
	return verifiers_walk(verifiers, &stack, fds, DP_MAX_FRAMES, frames[1], &results[1]);
}

static pid_t only_child(pid_t pid)
{
	pid_t found[16];

	cr_assert_eq(children(pid, found), 1);
	return found[0];
}

static pid_t verifier(void)
{
	return only_child(only_child(getpid()));
}

static void expect_same(void)
{
	cr_assert_eq(verifiers_walk(own, &stack, fds, DP_MAX_FRAMES, frames[0], &results[0]), 0);
	cr_assert_eq(walk(), 0);
	cr_assert_eq(results[1].n_frames, results[0].n_frames);
	cr_assert_arr_eq(frames[1], frames[0], results[0].n_frames * sizeof(**frames));
	cr_assert_str_eq(results[1].end, results[0].end);
	cr_assert_eq(results[1].is_beyond_copy, results[0].is_beyond_copy);
}

Test(verifiers, find_what_this_process_finds)
{
	expect_same();
	cr_assert_gt(results[1].n_frames, DEPTH);
	cr_assert_eq(frames[1][0].address, stack.regs.reg[DP_REG_PC]);
	cr_assert_eq(verifiers_have_rule(verifiers, frames[1][1].address - 1), 1);
	cr_assert_eq(verifiers_have_rule(own, frames[1][1].address - 1), 1);
	cr_assert_eq(verifiers_have_rule(verifiers, 1), 0);
	cr_assert_eq(verifiers_walk(verifiers, &stack, fds, 3, frames[1], &results[1]), 0);
	cr_assert_eq(results[1].n_frames, 3);
	cr_assert_str_eq(results[1].end, "as many frames as --max-stack allows");
	/* With the same mappings, no file is sent again. */
	for (size_t i = 0; i < stack.n_mappings; i++)
		fds[i] = -2 - close(fds[i]);
	cr_assert_eq(walk(), 0);
	cr_assert_eq(results[1].n_frames, results[0].n_frames);
}

Test(verifiers, know_when_the_copy_ends)
{
	/* Sanitizers make frames larger. */
	for (part.size = 1200; part.size < STACK_SIZE && results[1].n_frames <= 1;
	     part.size += 400) {
		stack.n_bytes = part.size;
		expect_same();
	}
	cr_assert(results[1].is_beyond_copy && results[1].n_frames > 1);
}

Test(verifiers, hold_nothing)
{
	char path[64], target[256];
	pid_t pid;
	ssize_t n;

	cr_assert_eq(walk(), 0);
	pid = verifier();
	cr_assert_eq(status(pid, "CapEff", 16), 0);
	cr_assert_eq(status(pid, "NoNewPrivs", 10), 1);
	cr_assert_eq(status(pid, "Seccomp", 10), 2);
	/* No descriptor of the files and the stack that it has got. */
	for (int fd = 0; fd < 32; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		cr_assert(n < 0 || strcmp(target, "/dev/null") == 0 ||
				  strncmp(target, "socket:", 7) == 0 || fd == 2,
			  "%s", target);
	}
}

Test(verifiers, are_replaced)
{
	for (int i = 0; i < 4; i++) {
		pid_t pid;

		cr_assert_eq(walk(), 0);
		pid = verifier();
		kill(pid, SIGKILL);
		while (is_alive(pid))
			usleep(1000);
	}
	expect_same();
}

/* One that could not be sent is sent again. */
Test(verifiers, get_files_that_could_not_be_sent)
{
	for (size_t i = 0; i < stack.n_mappings; i++) {
		int fd = fds[i];

		fds[i] = 1 << 20;
		cr_assert_eq(walk(), -EBADF);
		fds[i] = fd;
	}
	expect_same();
}

static int walk_as(size_t max_frames)
{
	return verifiers_walk(verifiers, &stack, fds, max_frames, frames[1], &results[1]);
}

/* What costs two of them is not tried again; others are. */
Test(verifiers, may_be_taken_over)
{
	pid_t found[16];

	cr_assert_eq(walk_as(DEADLY), -ECONNABORTED);
	cr_assert_eq(walk_as(LYING), -EPROTO);
	cr_assert_eq(walk(), -ECONNABORTED);
	/* None is started for it: those before have ended, if not at once. */
	while (children(only_child(getpid()), found) > 0)
		usleep(1000);
	stack.pid = getppid();
	cr_assert_eq(walk(), 0);
	stack.pid = getpid();
	cr_assert_eq(walk(), -ECONNABORTED);
	later_s = 60;
	cr_assert_eq(walk(), 0);
}

Test(verifiers, may_not_take_too_long)
{
	verifiers_set_cpu_limit(verifiers, LIMIT_NS);
	cr_assert_eq(walk_as(ENDLESS), -ETIME);
	verifiers_set_cpu_limit(verifiers, VERIFIERS_CPU_NS);
	expect_same();
}

/* As one does that reads a file that is never there. */
Test(verifiers, may_not_sleep_for_ever, .timeout = 30)
{
	verifiers_set_cpu_limit(verifiers, LIMIT_NS);
	cr_assert_eq(walk_as(SLEEPING), -ETIME);
	verifiers_set_cpu_limit(verifiers, VERIFIERS_CPU_NS);
	expect_same();
}

/* Its second answer would be taken for that to the next question. */
Test(verifiers, may_not_answer_twice)
{
	int err = 0;

	cr_assert_eq(walk_as(TALKING), 0);
	cr_assert_str_eq(results[1].end, "what nobody has asked");
	/* It may not have said that yet. */
	for (int i = 0; err == 0 && i < 1000; i++) {
		usleep(1000);
		err = walk();
	}
	cr_assert_eq(err, -EPROTO);
	expect_same();
}

Test(verifiers, may_not_end_over_a_rule)
{
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(walk(), 0);
		cr_assert_eq(verifiers_have_rule(verifiers, DEADLY), -ECONNABORTED);
	}
	cr_assert_eq(walk(), -ECONNABORTED);
}

/* Each within the limit, and all together too long for others to wait. */
Test(verifiers, may_not_be_slow_for_ever)
{
	int n = 0, err = 0;

	verifiers_set_cpu_limit(verifiers, LIMIT_NS);
	for (; err == 0 && n < 100; n++)
		err = walk_as(SLOW);
	cr_assert_eq(err, -EBUSY);
	cr_assert_geq(n, 4);
	cr_assert_eq(walk(), -EBUSY);
	/* What they were slow for is over. */
	verifiers_set_cpu_limit(verifiers, VERIFIERS_CPU_NS);
	expect_same();
}

/* Other users need not wait for that. */
Test(verifiers, are_slow_for_one_user)
{
	int err = 0;

	verifiers_set_cpu_limit(verifiers, LIMIT_NS);
	for (int i = 0; err == 0 && i < 100; i++)
		err = walk_as(SLOW);
	cr_assert_eq(err, -EBUSY);
	/* It has not even to be there any more. */
	stack.user = 4242;
	cr_assert_eq(walk(), 0);
	stack.user = geteuid();
	cr_assert_eq(walk(), -EBUSY);
}

Test(verifiers, cannot_begin_without_files)
{
	for (size_t i = 0; i < stack.n_mappings; i++) {
		close(fds[i]);
		fds[i] = -1;
	}
	cr_assert_eq(walk(), -ENOENT);
	cr_assert_eq(verifiers_walk(own, &stack, fds, 1, frames[0], &results[0]), -ENOENT);
}

/* A verifier may have been taken over. */
Test(verifier, is_believed_if_it_may_be_right)
{
	const struct second_frame good[] = { { 1, 1 }, { 2, 0 } }, bad[] = { { 1, 1 }, { 2, 2 } };
	const struct verifier_reply honest = { .n_frames = 2, .end = "the root" };
	struct verifier_reply wrong[] = { honest, honest, honest, honest, honest };
	_cleanup_close_ int fd = memfd_create("frames", MFD_CLOEXEC);
	struct second_frame taken[2];
	struct second_result result;

	cr_assert_eq(pwrite(fd, good, sizeof(good), 0), sizeof(good));
	cr_assert_eq(__real_verifier_take(&honest, fd, 2, taken, &result), 0);
	cr_assert_arr_eq(taken, good, sizeof(good));
	cr_assert(result.n_frames == 2 && !result.is_beyond_copy);
	cr_assert_str_eq(result.end, "the root");
	cr_assert_eq(__real_verifier_take(&honest, fd, 1, taken, &result), -EPROTO);
	wrong[0].err = -EAGAIN;
	wrong[1].err = 1;
	wrong[2].is_beyond_copy = 2;
	wrong[3].end[0] = '\033';
	memset(wrong[4].end, 'x', sizeof(wrong[4].end));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		cr_assert_eq(__real_verifier_take(&wrong[i], fd, 2, taken, &result), -EPROTO, "%zu",
			     i);
	wrong[0].err = -ENOENT;
	cr_assert_eq(__real_verifier_take(&wrong[0], fd, 2, taken, &result), -ENOENT);
	cr_assert_eq(pwrite(fd, bad, sizeof(bad), 0), sizeof(bad));
	cr_assert_eq(__real_verifier_take(&honest, fd, 2, taken, &result), -EPROTO);
	cr_assert_eq(ftruncate(fd, sizeof(good) - 1), 0);
	cr_assert_eq(__real_verifier_take(&honest, fd, 2, taken, &result), -EPROTO);
}
