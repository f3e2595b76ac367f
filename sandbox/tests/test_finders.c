// SPDX-License-Identifier: Apache-2.0
/*
 * Files that finders open, those that helpers get of them, and what becomes of finders that do not come
 * back. This program is also the helper.
 */
#include "sandbox/finders.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cache/stored_file.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/finder.h"
#include "sandbox/helper.h"
#include "sandbox/message.h"
#include "sandbox/opener.h"
#include "sandbox/parsers.h"
#include "sandbox/passage.h"
#include "sandbox/starter.h"
#include "sandbox/tests/faulty.h"
#include "sandbox/tests/helper_test.h"

#define DIES 'd' /* before it says hello */

/* Sizes of files that only a finder meets: it never comes back, or ends; and of one that is foreign. */
#define ENDLESS 666
#define DEADLY 667
#define FOREIGN 668
#define ORDINARY 669
/* Parsers read this one without end. */
#define STUCK 670
/* Nobody is asked who they are. */
#define USER 65432
#define OTHER 65431

static bool is_finder;

static off_t size_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_size : -1;
}

int __real_file_reopen(int fd);
int __wrap_file_reopen(int fd);

int __wrap_file_reopen(int fd)
{
	int word = 0;

	while (is_finder && size_of(fd) == ENDLESS)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, word, NULL, NULL, 0);
	if (is_finder && size_of(fd) == DEADLY)
		_exit(1);
	return __real_file_reopen(fd);
}

int __real_parse_here(const struct parse_request *request, struct parse_result *ret);
int __wrap_parse_here(const struct parse_request *request, struct parse_result *ret);

int __wrap_parse_here(const struct parse_request *request, struct parse_result *ret)
{
	int word = 0;

	while (size_of(request->fd) == STUCK)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, word, NULL, NULL, 0);
	return __real_parse_here(request, ret);
}

bool __real_stored_file_is_foreign(int fd);
bool __wrap_stored_file_is_foreign(int fd);

bool __wrap_stored_file_is_foreign(int fd)
{
	return size_of(fd) == FOREIGN || __real_stored_file_is_foreign(fd);
}

bool __real_confine_finder(struct confinement *ret);
bool __wrap_confine_finder(struct confinement *ret);

bool __wrap_confine_finder(struct confinement *ret)
{
	is_finder = true;
	if (read_fault() == DIES)
		_exit(1);
	return __real_confine_finder(ret);
}

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static struct parsers *parsers;
static struct finders *finders;

static void begin(void)
{
	if (geteuid() != 0)
		cr_skip("they need CAP_DAC_READ_SEARCH");
	faulty_begin();
	cr_assert(parsers_new(program, &parsers) == 0);
	cr_assert(parsers_use_finders(parsers) == 0);
	finders = parsers_finders(parsers);
}

static void end(void)
{
	parsers_drop(parsers);
	faulty_end();
}

TestSuite(finders, .init = begin, .fini = end, .timeout = 60);

/* Refers to a file in memory of this size, on a device that is nowhere to be seen. */
static int make(off_t size)
{
	_cleanup_close_ int fd = memfd_create("file", MFD_CLOEXEC);
	char link[32];
	int reference;

	cr_assert(fd >= 0 && ftruncate(fd, size) == 0 && pwrite(fd, "x", 1, 0) == 1);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	reference = open(link, O_PATH | O_CLOEXEC);
	cr_assert(reference >= 0);
	return reference;
}

static int refer_to(const char *path)
{
	int reference = open(path, O_PATH | O_CLOEXEC);

	cr_assert(reference >= 0, "%s", path);
	return reference;
}

/* 0 or an error of finders_open(). */
static int attempt(uid_t user, int reference)
{
	struct found_file found;
	int err = finders_open(finders, user, reference, &found);

	if (err == 0)
		close(found.fd);
	return err;
}

static int attempt_size(uid_t user, off_t size)
{
	_cleanup_close_ int reference = make(size);

	return attempt(user, reference);
}

/* Those that live; one that was killed may take a while to end. */
static size_t count(pid_t *ret_first)
{
	pid_t spawner[16], found[16];
	size_t n;

	cr_assert_geq(children(getpid(), spawner), 1);
	n = children(spawner[0], found);
	*ret_first = n > 0 ? found[0] : 0;
	return n;
}

