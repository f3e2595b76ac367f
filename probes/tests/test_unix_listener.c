// SPDX-License-Identifier: Apache-2.0
#include "probes/unix_listener.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[] = "/tmp/listener-XXXXXX";
static char path[64];

static void set_up(void)
{
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
}

static void tear_down(void)
{
	unlink(path);
	rmdir(directory);
}

/* Whoever blocks is caught. */
TestSuite(unix_listener, .init = set_up, .fini = tear_down, .timeout = 20);

static int open_socket(struct unix_listener *ret)
{
	return unix_listener_open(path, 1, NULL, ret);
}

static bool is_there(void)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int connect_to_it(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(address.sun_path, path);
	cr_assert_geq(fd, 0);
	return connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

Test(unix_listener, may_be_used_by_its_owner_alone)
{
	struct unix_listener listener;
	struct stat st;

	cr_assert_geq(open_socket(&listener), 0);
	cr_assert_eq(lstat(path, &st), 0);
	cr_assert_eq(st.st_mode, S_IFSOCK | 0600);
	cr_assert_eq(connect_to_it(), 0);
	unix_listener_remove(&listener);
	cr_assert_not(is_there());
}

Test(unix_listener, replaces_that_of_a_process_that_has_ended)
{
	struct unix_listener dead, listener;
	int fd = open_socket(&dead);

	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert(is_there());
	cr_assert_geq(open_socket(&listener), 0);
	cr_assert_eq(connect_to_it(), 0);
}

/* One that hangs accepts nobody. */
Test(unix_listener, does_not_wait_for_one_without_room)
{
	struct unix_listener full, listener;
	int err;

	cr_assert_geq(open_socket(&full), 0);
	do
		err = connect_to_it();
	while (err == 0);
	cr_assert_eq(err, -EAGAIN);
	cr_assert_eq(open_socket(&listener), -EADDRINUSE);
	cr_assert(is_there());
}

Test(unix_listener, replaces_an_earlier_one_of_this_process_if_asked)
{
	struct unix_listener earlier, listener;
	bool replaces_own = true;

	cr_assert_geq(unix_listener_open(path, 1, &replaces_own, &earlier), 0);
	cr_assert_not(replaces_own);
	cr_assert_eq(open_socket(&listener), -EADDRINUSE);
	cr_assert_geq(unix_listener_open(path, 1, &replaces_own, &listener), 0);
	cr_assert(replaces_own);
	cr_assert_eq(connect_to_it(), 0);
}

Test(unix_listener, does_not_replace_another_process_s)
{
	struct unix_listener other, listener;
	bool replaces_own;
	int ready[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (open_socket(&other) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	cr_assert_eq(unix_listener_open(path, 1, &replaces_own, &listener), -EADDRINUSE);
	cr_assert_not(replaces_own);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(unix_listener, leaves_what_is_no_socket)
{
	struct unix_listener listener;
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(open_socket(&listener), -EADDRINUSE);
	unix_listener_remove(&listener);
	cr_assert(is_there());
}

Test(unix_listener, leaves_one_that_has_taken_its_place)
{
	struct unix_listener first, second;

	cr_assert_geq(open_socket(&first), 0);
	cr_assert_eq(unlink(path), 0);
	cr_assert_geq(open_socket(&second), 0);
	unix_listener_remove(&first);
	cr_assert(is_there());
	cr_assert_eq(connect_to_it(), 0);
}

Test(unix_listener, has_a_short_path)
{
	struct unix_listener listener;

	cr_assert_eq(unix_listener_open("/tmp/"
					"0123456789012345678901234567890123456789"
					"0123456789012345678901234567890123456789"
					"0123456789012345678901234567890123456789",
					1, NULL, &listener),
		     -ENAMETOOLONG);
	unix_listener_remove(&listener);
}
