// SPDX-License-Identifier: Apache-2.0
/* What finders receive of others, and files that cannot be closed. This program is also the helper. */
#include "sandbox/given.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/confine.h"
#include "sandbox/finders.h"
#include "sandbox/helper.h"
#include "sandbox/parsers.h"
#include "sandbox/tests/faulty.h"
#include "sandbox/tests/helper_test.h"
#include "sandbox/tests/send_text.h"

/* The size of a file that finders close without end. */
#define UNCLOSED 671
/* Nobody is asked who they are. */
#define USER 65432
#define OTHER 65431

static bool is_finder;

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	struct stat st;
	int word = 0;

	while (is_finder && fstat(fd, &st) == 0 && st.st_size == UNCLOSED)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, word, NULL, NULL, 0);
	return __real_close(fd);
}

bool __real_confine_finder(struct confinement *ret);
bool __wrap_confine_finder(struct confinement *ret);

bool __wrap_confine_finder(struct confinement *ret)
{
	is_finder = true;
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

TestSuite(given, .init = begin, .fini = end, .timeout = 60);

/* Two ends of a connection, and what has come. */
struct connection {
	int ends[2], first;
	struct given given;
};

static void connection_init(struct connection *c)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c->ends), 0);
	c->first = -1;
}

static void connection_done(struct connection *c)
{
	close(c->ends[0]);
	close(c->ends[1]);
	if (c->first >= 0)
		close(c->first);
}

static void give(struct connection *c, const char *text, const int *fds, size_t n_fds)
{
	send_text(c->ends[0], text, fds, n_fds);
}

static int receive(struct connection *c)
{
	return finders_receive(finders, USER, c->ends[1], GIVEN_MAX_TEXT, &c->given, &c->first);
}

Test(given, is_looked_at_and_closed)
{
	_cleanup_close_ int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int reference = open("/proc/self/mem", O_PATH | O_CLOEXEC);
	_cleanup_close_ int writing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	_cleanup_close_ int of_thread = open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC);
	const int fds[] = { file, memory, reference, writing, of_thread };
	uint8_t domain[SECURITY_DOMAIN_DIGEST_SIZE];
	_cleanup_free_ char *own = NULL;
	struct connection c;
	struct stat st, found;
	char text[GIVEN_MAX_TEXT];
	bool has_files;

	connection_init(&c);
	cr_assert_eq(given_look(c.ends[1], text, sizeof(text), &has_files), -EAGAIN);
	give(&c, "plain", NULL, 0);
	cr_assert_eq(given_look(c.ends[1], text, sizeof(text), &has_files), 5);
	cr_assert(!has_files && memcmp(text, "plain", 5) == 0);
	cr_assert_eq(read(c.ends[1], text, sizeof(text)), 5);
	give(&c, "given", fds, ARRAY_SIZE(fds));
	cr_assert_eq(given_look(c.ends[1], text, sizeof(text), &has_files), 5);
	cr_assert(has_files);
	cr_assert_eq(receive(&c), 0);
	cr_assert(c.given.size == 5 && memcmp(c.given.text, "given", 5) == 0);
	cr_assert_eq(c.given.n_files, ARRAY_SIZE(fds));
	cr_assert(fstat(file, &st) == 0 && fstat(c.first, &found) == 0);
	cr_assert(st.st_dev == found.st_dev && st.st_ino == found.st_ino);
	cr_assert(file_is_reference(c.first));
	cr_assert(c.given.files[0].is_readable && !c.given.files[0].has_memory);
	cr_assert(c.given.files[0].device == st.st_dev && c.given.files[0].inode == st.st_ino);
	cr_assert(c.given.files[1].is_readable && c.given.files[1].has_memory);
	cr_assert(!c.given.files[2].is_readable && !c.given.files[2].has_memory);
	cr_assert(!c.given.files[3].is_readable);
	cr_assert(c.given.files[4].is_readable && !c.given.files[4].has_memory);
	cr_assert_eq(security_domain_read((unsigned int)getpid(), &own), 0);
	security_domain_digest(own, domain);
	cr_assert(memcmp(c.given.files[1].domain, domain, sizeof(domain)) == 0);
	cr_assert_eq(receive(&c), -EAGAIN);
	shutdown(c.ends[0], SHUT_RDWR);
	cr_assert_eq(receive(&c), -EPIPE);
	connection_done(&c);
}