static pid_t finder(void)
{
	pid_t first;

	while (count(&first) != 1)
		usleep(1000);
	return first;
}

Test(finders, open_what_is_there)
{
	_cleanup_close_ int reference = refer_to("/proc/self/exe"), root = refer_to("/proc");
	struct found_file found;
	struct stat st;
	char path[64];

	cr_assert(stat("/proc/self/exe", &st) == 0);
	cr_assert_eq(finders_open(finders, USER, reference, &found), 0);
	cr_assert(!found.is_foreign && !file_is_reference(found.fd));
	cr_assert(found.st.st_ino == st.st_ino && found.st.st_size == st.st_size);
	cr_assert(pread(found.fd, path, 4, 0) == 4 && memcmp(path, "\177ELF", 4) == 0);
	close(found.fd);

	snprintf(path, sizeof(path), "%s/file", directory);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0));
	cr_assert(chown(path, OTHER, OTHER) == 0 && stat(path, &st) == 0);
	cr_assert_eq(finders_look_up(finders, USER, -1, path, st.st_ino, &found), 0);
	cr_assert_eq(found.st.st_ino, st.st_ino);
	close(found.fd);
	cr_assert_eq(finders_look_up(finders, USER, -1, path, st.st_ino + 1, &found), -ESTALE);
	cr_assert_eq(finders_look_up(finders, USER, root, path, 0, &found), -ENOENT);
	cr_assert_eq(finders_look_up(finders, USER, root, "/version", 0, &found), 0);
	close(found.fd);
	unlink(path);
	cr_assert_gt(finder(), 0);
	cr_assert_eq(n_said("warning"), 0);
}

/* A source file, which this process does not open. */
Test(finders, copy_text)
{
	_cleanup_close_ int text = memfd_create("text", MFD_CLOEXEC);
	char path[64], found[8] = "";
	int file;

	snprintf(path, sizeof(path), "%s/file", directory);
	file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0);
	cr_assert(file >= 0 && write(file, "text", 4) == 4);
	close(file);
	cr_assert_eq(chown(path, OTHER, OTHER), 0);
	cr_assert_eq(finders_copy_source(finders, USER, path, text), 4);
	cr_assert(pread(text, found, sizeof(found), 0) == 4 && strcmp(found, "text") == 0);
	unlink(path);
	cr_assert_eq(finders_copy_source(finders, USER, path, text), -ENOENT);
	cr_assert_eq(mkfifo(path, 0666), 0);
	cr_assert_eq(finders_copy_source(finders, USER, path, text), -ESTALE);
	unlink(path);
	cr_assert_eq(finders_copy_source(NULL, USER, path, text), -ENOENT);
	cr_assert_gt(finder(), 0);
}

/* It costs the user who has mapped that file, for a while, and nobody else. */
Test(finders, are_given_up)
{
	_cleanup_close_ int known = refer_to("/proc/self/exe");
	uint64_t began;
	pid_t first;

	cr_assert_eq(attempt(OTHER, known), 0); /* which makes it so */
	cr_assert_eq(attempt_size(USER, ORDINARY), 0);
	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++) {
		began = clock_now_ns();
		cr_assert_eq(attempt_size(USER, ENDLESS), -ETIMEDOUT);
		cr_assert_lt(clock_now_ns() - began, 10 * FINDERS_TIME_NS);
	}
	while (count(&first) > 0)
		usleep(1000); /* they are killed */
	cr_assert_eq(attempt_size(USER, ENDLESS), -EBUSY);
	cr_assert_eq(attempt_size(USER, ORDINARY), -EBUSY);
	cr_assert_eq(count(&first), 0);
	cr_assert_eq(attempt_size(OTHER, ORDINARY), 0);
	cr_assert_eq(attempt(USER, known), 0);
	cr_assert_eq(n_said("warning"), 0); /* whoever wanted the file says so */
}

/* What the one who runs this program has named, whoever has made it, costs its file system alone. */
Test(finders, are_given_up_for_a_file_system)
{
	_cleanup_close_ int elsewhere = refer_to("/proc/version");
	pid_t first;

	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++)
		cr_assert_eq(attempt_size(geteuid(), ENDLESS), -ETIMEDOUT);
	while (count(&first) > 0)
		usleep(1000); /* they are killed */
	cr_assert_eq(attempt_size(geteuid(), ENDLESS), -EBUSY);
	cr_assert_eq(attempt_size(geteuid(), ORDINARY), -EBUSY);
	cr_assert_eq(attempt(geteuid(), elsewhere), 0);
	cr_assert_eq(attempt_size(USER, ORDINARY), 0);
}

