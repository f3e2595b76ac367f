// SPDX-License-Identifier: Apache-2.0
/* Who listens for probes of users other than root, with a kernel simulated by the test. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "probes/parameter_source.h"
#include "probes/tests/probe_asks.h"

#define USER 65432
#define GROUP 65431

TestSuite(probe_users, .init = begin, .fini = end, .timeout = 60);

static bool is_refused(json_t *answer, const char *why)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	return error && strstr(error, why);
}

static const char *text_of_first(const char *key)
{
	json_t *list = json_object_get(ask("{\"do\": \"list\"}\n", NULL, 0), "probes");

	return json_string_value(json_object_get(json_array_get(list, 0), key)) ?: "";
}

static const char *state_of_first(void)
{
	return text_of_first("state");
}

static bool is_ended_in_status(const char *why)
{
	json_t *ended = json_object_get(ask("{\"do\": \"status\"}\n", NULL, 0), "ended");
	const json_t *first = json_array_get(ended, 0);
	const char *text = json_string_value(json_object_get(first, "why"));

	return text && strstr(text, why) && json_integer_value(json_object_get(first, "id")) == 1;
}

static void listen_to_users(void)
{
	if (geteuid() != 0)
		cr_skip("it becomes another user");
	cr_assert_eq(chmod(directory, 0755), 0);
	cr_assert_eq(listen_there(), 0);
	cr_assert_eq(chmod(path, 0666), 0);
}

static pid_t start_as(uid_t user, int (*act)(pid_t parent))
{
	const pid_t parent = getpid();
	pid_t child = fork();

	if (child == 0)
		_exit(setgroups(0, NULL) < 0 || setresgid(GROUP, GROUP, GROUP) < 0 ||
				      setresuid(user, user, user) < 0 ||
				      prctl(PR_SET_DUMPABLE, 1) < 0 ?
			      100 :
			      act(parent));
	return child;
}

static int result_of(pid_t child)
{
	int status;

	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Returns what `act` does. */
static int as_user(int (*act)(pid_t parent), pid_t *ret)
{
	*ret = start_as(USER, act);
	return result_of(*ret);
}

/* Returns the number of what went wrong. */
static int add_own(pid_t parent)
{
	char own[64], others[64], label[128];
	int memory;

	memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	snprintf(own, sizeof(own), ", \"pids\": [%d]", (int)getpid());
	snprintf(others, sizeof(others), ", \"pids\": [%d]", (int)parent);
	if (!is_refused(add("probed", "x"), "only root may probe any process"))
		return 2;
	if (!is_refused(add_with("probed", "x", others, memory), "you may not trace"))
		return 3;
	if (!is_refused(add_with("probed", "x", own, -1), "you may not trace"))
		return 4;
	snprintf(label, sizeof(label), "%s, \"kind\": \"label\"", own);
	if (!is_refused(add_with("probed(x=arg1:s32)", "x", label, memory),
			"only root may add label and span probes"))
		return 10;
	if (is_refused(add_with("probed", "x", own, memory), ""))
		return 5;
	if (strcmp(state_of_first(), "on") != 0)
		return 6;
	if (strcmp(text_of_first("name"), "65432:x") != 0)
		return 11;
	/* As one that has executed a program with other rights. */
	prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(state_of_first(), "off") != 0 ||
	    !strstr(text_of_first("why"), "has other rights than its user"))
		return 7;
	if (!is_ended_in_status("has other rights than its user"))
		return 12;
	if (!is_refused(ask("{\"do\": \"enable\"}\n", NULL, 0), "you may not trace"))
		return 8;
	prctl(PR_SET_DUMPABLE, 1);
	if (is_refused(ask("{\"do\": \"enable\"}\n", NULL, 0), "") ||
	    strcmp(state_of_first(), "on") != 0 || *text_of_first("why") || is_ended_in_status(""))
		return 9;
	return 0;
}

Test(probe_users, sets_probes_of_users_in_processes_that_they_may_trace)
{
	pid_t child;

	listen_to_users();
	cr_assert_eq(as_user(add_own, &child), 0);
	cr_assert(n_attached == 1 && attached == (unsigned int)child);
	cr_assert(asked_for[n_asked - 1] == USER && asked_ns == PROBE_USER_TIME_NS);
	add_one("probed", "x");
	cr_assert(asked_for[n_asked - 1] == 0 && asked_ns == 0,
		  "root's may be as large as they are");
}

static int add_changing(pid_t parent)
{
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char own[64];

	(void)parent;
	snprintf(own, sizeof(own), ", \"pids\": [%d]", (int)getpid());
	return is_refused(add_with("probed", "x", own, memory), "you may not trace") ? 0 : 1;
}

/* From when its memory is looked at until the probe is set. */
Test(probe_users, refuses_processes_that_change_their_domain_meanwhile)
{
	pid_t child;

	listen_to_users();
	for (unsigned int i = 1; i <= 4; i++) {
		domain_changes = n_domains_read + i;
		cr_assert_eq(as_user(add_changing, &child), 0, "after %u", i);
	}
	domain_changes = -1U;
	cr_assert_eq(as_user(add_changing, &child), 1);
}

