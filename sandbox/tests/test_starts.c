// SPDX-License-Identifier: Apache-2.0
/* Parsers that do not start, are not confined or are of no use. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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
#include "sandbox/hello.h"
#include "sandbox/helper.h"
#include "sandbox/keeper.h"
#include "sandbox/message.h"
#include "sandbox/parser.h"
#include "sandbox/parsers.h"
#include "sandbox/tests/faulty.h"
#include "sandbox/tests/helper_test.h"

#define ANYBODY 65534

/* One letter: a parser that */
enum {
	DIES = 'd',    /* before it says hello */
	USELESS = 'u', /* after it */
	SILENT = 's',  /* says nothing */
	LACKS = 'l',   /* a layer */
	FRAIL = 'f',   /* ends at a text */
	LONG = 'g',    /* computes for long before it says hello */
};

/* Looks at the first file, and leaves the request to others. */
static bool is_text(void)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
	struct iovec data = { (char[1]){ 0 }, 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	char first = 0;
	int fd;

	if (recvmsg(HELPER_SOCKET, &message, MSG_PEEK) <= 0)
		return false;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return pread(fd, &first, 1, 0) == 1 && first != 0x7f;
}

static void compute_on_one_cpu(uint64_t cpu_ns)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	(void)sched_setaffinity(0, sizeof(cpus), &cpus);
	while (clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < cpu_ns)
		continue;
}

static int serve_badly(char fault)
{
	const struct confinement all = { (1u << CONFINE_N_LAYERS) - 1, 0 };
	const struct confinement lacks = { all.layers & ~(1u << CONFINE_SECCOMP),
					   1u << CONFINE_SECCOMP };
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0), fds[MESSAGE_MAX_FDS];

	if (fault == DIES)
		return EXIT_FAILURE;
	if (fault == LONG)
		compute_on_one_cpu(HELLO_PATIENCE_NS / 4);
	if (fault != SILENT)
		(void)hello_say(HELPER_SOCKET, self, fault == LACKS ? &lacks : &all);
	if (fault == USELESS || fault == SILENT) {
		(void)message_receive(HELPER_SOCKET, &(char){ 0 }, 1, fds);
		return EXIT_FAILURE;
	}
	if (fault == FRAIL && is_text())
		return EXIT_FAILURE;
	return parser_run(HELPER_SOCKET);
}

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0])) {
		char fault = strcmp(argv[1], HELPER_PARSER) == 0 ? read_fault() : WELL;

		return fault == WELL ? helper_main(argc, argv) : serve_badly(fault);
	}
	return run_tests(argc, argv);
}

static struct parsers *parsers;

static void begin(void)
{
	faulty_begin();
	cr_assert(parsers_new(program, &parsers) == 0);
}

static void end(void)
{
	parsers = parsers_drop(parsers);
	faulty_end();
}

TestSuite(starts, .init = begin, .fini = end, .timeout = 120);

static int ask_about(int fd)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	const struct parse_request request = { PARSE_FACTS, fd, -1 };
	clockid_t job_clock;

	return parsers_ask(parsers, &request, &job_clock, &result);
}

static int ask(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return ask_about(fd);
}

/* Of which parsers do not know the owner yet. */
static int ask_about_text(void)
{
	_cleanup_close_ int text = memfd_create("text", MFD_CLOEXEC);

	cr_assert(write(text, "no binary", 9) == 9);
	return ask_about(text);
}

#define PARSES_ITSELF "parses all files itself"

/* This process parses, and says so once. */
Test(starts, that_fail)
{
	static const char faults[] = { DIES, USELESS };

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		parsers_drop(parsers);
		cr_assert(parsers_new(program, &parsers) == 0);
		set_fault(faults[i]);
		for (int n = 0; n < 3; n++)
			cr_assert(ask() == 0 && ask_about_text() == -ENOEXEC);
		cr_assert_eq(n_said(PARSES_ITSELF), i + 1);
	}
}