/* Links lead to any file system, and cost one another. */
Test(finders, follow_links)
{
	char path[64], link[64], there[96];
	struct found_file found;
	struct stat st;

	snprintf(path, sizeof(path), "%s/file", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	snprintf(there, sizeof(there), "%s/file", link);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	cr_assert(stat(path, &st) == 0 && symlink(".", link) == 0);
	cr_assert_eq(finders_look_up(finders, geteuid(), -1, there, st.st_ino, &found), 0);
	cr_assert_eq(found.st.st_ino, st.st_ino);
	close(found.fd);
	cr_assert_eq(finders_look_up(finders, geteuid(), -1, there, st.st_ino + 1, &found),
		     -ESTALE);
	unlink(link);
	unlink(path);
}

static void *open_endless(void *ret)
{
	*(int *)ret = attempt_size(USER, ENDLESS);
	return NULL;
}

/* However many are asked for at the same time. */
Test(finders, are_few)
{
	int results[3 * FETCHERS_PER_USER], n_tried = 0;
	pthread_t threads[ARRAY_SIZE(results)];
	size_t most = 0;
	pid_t first;

	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, open_endless, &results[i]), 0);
	/* For a while after as many have started as may. */
	for (int i = 0; i < 50; i += most >= FETCHERS_PER_USER) {
		size_t n = count(&first);

		most = n > most ? n : most;
		usleep(10000);
	}
	cr_assert_eq(attempt_size(OTHER, ORDINARY), 0);
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		pthread_join(threads[i], NULL);
		cr_assert(results[i] == -ETIMEDOUT || results[i] == -EBUSY, "%d", results[i]);
		n_tried += results[i] == -ETIMEDOUT;
	}
	cr_assert_eq(n_tried, FETCHERS_PER_USER);
	cr_assert_eq(most, FETCHERS_PER_USER);
}

/* Nobody is to blame for it. */
Test(finders, are_replaced)
{
	static const int signals[] = { SIGKILL, SIGSTOP };

	cr_assert_eq(attempt_size(USER, DEADLY), -EAGAIN);
	for (unsigned int i = 0; i < 2 * FETCHERS_PER_USER; i++) {
		cr_assert_eq(attempt_size(USER, ORDINARY), 0);
		cr_assert_eq(kill(finder(), signals[i % 2]), 0);
	}
	cr_assert_eq(attempt_size(USER, ORDINARY), 0);
	cr_assert_eq(n_said("warning"), 0);
}

static void *open_ordinary(void *ret)
{
	*(int *)ret = attempt_size(USER, ORDINARY);
	return NULL;
}

/* All that are idle, so fast that samples can wait for it. */
Test(finders, are_replaced_by_new_ones)
{
	uint64_t since = clock_now_ns();
	int results[FETCHERS_PER_USER];
	pthread_t threads[ARRAY_SIZE(results)];
	pid_t spawner[16], found[16];
	size_t n = 0;

	while (n < ARRAY_SIZE(results)) {
		for (size_t i = 0; i < ARRAY_SIZE(results); i++)
			cr_assert_eq(pthread_create(&threads[i], NULL, open_ordinary, &results[i]),
				     0);
		for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
			pthread_join(threads[i], NULL);
			cr_assert_eq(results[i], 0);
		}
		cr_assert_geq(children(getpid(), spawner), 1);
		n = children(spawner[0], found);
		cr_assert_lt(clock_now_ns(), since + 30 * FINDERS_TIME_NS);
	}
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(kill(found[i], SIGSTOP), 0);
	since = clock_now_ns();
	cr_assert_eq(attempt_size(USER, ORDINARY), 0);
	cr_assert_lt(clock_now_ns(), since + 10 * FINDERS_TIME_NS);
}