/* A pipe: a byte of each who has sent all their requests. */
static int sent[2];

/* Returns the number of what went wrong. */
static int send_some(size_t n)
{
	const int files[] = { open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
			      open("/proc/self/mem", O_RDONLY | O_CLOEXEC) };
	_cleanup_free_ char *text = NULL;
	char own[64], byte;
	int fds[3];

	snprintf(own, sizeof(own), ", \"pids\": [%d]", (int)getpid());
	text = write_add("probed", "x", own);
	for (size_t i = 0; i < n; i++) {
		fds[i] = connect_to_it();
		send_text(fds[i], text, files, ARRAY_SIZE(files));
	}
	if (write(sent[1], "x", 1) != 1)
		return 1;
	for (size_t i = 0; i < n; i++)
		if (recv(fds[i], &byte, 1, 0) != 1)
			return 2;
	return 0;
}

static int send_three(pid_t parent)
{
	(void)parent;
	return send_some(3);
}

static int send_one(pid_t parent)
{
	(void)parent;
	return send_some(1);
}

static void await_asked(size_t n)
{
	while (n_asked < n)
		usleep(1000);
}

/* Starts a user that has sent all its requests. */
static pid_t start_sender(uid_t user, int (*run)(pid_t parent))
{
	pid_t child = start_as(user, run);
	char byte;

	cr_assert_eq(read(sent[0], &byte, 1), 1);
	return child;
}

/* Nobody else is served, or let in, until a byte of *ret_gate is there for the one request of this user. */
static pid_t start_slow(uid_t user, int (*run)(pid_t parent), int *ret_gate)
{
	int gate[2];
	pid_t child;

	listen_to_users();
	cr_assert(pipe(gate) == 0 && pipe(sent) == 0);
	may_ask = gate[0];
	*ret_gate = gate[1];
	child = start_sender(user, run);
	await_asked(1);
	return child;
}

/* What another user has asked for meanwhile, as `run` returns it. */
static void expect_meanwhile(int (*run)(pid_t parent), int wanted)
{
	int gate;
	pid_t first = start_slow(USER - 1, send_one, &gate), second = start_sender(USER, run);

	cr_assert_eq(write(gate, "x", 1), 1);
	cr_assert_eq(result_of(second), wanted);
	cr_assert_eq(result_of(first), 0);
}

/* Is root answered before more than one other request is? */
static bool is_root_next(int gate)
{
	/* It remains: its end would be a turn. */
	struct pollfd answered = { .fd = connect_to_it(), .events = POLLIN };

	send_text(answered.fd, "{\"do\": \"status\"}\n", NULL, 0);
	cr_assert_eq(write(gate, "x", 1), 1);
	return poll(&answered, 1, 20000) == 1;
}

/* Files of whom take long to read. */
Test(probe_users, serves_others_between_two_requests_of_a_user)
{
	pid_t first, second;
	int gate;

	first = start_slow(USER, send_three, &gate);
	/* Its number is smaller: it comes last. */
	second = start_sender(USER - 1, send_one);
	cr_assert(is_root_next(gate), "all have just connected");
	await_asked(2);
	cr_assert(is_root_next(gate), "others have been connected before");
	cr_assert_eq(write(gate, "xx", 2), 2);
	cr_assert_eq(result_of(first), 0);
	cr_assert_eq(result_of(second), 0);
	cr_assert(n_asked == 4 && asked_for[0] == USER && asked_for[1] == USER - 1);
	cr_assert(asked_for[2] == USER && asked_for[3] == USER);
}

/* As another user, of a namespace that USER has made. `ends`: somebody maps its users. */
static int add_inside(const int ends[2])
{
	int memory;
	char own[64], byte;

	if (setresgid(GROUP, GROUP, GROUP) < 0 || setresuid(USER, USER, USER) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1) < 0 || unshare(CLONE_NEWUSER) < 0 ||
	    write(ends[1], "x", 1) != 1 || read(ends[1], &byte, 1) != 1 || setresuid(0, 0, 0) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1) < 0)
		return 1;
	memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	snprintf(own, sizeof(own), ", \"pids\": [%d]", (int)getpid());
	return is_refused(add_with("probed", "x", own, memory), "in another user namespace") ? 0 :
											       2;
}

Test(probe_users, refuses_users_of_namespaces)
{
	const char map[] = "0 65429 1\n";
	int ends[2], file, status;
	char map_path[64], byte;
	pid_t child;

	listen_to_users();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	child = fork();
	if (child == 0)
		_exit(add_inside(ends));
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		cr_skip("this machine has no user namespaces");
	snprintf(map_path, sizeof(map_path), "/proc/%d/uid_map", (int)child);
	file = open(map_path, O_WRONLY | O_CLOEXEC);
	cr_assert_eq(write(file, map, strlen(map)), (ssize_t)strlen(map));
	close(file);
	cr_assert_eq(write(ends[0], "x", 1), 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
	close(ends[0]);
}

#define TOO_MANY "{\"error\":\"too many requests"

enum reply { TOLD_NOTHING, REFUSED, ANSWERED };

/* Is the answer another one than that there are too many? Either is read as a whole. */
static enum reply get_reply(int fd)
{
	char answer[4096] = "";
	size_t n = 0;

	while (n < sizeof(answer) - 1 && !strchr(answer, '\n') && recv(fd, answer + n, 1, 0) == 1)
		n++;
	if (!strchr(answer, '\n'))
		return TOLD_NOTHING;
	return strncmp(answer, TOO_MANY, strlen(TOO_MANY)) == 0 ? REFUSED : ANSWERED;
}

static enum reply ask_status(int fd)
{
	const char text[] = "{\"do\": \"status\"}\n";

	(void)!send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL);
	return get_reply(fd);
}