/* A file that ends its parsers does not get into this process that way, be it the first one. */
Test(starts, that_a_file_makes_fail)
{
	set_fault(FRAIL);
	for (int n = 0; n < 3; n++)
		cr_assert_eq(ask_about_text(), -ECONNABORTED);
	cr_assert_eq(ask(), 0);
	cr_assert_eq(ask_about_text(), -ECONNABORTED);
	cr_assert_eq(n_said(PARSES_ITSELF), 0);
}

/* If there are no better ones, they are used, and that is said once. */
Test(starts, that_never_confine)
{
	set_fault(LACKS);
	for (int n = 0; n < 3; n++)
		cr_assert(ask() == 0 && ask_about_text() == -ENOEXEC);
	cr_assert_eq(n_said("confined less than they could be, without seccomp"), 1);
	cr_assert_eq(parsers_layers(parsers) & 1u << CONFINE_SECCOMP, 0);
}

/* A parser that a shortage left unconfined gets no file. */
Test(starts, that_do_not_confine_now)
{
	cr_assert_eq(ask(), 0);
	set_fault(LACKS);
	cr_assert_eq(ask_about_text(), -EAGAIN);
	cr_assert_eq(ask(), 0); /* by the other one */
	set_fault(WELL);
	cr_assert_eq(ask_about_text(), -ENOEXEC);
	cr_assert_eq(n_said("warning"), 0);
}