/* This process opens files, and says so once. */
Test(finders, that_do_not_start)
{
	_cleanup_close_ int foreign = make(FOREIGN);
	struct found_file found;
	pid_t first;

	set_fault(DIES);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(finders_open(finders, USER, foreign, &found), 0);
		cr_assert(found.is_foreign && !file_is_reference(found.fd));
		close(found.fd);
	}
	while (count(&first) > 0)
		usleep(1000);
	cr_assert_eq(n_said("itself, with its rights"), 1);
	finders = NULL; /* without any, likewise */
	cr_assert_eq(attempt(USER, foreign), 0);
}

/* The file goes from one helper to the other: whoever closes it may wait. */
Test(finders, pass_files_on)
{
	struct found_file found;
	struct passage passage;
	_cleanup_close_ int foreign = make(FOREIGN), there = -1;
	char byte;

	cr_assert_eq(finders_open(finders, USER, foreign, &found), 0);
	cr_assert(found.is_foreign && file_is_reference(found.fd) && found.st.st_size == FOREIGN);
	cr_assert_eq(passage_init(&passage, found.fd), 0);
	there = fcntl(passage_end(&passage), F_DUPFD_CLOEXEC, 0);
	cr_assert_eq(passage_complete(&passage, finders, USER), 0);
	passage_take(&there);
	cr_assert(pread(there, &byte, 1, 0) == 1 && byte == 'x');
	cr_assert_eq(size_of(there), FOREIGN);
	passage_done(&passage);
	/* One that is open goes itself. */
	cr_assert_eq(passage_init(&passage, there), 0);
	cr_assert_eq(passage_end(&passage), there);
	cr_assert_eq(passage_complete(&passage, NULL, USER), 0);
	passage_take(&there);
	cr_assert_eq(size_of(there), FOREIGN);
	close(found.fd);
}

/* About generated code: who takes samples waits for it. */
Test(finders, open_what_samples_wait_for)
{
	_cleanup_close_ int endless = make(ENDLESS), self = refer_to("/proc/self/exe");
	_cleanup_close_ int root = refer_to(directory), dump = -1, again = -1, map = -1;
	uint64_t begun;
	char path[64];

	cr_assert_eq(attempt_size(USER, ORDINARY), 0); /* a finder is there */
	begun = clock_now_ns();
	cr_assert_eq(finders_open_dump(finders, USER, endless, NULL, 0), -ETIMEDOUT);
	cr_assert_lt(clock_now_ns() - begun, FINDERS_TIME_NS);
	dump = finders_open_dump(finders, USER, self, NULL, 0);
	again = finders_open_dump(finders, USER, root, "program", 0);
	cr_assert(dump >= 0 && again >= 0);
	begun = clock_now_ns();
	kill(finder(), SIGSTOP);
	cr_assert_eq(finders_open_map(finders, USER, root, 7, geteuid()), -ENOENT);
	cr_assert_lt(clock_now_ns() - begun, FINDERS_TIME_NS);
	cr_assert_eq(finders_open_map(finders, USER, root, 7, geteuid()), -ENOENT);
	snprintf(path, sizeof(path), "%s/tmp", directory);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/tmp/perf-7.map", directory);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	map = finders_open_map(finders, USER, root, 7, geteuid());
	cr_assert_geq(map, 0);
	cr_assert_eq(finders_open_map(finders, USER, root, 7, OTHER), -ENOENT);
	cr_assert_eq(finders_open_map(finders, USER, root, 8, geteuid()), -ENOENT);
	unlink(path);
	snprintf(path, sizeof(path), "%s/tmp", directory);
	rmdir(path);
}

/* The other helper waits no more then. */
Test(finders, pass_nothing_on)
{
	_cleanup_close_ int endless = make(ENDLESS), there = -1;
	struct passage passage;

	cr_assert_eq(passage_init(&passage, endless), 0);
	there = fcntl(passage_end(&passage), F_DUPFD_CLOEXEC, 0);
	cr_assert_eq(passage_complete(&passage, finders, USER), -ETIMEDOUT);
	passage_take(&there);
	cr_assert_eq(there, -1);
}

/* It may have been killed, and another be asked. */
Test(finders, pass_to_one_that_has_ended)
{
	_cleanup_close_ int foreign = make(FOREIGN);
	struct passage passage;

	cr_assert_eq(passage_init(&passage, foreign), 0);
	cr_assert_eq(passage_complete(&passage, finders, USER), -ECONNABORTED);
}