/* Returns how many connections are served: the last one first, when the server has seen all. */
static int crowd(pid_t parent)
{
	enum reply reply;
	int fds[20], n = 0;

	(void)parent;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_to_it();
	for (size_t i = ARRAY_SIZE(fds); i-- > 0;) {
		reply = ask_status(fds[i]);
		if (reply == TOLD_NOTHING)
			return 100;
		n += reply == ANSWERED;
	}
	return n;
}

/* Who connects often takes the places of their own connections. */
Test(probe_users, serves_others_while_a_user_connects_often)
{
	_cleanup_close_ int first = -1;
	int all[8];
	pid_t child;

	listen_to_users();
	first = connect_to_it();
	cr_assert_eq(ask_status(first), ANSWERED);
	cr_assert_eq(as_user(crowd, &child), 3);
	cr_assert_eq(ask_status(first), ANSWERED);
	/* Nor does root make room for them by others' connections than its own. */
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		all[i] = connect_to_it();
		cr_assert_eq(ask_status(all[i]), ANSWERED);
	}
	cr_assert_eq(ask_status(first), REFUSED);
	cr_assert_eq(ask_status(all[0]), ANSWERED);
	cr_assert_eq(as_user(crowd, &child), 3);
}

/* What has been asked is answered, and what is too much is refused, be others served meanwhile. */
static int ask_too_much(pid_t parent)
{
	const char text[] = "{\"do\": \"status\"}\n";
	enum reply reply;
	int fds[5], n = 0;

	(void)parent;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_to_it();
		if (send(fds[i], text, sizeof(text) - 1, MSG_NOSIGNAL) < 0)
			return 100;
	}
	if (write(sent[1], "x", 1) != 1)
		return 101;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		reply = get_reply(fds[i]);
		if (reply == TOLD_NOTHING)
			return 102;
		n += (reply == ANSWERED) << i;
	}
	return n;
}

Test(probe_users, answers_the_first_requests_of_who_has_too_many)
{
	expect_meanwhile(ask_too_much, 7);
}

/* Half requests, some of them finished after others. Returns a bit for each that is answered. */
static int ask_in_parts(pid_t parent)
{
	const char half[] = "{\"do\": ", rest[] = "\"status\"}\n";
	int fds[5], n = 0;

	(void)parent;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_to_it();
		if (send(fds[i], half, sizeof(half) - 1, MSG_NOSIGNAL) < 0)
			return 100;
		if (i >= 3 && send(fds[i], rest, sizeof(rest) - 1, MSG_NOSIGNAL) < 0)
			return 101;
	}
	if (write(sent[1], "x", 1) != 1)
		return 102;
	for (size_t i = ARRAY_SIZE(fds); i-- > 0;) {
		enum reply reply;

		if (i == 2 && send(fds[i], rest, sizeof(rest) - 1, MSG_NOSIGNAL) < 0)
			return 103;
		reply = get_reply(fds[i]);
		if (reply == TOLD_NOTHING)
			return 104;
		n += (reply == ANSWERED) << i;
	}
	return n;
}

/* They are let in all at once. */
Test(probe_users, answers_whole_requests_of_who_has_too_many_half_ones)
{
	expect_meanwhile(ask_in_parts, 1 << 2 | 1 << 3 | 1 << 4);
}

static int ask_after_halves(pid_t parent)
{
	(void)parent;
	for (int i = 0; i < 3; i++) {
		int fd = connect_to_it(), left = 1;

		if (send(fd, "{", 1, MSG_NOSIGNAL) != 1)
			return 100;
		while (left > 0)
			if (ioctl(fd, SIOCOUTQ, &left) < 0)
				return 101;
	}
	return ask_status(connect_to_it());
}

/* They have been read. */
Test(probe_users, serves_who_has_left_half_requests)
{
	pid_t child;

	listen_to_users();
	cr_assert_eq(as_user(ask_after_halves, &child), ANSWERED);
}

/* It has not been accepted when the run ends: it is the user's all the same. */
Test(probe_users, pays_for_what_is_left_at_the_end)
{
	int gate;
	pid_t first = start_slow(USER - 1, send_one, &gate), second = start_sender(USER, send_one);

	probe_server_end(server);
	cr_assert_eq(write(gate, "x", 1), 1);
	server = probe_server_free(server);
	cr_assert_eq(closed_for, USER);
	(void)result_of(first);
	cr_assert_eq(result_of(second), 2);
}