/* What cannot be had is said, and this process parses nothing. */
Test(starts, that_are_required)
{
	static const char faults[] = { LACKS, DIES, USELESS };
	struct confinement confinement;

	parsers_require(parsers);
	cr_assert(parsers_check(parsers, &confinement) == 0 && confinement.missing == 0);
	cr_assert_eq(ask(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		parsers_drop(parsers);
		cr_assert(parsers_new(program, &parsers) == 0);
		parsers_require(parsers);
		set_fault(faults[i]);
		if (faults[i] == DIES)
			cr_assert_lt(parsers_check(parsers, &confinement), 0);
		else
			cr_assert(parsers_check(parsers, &confinement) == 0);
		cr_assert_eq(confinement.missing != 0, faults[i] == LACKS);
		cr_assert_lt(ask(), 0, "%c", faults[i]);
	}
	cr_assert_eq(n_said("warning"), 0);
}

/* Those that the spawner has started, once there are so many and all are confined. */
static void await_confined(size_t n, pid_t ret[16])
{
	uint64_t end_ns = clock_now_ns() + 60 * UINT64_C(1000000000);
	size_t n_confined = 0;
	pid_t spawner[16];

	cr_assert_eq(children(getpid(), spawner), 1);
	while (n_confined < n && clock_now_ns() < end_ns) {
		usleep(1000);
		n_confined = 0;
		for (size_t i = children(spawner[0], ret); i-- > 0;)
			n_confined += status(ret[i], "Seccomp", 10) == 2;
	}
	cr_assert_eq(n_confined, n);
	cr_assert_eq(children(spawner[0], ret), n);
}

/* The first requests are answered by those that have been started: any other would die. */
Test(starts, in_advance)
{
	pid_t started[16];

	parsers_prepare(parsers);
	await_confined(2, started);
	set_fault(DIES);
	cr_assert_eq(ask(), 0);
	cr_assert_eq(ask_about_text(), -ENOEXEC);
	cr_assert_eq(n_said("warning"), 0);
}

/* What a check has started is not started again; but it gets the files of one owner only, too. */
Test(starts, for_a_check)
{
	struct confinement confinement;
	pid_t checked[16], started[16];

	cr_assert(parsers_check(parsers, &confinement) == 0 && confinement.missing == 0);
	await_confined(1, checked);
	cr_assert_eq(ask(), 0);
	await_confined(1, started);
	cr_assert_eq(started[0], checked[0]);
	cr_assert_eq(parsers_layers(parsers), confinement.layers);
	cr_assert_eq(ask_about_text(), -ENOEXEC);
	await_confined(2, started);
	cr_assert_eq(ask(), 0);
	await_confined(2, started);
}

static atomic_bool is_over;

static void *ask_in_thread(void *arg)
{
	(void)arg;
	(void)ask_about_text();
	is_over = true;
	return NULL;
}

/* Who needs no new parser does not wait for one that does not start. */
Test(starts, that_hold_up_nobody)
{
	pid_t spawner[16], other[16], any[16];
	pthread_t thread;

	cr_assert_eq(ask(), 0);
	cr_assert_eq(children(getpid(), spawner), 1);
	set_fault(SILENT);
	cr_assert(pthread_create(&thread, NULL, ask_in_thread, NULL) == 0);
	while (children(spawner[0], any) < 2)
		usleep(1000);
	cr_assert_eq(ask(), 0);
	/* It still waits for the first one. Then it tries another spawner. */
	cr_assert(!is_over && children(getpid(), other) == 1 && other[0] == spawner[0]);
	set_fault(WELL);
	cr_assert(pthread_join(thread, NULL) == 0);
}

/* Another process of the same user cannot look into its memory. */
Test(starts, that_nobody_reads)
{
	struct confinement confinement;
	int ends[2], opens = -1;
	char path[32];
	struct stat st;
	pid_t pid;

	if (getuid() != 0)
		cr_skip("is not root");
	cr_assert(pipe(ends) == 0);
	pid = fork();
	if (pid == 0) {
		if (setresuid(ANYBODY, ANYBODY, ANYBODY) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
			_exit(EXIT_FAILURE);
		confine_self(&confinement, &opens);
		(void)!write(ends[1], "", 1);
		for (;;)
			continue;
	}
	cr_assert_eq(read(ends[0], path, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	cr_assert_eq(stat(path, &st), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_eq(st.st_uid, 0);
}

static void *keep(void *arg)
{
	keeper_serve(*(int *)arg, getpid(), NULL, NULL);
	return NULL;
}

/* A process that has given up its rights could start no other spawner. */
Test(starts, that_fail_where_a_keeper_is_needed)
{
	pid_t spawner[16], other[16];
	pthread_t keeper;
	int sockets[2];

	cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	cr_assert(pthread_create(&keeper, NULL, keep, &sockets[0]) == 0);
	keeper_use(sockets[1]);
	cr_assert_eq(ask(), 0);
	cr_assert_eq(children(getpid(), spawner), 1);
	set_fault(SILENT);
	cr_assert_eq(ask_about_text(), -EAGAIN);
	set_fault(WELL);
	cr_assert_eq(ask_about_text(), -ENOEXEC);
	cr_assert_eq(children(getpid(), other), 1);
	cr_assert_eq(other[0], spawner[0]);
	keeper_use(0);
	close(sockets[1]);
	cr_assert(pthread_join(keeper, NULL) == 0);
	close(sockets[0]);
}

/* One that has to share its CPU is waited for: others would start no sooner. */
Test(starts, that_get_little_time)
{
	pid_t others[7];
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = fork();
		if (others[i] == 0)
			compute_on_one_cpu(UINT64_MAX);
	}
	set_fault(LONG);
	err = ask();
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		cr_assert(kill(others[i], SIGKILL) == 0 &&
			  waitpid(others[i], NULL, 0) == others[i]);
	cr_assert_eq(err, 0);
	cr_assert_eq(n_said(PARSES_ITSELF), 0);
}

/* What it could have had, but for this process's limits: a descriptor for Landlock's rules. */
Test(starts, that_know_what_is_missing)
{
	struct confinement confinement;
	int result;
	pid_t pid = fork();

	if (pid == 0) {
		(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 });
		confine_self(&confinement, NULL);
		_exit((int)confinement.missing);
	}
	cr_assert(waitpid(pid, &result, 0) == pid && WIFEXITED(result));
	cr_assert_eq(WEXITSTATUS(result), 1 << CONFINE_LANDLOCK, "%x", WEXITSTATUS(result));
}