static int ask(int fd, struct parse_result *ret)
{
	const struct parse_request request = {
		.kind = PARSE_FACTS,
		.fd = fd,
		.other = -1,
		.user = USER,
	};
	clockid_t clock = 0;

	return parsers_ask(parsers, &request, &clock, ret);
}

Test(finders, help_parsers)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 }, other = { 0 };
	_cleanup_close_ int self = refer_to("/proc/self/exe"), endless = make(ENDLESS);

	cr_assert_eq(ask(self, &result), 0);
	cr_assert_gt(result.facts.n_segments, 0);
	cr_assert_eq(ask(endless, &other), -ETIMEDOUT);
	parse_result_done(&result);
	cr_assert_eq(ask(self, &result), 0);
	cr_assert_eq(n_said("warning"), 0);
}

/* It costs the user as much. */
Test(finders, know_of_stuck_parsers)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int stuck = make(STUCK), self = refer_to("/proc/self/exe");
	pid_t first;

	parsers_set_cpu_limit(parsers, PARSERS_CPU_NS / 20);
	cr_assert_eq(attempt(OTHER, self), 0); /* which makes it known */
	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++)
		cr_assert_eq(ask(stuck, &result), -ETIMEDOUT);
	cr_assert_eq(ask(stuck, &result), -EBUSY);
	cr_assert_eq(attempt_size(USER, ORDINARY), -EBUSY);
	cr_assert_eq(attempt_size(OTHER, ORDINARY), 0);
	while (count(&first) > 1)
		usleep(1000); /* they are killed */
	parsers_set_cpu_limit(parsers, PARSERS_CPU_NS);
	cr_assert_eq(ask(self, &result), 0);
}

/* A helper that opens a debug file, of this size, and tells what it has got. */
static void be_reader(int socket, const char *path)
{
	struct confinement confinement;
	char bytes[4] = "";
	int opens[OPENER_N_ENDS] = { -1, -1, -1 }, fd;

	opener_open_self(opens);
	confine_self(&confinement, &opens[OPENER_LISTENER]);
	(void)message_send(socket, "", 1, opens, OPENER_N_ENDS);
	opener_close(opens);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!pread(fd, bytes, sizeof(bytes), 0);
	(void)message_send(socket, bytes, sizeof(bytes), NULL, 0);
	_exit(0);
}

/* What it gets is not open in this process. */
Test(finders, help_who_opens)
{
	struct opener opener = {
		.ends = { -1, -1, -1 }, .user = 0, .finders = finders, .asker = USER
	};
	int sockets[2], fds[MESSAGE_MAX_FDS], file;
	char path[64], bytes[4];
	struct stat st;
	pid_t child;

	snprintf(path, sizeof(path), "%s/debug", directory);
	file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	cr_assert(file >= 0 && pwrite(file, "\177ELF", 4, 0) == 4);
	cr_assert(ftruncate(file, FOREIGN) == 0 && fstat(file, &st) == 0);
	close(file);
	cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	child = fork();
	if (child == 0)
		be_reader(sockets[1], path);
	close(sockets[1]);
	cr_assert(message_receive(sockets[0], bytes, 1, fds) == 0 && fds[0] >= 0);
	memcpy(opener.ends, fds, sizeof(opener.ends));
	opener.device = st.st_dev;
	opener_answer(&opener);
	cr_assert_eq(opener.opened, FOREIGN);
	cr_assert(message_receive(sockets[0], bytes, sizeof(bytes), fds) == 0);
	cr_assert_eq(memcmp(bytes, "\177ELF", 4), 0);
	close(sockets[0]);
	opener_close(opener.ends);
	waitpid(child, NULL, 0);
	unlink(path);
}

Test(finders, hold_what_they_need)
{
	cr_assert_eq(attempt_size(USER, ORDINARY), 0);
	cr_assert_eq(status(finder(), "Seccomp", 10), 2);
	cr_assert_eq(status(finder(), "NoNewPrivs", 10), 1);
	cr_assert_eq(status(finder(), "CapEff", 16), 1u << CAP_DAC_READ_SEARCH);
	cr_assert_eq(status(finder(), "CapPrm", 16), 1u << CAP_DAC_READ_SEARCH);
	cr_assert_eq(status(finder(), "Uid", 10), 65533);
}
