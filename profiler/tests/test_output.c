// SPDX-License-Identifier: Apache-2.0
/* Output files: replaced when there is something to write, kept if a run fails; devices. */
#include "profiler/output.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

static char directory[64], path[96];

static void begin(void)
{
	snprintf(directory, sizeof(directory), "/tmp/output.XXXXXX");
	cr_assert(mkdtemp(directory));
	/* The tests may be run by sudo. */
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	snprintf(path, sizeof(path), "%s/report", directory);
}

static void end(void)
{
	unlink(path);
	cr_assert_eq(rmdir(directory), 0);
}

TestSuite(output, .init = begin, .fini = end);

static void expect_content(const char *text)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char content[64] = "";

	cr_assert(fd >= 0 && read(fd, content, sizeof(content) - 1) >= 0);
	cr_assert_str_eq(content, text);
}

static void write_to(const char *text)
{
	struct output o;

	cr_assert_eq(output_open(path, -1, &o), 0);
	cr_assert_eq(output_begin(&o), 0);
	fputs(text, o.file);
	cr_assert_eq(output_close(&o), 0);
}

Test(output, replaces_what_was_there_once_there_is_something)
{
	struct output o;

	write_to("a long report");
	expect_content("a long report");
	/* Nothing to write: the old content stays. */
	cr_assert_eq(output_open(path, -1, &o), 0);
	cr_assert_eq(output_close(&o), 0);
	expect_content("a long report");
	write_to("short");
	expect_content("short");
}

Test(output, leaves_no_file_that_it_made_for_nothing)
{
	struct output o;

	cr_assert_eq(output_open(path, -1, &o), 0);
	cr_assert_eq(access(path, F_OK), 0);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_neq(access(path, F_OK), 0);
}

/* The same file is written, so its readers keep reading it. */
Test(output, writes_the_file_that_is_there)
{
	char target[112];
	struct stat before, after;

	snprintf(target, sizeof(target), "%s.real", path);
	close(open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0640));
	cr_assert(stat(target, &before) == 0 && symlink(target, path) == 0);
	write_to("text");
	expect_content("text");
	cr_assert(stat(target, &after) == 0 && after.st_ino == before.st_ino &&
		  after.st_mode == before.st_mode);
	cr_assert(lstat(path, &after) == 0 && S_ISLNK(after.st_mode));
	unlink(target);
}

static void need_root(void)
{
	if (geteuid() != 0)
		cr_skip_test("only root can make files of other users");
}

static struct stat stat_path(void)
{
	struct stat st;

	cr_assert(lstat(path, &st) == 0);
	return st;
}

Test(output, is_for_its_owner_alone)
{
	umask(0);
	write_to("text");
	cr_assert_eq(stat_path().st_mode, S_IFREG | 0600);
	cr_assert(chmod(path, 0644) == 0);
	/* What its owner has decided since is left alone. */
	write_to("text");
	cr_assert_eq(stat_path().st_mode, S_IFREG | 0644);
}

Test(output, belongs_to_the_caller_of_sudo)
{
	char target[112];
	struct stat st;

	need_root();
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "12346", 1);
	write_to("text");
	cr_assert(stat_path().st_uid == 12345 && stat_path().st_gid == 12346);
	/* It is also the caller's to say where to write. */
	write_to("again");
	expect_content("again");
	/* Also behind a link of the caller's. */
	snprintf(target, sizeof(target), "%s.real", path);
	unlink(path);
	cr_assert(symlink(target, path) == 0 && lchown(path, 12345, 12346) == 0);
	write_to("text");
	cr_assert(stat(target, &st) == 0 && st.st_uid == 12345 && st.st_gid == 12346);
	unlink(target);
	setenv("SUDO_UID", "nobody", 1);
	unlink(path);
	write_to("text");
	cr_assert_eq(stat_path().st_uid, 0);
}

/* An open of the FIFO would wait for a reader, and the link may lead to a file of root's. */
Test(output, refuses_links_and_pipes_of_other_users)
{
	char target[112];
	struct output o;

	need_root();
	snprintf(target, sizeof(target), "%s.real", path);
	alarm(10);
	for (int exists = 0; exists < 2; exists++) {
		cr_assert(symlink(target, path) == 0 && lchown(path, 12345, 12345) == 0);
		cr_assert_eq(output_open(path, -1, &o), -EOWNERDEAD);
		cr_assert_eq(access(target, F_OK), exists - 1);
		close(creat(target, 0600));
		unlink(path);
	}
	unlink(target);
	cr_assert(mkfifo(path, 0666) == 0 && chown(path, 12345, 12345) == 0);
	cr_assert_eq(output_open(path, -1, &o), -EOWNERDEAD);
}

static void expect_another_file(const struct stat *before)
{
	struct output o;

	cr_assert_eq(output_open(path, -1, &o), 0);
	/* Not yet */
	cr_assert_eq(stat_path().st_ino, before->st_ino);
	cr_assert_eq(output_begin(&o), 0);
	fputs("text", o.file);
	cr_assert_eq(output_close(&o), 0);
	expect_content("text");
	cr_assert_neq(stat_path().st_ino, before->st_ino);
	cr_assert(stat_path().st_mode == (S_IFREG | 0600) && stat_path().st_uid == geteuid());
}