/* The memory of one that has gone is at its end. */
Test(given, memory_of_a_process_that_has_ended)
{
	pid_t child = fork();
	struct connection c;
	char path[32];
	int memory;

	if (child == 0)
		pause();
	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(memory, 0);
	connection_init(&c);
	give(&c, "x", &memory, 1);
	cr_assert(receive(&c) == 0 && c.given.files[0].has_memory);
	cr_assert(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
	give(&c, "x", &memory, 1);
	close(c.first);
	cr_assert(receive(&c) == 0 && c.given.files[0].is_readable && !c.given.files[0].has_memory);
	close(memory);
	connection_done(&c);
}

/* As one whose file system does not answer when it is closed: who has given it has to wait, and nobody else. */
Test(given, files_that_cannot_be_closed)
{
	_cleanup_close_ int file = memfd_create("file", MFD_CLOEXEC);
	struct connection c;
	uint64_t began = clock_now_ns();

	cr_assert_eq(ftruncate(file, UNCLOSED), 0);
	connection_init(&c);
	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++) {
		give(&c, "x", &file, 1);
		cr_assert_eq(receive(&c), -ETIMEDOUT);
		cr_assert_eq(c.first, -1);
	}
	give(&c, "x", &file, 1);
	cr_assert_eq(receive(&c), -EBUSY);
	cr_assert_lt(clock_now_ns() - began, 10 * FETCHERS_PER_USER * FINDERS_TIME_NS);
	cr_assert_eq(finders_receive(finders, OTHER, c.ends[1], GIVEN_MAX_TEXT, &c.given, &c.first),
		     -ETIMEDOUT);
	connection_done(&c);
}

Test(given, no_more_than_there_may_be)
{
	int fds[2 * GIVEN_MAX_FILES];
	struct connection c;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = STDERR_FILENO;
	connection_init(&c);
	give(&c, "x", fds, ARRAY_SIZE(fds));
	cr_assert_eq(receive(&c), 0);
	cr_assert_eq(c.given.n_files, GIVEN_MAX_FILES);
	cr_assert_eq(finders_receive(finders, USER, c.ends[1], GIVEN_MAX_TEXT + 1, &c.given,
				     &c.first),
		     -EINVAL);
	connection_done(&c);
}

Test(given, what_is_left)
{
	static char text[3 * GIVEN_MAX_TEXT];
	const int file = STDERR_FILENO;
	struct connection c;

	connection_init(&c);
	cr_assert(!given_is_left(c.ends[1]));
	memset(text, 'x', sizeof(text) - 1);
	give(&c, text, NULL, 0);
	cr_assert(!given_is_left(c.ends[1]));
	give(&c, text, NULL, 0);
	give(&c, "x", &file, 1);
	cr_assert(given_is_left(c.ends[1]));
	do
		cr_assert_eq(receive(&c), 0);
	while (c.given.n_files == 0);
	cr_assert(!given_is_left(c.ends[1]));
	shutdown(c.ends[0], SHUT_RDWR);
	cr_assert(!given_is_left(c.ends[1]));
	connection_done(&c);
}

/* A connection whose last close waits for half a minute, as the other end does not read. */
static int make_lingering(int *ret_other)
{
	const struct linger linger = { 1, 30 };
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(address);
	_cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static char data[1 << 16];

	cr_assert_eq(bind(listener, (const struct sockaddr *)&address, size), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&address, size), 0);
	*ret_other = accept(listener, NULL, NULL);
	cr_assert_geq(*ret_other, 0);
	while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

Test(given, others_files_are_not_received_without_helpers)
{
	const int file = STDERR_FILENO;
	struct connection c;

	connection_init(&c);
	give(&c, "x", &file, 1);
	cr_assert_eq(finders_receive(NULL, USER, c.ends[1], GIVEN_MAX_TEXT, &c.given, &c.first),
		     -ESHUTDOWN);
	cr_assert_eq(finders_receive(NULL, 0, c.ends[1], GIVEN_MAX_TEXT, &c.given, &c.first), 0);
	connection_done(&c);
}

/* They would be closed with the connection. */
Test(given, files_that_nobody_receives)
{
	uint64_t began = clock_now_ns();
	struct connection c;
	int other, file;

	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++) {
		connection_init(&c);
		file = make_lingering(&other);
		give(&c, "text", NULL, 0);
		give(&c, "x", &file, 1);
		close(file);
		finders_close(finders, USER, c.ends[1]);
		c.ends[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		close(other);
		connection_done(&c);
	}
	cr_assert_lt(clock_now_ns() - began, UINT64_C(10000000000));
	connection_init(&c);
	give(&c, "x", &file, 0);
	cr_assert_eq(receive(&c), -EBUSY);
	connection_done(&c);
}

/* Nor does that cost its user anything. */
Test(given, a_connection_with_nothing_left)
{
	struct connection c;

	for (unsigned int i = 0; i < 2 * FETCHERS_PER_USER; i++) {
		connection_init(&c);
		give(&c, "text", NULL, 0);
		finders_close(finders, USER, c.ends[1]);
		cr_assert_eq(read(c.ends[0], &(char){ 0 }, 1), 0);
		c.ends[1] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		connection_done(&c);
	}
	connection_init(&c);
	give(&c, "x", NULL, 0);
	cr_assert_eq(receive(&c), 0);
	connection_done(&c);
}