/* They may have it open, to read it or to change it. */
Test(output, takes_the_place_of_files_of_other_users)
{
	struct stat before;
	struct output o;

	need_root();
	close(creat(path, 0666));
	cr_assert(chown(path, 12345, 12345) == 0);
	before = stat_path();
	expect_another_file(&before);
	/* Nothing to write: it stays, and nothing beside it. */
	cr_assert(chown(path, 12345, 12345) == 0);
	cr_assert_eq(output_open(path, -1, &o), 0);
	cr_assert_eq(output_close(&o), 0);
	expect_content("text");
}

/* Runs a function as a user without privileges, in a child. */
static void as_nobody(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		fn();
		_exit(0);
	}
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void expect_refusal(void)
{
	struct output o;

	if (output_open(path, -1, &o) != -EOWNERDEAD)
		_exit(2);
}

static void expect_replacement(void)
{
	struct output o;

	if (output_open(path, -1, &o) < 0 || output_begin(&o) < 0 || output_close(&o) < 0)
		_exit(2);
}

/* Before sampling, not after it. */
Test(output, finds_out_early_that_a_file_must_stay)
{
	need_root();
	close(creat(path, 0666));
	cr_assert(chown(path, 12345, 12345) == 0);
	for (mode_t mode = 0755; mode != 0; mode = mode == 0755 ? 01777 : 0) {
		cr_assert(chmod(directory, mode) == 0);
		as_nobody(expect_refusal);
	}
	cr_assert_eq(stat_path().st_uid, 12345);
	cr_assert(chmod(directory, 0777) == 0);
	as_nobody(expect_replacement);
	cr_assert_eq(stat_path().st_uid, 65534);
}

/* Anybody may have given a file of this user's another name, link(2). */
Test(output, does_not_write_to_a_file_with_other_names)
{
	char target[112];
	struct stat before;

	snprintf(target, sizeof(target), "%s.real", path);
	close(creat(target, 0644));
	cr_assert(link(target, path) == 0);
	before = stat_path();
	expect_another_file(&before);
	cr_assert(stat(target, &before) == 0 && before.st_size == 0);
	unlink(target);
}

/* A bare chroot may lack the device, and a regular file would be created. */
static bool is_device(const char *file)
{
	struct stat st;

	return stat(file, &st) == 0 && S_ISCHR(st.st_mode);
}

Test(output, goes_to_devices)
{
	struct output o;

	cr_assert(is_device("/dev/null"));
	cr_assert_eq(output_open("/dev/null", -1, &o), 0);
	cr_assert_eq(output_begin(&o), 0);
	fputs("text", o.file);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_eq(access("/dev/null", F_OK), 0);
}

Test(output, says_what_goes_wrong)
{
	struct output o;

	cr_assert_eq(output_open("/nowhere/at/all", -1, &o), -ENOENT);
	cr_assert_eq(output_open(directory, -1, &o), -EISDIR);
	cr_assert(is_device("/dev/full"));
	cr_assert_eq(output_open("/dev/full", -1, &o), 0);
	cr_assert_eq(output_begin(&o), 0);
	fputs("text", o.file);
	cr_assert_eq(output_close(&o), -ENOSPC);
}

/* What others have written there stays, and the descriptor is still theirs. */
Test(output, of_stderr_is_added)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct output o;

	cr_assert(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	close(fd);
	cr_assert_eq(dprintf(STDERR_FILENO, "a message\n"), 10);
	cr_assert_eq(output_open(OUTPUT_STDERR, -1, &o), 0);
	cr_assert_eq(output_begin(&o), 0);
	fputs("a report\n", o.file);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_eq(dprintf(STDERR_FILENO, "another\n"), 8);
	expect_content("a message\na report\nanother\n");
}

/* Somebody who waits until a thread sleeps, and then does something for it. */
struct other {
	pid_t waits;
	int end; /* -1: this one reads */
	int reader;
};

static void *help(void *arg)
{
	struct other *other = arg;
	char status[64], text[256];

	snprintf(status, sizeof(status), "/proc/self/task/%d/stat", other->waits);
	do {
		_cleanup_close_ int fd = open(status, O_RDONLY | O_CLOEXEC);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = '\0';
		usleep(1000);
	} while (!strstr(text, ") S "));
	if (other->end >= 0)
		cr_assert_eq(eventfd_write(other->end, 1), 0);
	else
		other->reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return NULL;
}

/* Opens it while a thread helps. */
static int open_with(struct other *other, int end, struct output *ret)
{
	pthread_t thread;
	int err;

	other->waits = gettid();
	cr_assert_eq(pthread_create(&thread, NULL, help, other), 0);
	err = output_open(path, end, ret);
	pthread_join(thread, NULL);
	return err;
}

Test(output, has_a_reader_if_it_is_a_pipe, .timeout = 20)
{
	_cleanup_close_ int end = eventfd(0, EFD_CLOEXEC);
	struct other reads = { .end = -1 }, ends = { .end = end };
	struct output o;

	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(open_with(&reads, end, &o), 0);
	cr_assert_eq(fcntl(fileno(o.file), F_GETFL) & O_NONBLOCK, 0, "it waits for who reads");
	cr_assert_eq(output_close(&o), 0);
	close(reads.reader);
	cr_assert_eq(open_with(&ends, end, &o), -ECANCELED);
	/* Also if it was over before. */
	cr_assert_eq(output_open(path, end, &o), -ECANCELED);
}
