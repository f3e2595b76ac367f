// SPDX-License-Identifier: Apache-2.0
/* Who listens for probes, with a kernel simulated by the test. */
#include "profiler/probe_server.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "log/clock.h"
#include "profiler/profiler.h"
#include "profiler/tests/probe_world.h"
#include "samples/spans.h"
#include "sandbox/tests/send_text.h"

#define USER 65432
#define GROUP 65431

static char directory[] = "/tmp/probe_server.XXXXXX", path[sizeof(directory) + 2];
static struct probe_server *server;

static int listen_there(void)
{
	static struct value_labels labels;
	static struct spans spans;
	const struct profiler_options options = { .probe_socket = path };

	return probe_server_open(NULL, NULL, &options, &labels, &spans, &server);
}

/* Where probes are set. */
__attribute__((noinline)) int probed(int x);
int probed(int x)
{
	return x + 1;
}

__attribute__((noinline)) int probed_too(int x);
int probed_too(int x)
{
	return x + 2;
}

static int connect_to_it(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	cr_assert_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* The caller drops the answer. */
static json_t *ask(const char *text, const int *fds, size_t n_fds)
{
	_cleanup_close_ int fd = connect_to_it();
	_cleanup_fclose_ FILE *from = fdopen(dup(fd), "r");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	json_t *answer;

	send_text(fd, text, fds, n_fds);
	cr_assert_gt(getline(&line, &room, from), 0);
	answer = json_loads(line, 0, NULL);
	cr_assert(json_is_object(answer), "%s", line);
	return answer;
}

/* Adds a probe to this very program; more: members of the request; with the memory of a process. */
static json_t *add_with(const char *probe, const char *name, const char *more, int memory)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const int fds[] = { own, memory };
	char own_path[PATH_MAX] = "", *text;
	json_t *answer;

	cr_assert_gt(readlink("/proc/self/exe", own_path, sizeof(own_path) - 1), 0);
	cr_assert_gt(asprintf(&text,
			      "{\"do\": \"add\", \"kind\": \"uprobe\", \"path\": \"%s\", "
			      "\"probe\": \"%s\", \"name\": \"%s\"%s}\n",
			      own_path, probe, name, more),
		     0);
	answer = ask(text, fds, memory < 0 ? 1 : 2);
	free(text);
	return answer;
}

static json_t *add(const char *probe, const char *name)
{
	return add_with(probe, name, "", -1);
}

static void add_one(const char *probe, const char *name)
{
	json_t *answer = add(probe, name);

	cr_assert(json_object_get(answer, "id"), "%s",
		  json_string_value(json_object_get(answer, "error")));
	json_decref(answer);
}

static void check_error(json_t *answer, const char *why)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	cr_assert(error && strstr(error, why), "%s", error);
	json_decref(answer);
}

static void refuse(const char *why, const char *probe, const char *name)
{
	check_error(add(probe, name), why);
}

static void begin(void)
{
	cr_assert(probed(1) == 2 && probed_too(1) == 3);
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/s", directory);
}

static void end(void)
{
	server = probe_server_free(server);
	cr_expect_eq(access(path, F_OK), -1);
	rmdir(directory);
}

TestSuite(probe_server, .init = begin, .fini = end, .timeout = 60);

Test(probe_server, leaves_no_socket_after_a_failed_start)
{
	eventfd_error = EMFILE;
	cr_assert_eq(listen_there(), -EMFILE);
	cr_assert_eq(access(path, F_OK), -1);
	eventfd_error = 0;
	cr_assert_eq(listen_there(), 0);
	cr_assert_eq(access(path, F_OK), 0);
}

Test(probe_server, leaves_what_another_one_has_there)
{
	_cleanup_fclose_ FILE *file = fopen(path, "w");

	cr_assert_eq(listen_there(), -EADDRINUSE);
	cr_assert_eq(unlink(path), 0);
}

Test(probe_server, ends_sampling_before_its_probes_are_removed)
{
	int ends[2];
	uint64_t begun;

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(listen_there(), 0);
	add_one("probed", "x");
	may_close = ends[0];
	begun = clock_now_ns();
	probe_server_end(server);
	cr_assert_eq(n_silenced, 1);
	cr_assert_eq(access(path, F_OK), -1);
	probe_server_end(server);
	cr_assert_eq(n_silenced, 1);
	cr_assert_lt(clock_now_ns() - begun, UINT64_C(1000000000));
	cr_assert_eq(write(ends[1], "x", 1), 1);
	server = probe_server_free(server);
	cr_assert_lt(clock_now_ns() - begun, UINT64_C(4000000000));
}

Test(probe_server, does_not_wait_for_ever)
{
	int ends[2];
	uint64_t begun;

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(listen_there(), 0);
	add_one("probed", "x");
	may_close = ends[0];
	begun = clock_now_ns();
	server = probe_server_free(server);
	cr_assert_geq(clock_now_ns() - begun, UINT64_C(4000000000));
	close(ends[1]);
}

Test(probe_server, tells_an_error_that_nobody_has_logged)
{
	json_t *answer;

	cr_assert_eq(listen_there(), 0);
	attach_error = -ENODEV;
	answer = add("probed", "x");
	cr_assert_str_eq(json_string_value(json_object_get(answer, "error")), strerror(ENODEV));
	json_decref(answer);
}

Test(probe_server, lists_all_probes_in_one_piece)
{
	char name[PROBE_MAX_NAME + 1];
	json_t *answer;

	cr_assert_eq(listen_there(), 0);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (int i = 0; i < DP_MAX_PROBES; i++)
		add_one("probed", name);
	answer = ask("{\"do\": \"list\"}\n", NULL, 0);
	cr_assert_eq(json_array_size(json_object_get(answer, "probes")), DP_MAX_PROBES);
	json_decref(answer);
	refuse("there are 64 probes already", "probed", "x");
}

Test(probe_server, serves_others_while_a_peer_does_not_read)
{
	_cleanup_close_ int slow = -1;
	json_t *answer;

	cr_assert_eq(listen_there(), 0);
	for (int i = 0; i < 30; i++)
		add_one("probed", "some name of a probe that is not very short");
	slow = connect_to_it();
	send_text(slow, "{\"do\": \"list\"}\n", NULL, 0);
	answer = ask("{\"do\": \"status\"}\n", NULL, 0);
	cr_assert_eq(json_integer_value(json_object_get(answer, "probes")), 30);
	json_decref(answer);
}

Test(probe_server, refuses_what_would_not_fit_into_a_list)
{
	char name[PROBE_MAX_NAME + 2], probe[PROBE_MAX_TEXT + 1];

	cr_assert_eq(listen_there(), 0);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	refuse("name is empty, or too long", "probed", name);
	memset(probe, 'x', sizeof(probe) - 1);
	probe[sizeof(probe) - 1] = '\0';
	refuse("is longer than 1024 bytes", probe, "x");
	refuse("the probe KIND:PATH:NAME(VALUES) has control characters", "pro\\u001bbed", "x");
	refuse("the probe's name has control characters", "probed", "\\u202e");
}

static void check_done(json_t *answer)
{
	cr_assert(!json_object_get(answer, "error"));
	json_decref(answer);
}

static pid_t start_waiting(void)
{
	pid_t child = fork();

	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (child == 0)
		pause();
	return child;
}

/* Not in what has its number later. */
Test(probe_server, sets_a_probe_in_processes_that_live)
{
	pid_t child = start_waiting();
	char more[128];

	cr_assert_eq(listen_there(), 0);
	add_one("probed", "x");
	cr_assert_eq(n_attached, 0);
	snprintf(more, sizeof(more), ", \"pids\": [%d, %d, %d]", (int)child, (int)child,
		 (int)getpid());
	check_done(add_with("probed", "y", more, -1));
	cr_assert(n_attached == 2 && attached == (unsigned int)child);
	check_done(ask("{\"do\": \"disable\", \"id\": 2}\n", NULL, 0));
	finish(child);
	check_done(ask("{\"do\": \"enable\", \"id\": 2}\n", NULL, 0));
	cr_assert(n_attached == 1 && attached == (unsigned int)getpid());
	snprintf(more, sizeof(more), ", \"pids\": [%d]", (int)child);
	check_error(add_with("probed", "z", more, -1), "there is no process");
}

/* For a process that lives. */
static pid_t add_disabled(void)
{
	pid_t child = start_waiting();
	char more[64];

	cr_assert_eq(listen_there(), 0);
	snprintf(more, sizeof(more), ", \"pids\": [%d]", (int)child);
	check_done(add_with("probed", "x", more, -1));
	check_done(ask("{\"do\": \"disable\"}\n", NULL, 0));
	return child;
}

Test(probe_server, sets_no_probe_if_all_its_processes_have_ended)
{
	finish(add_disabled());
	check_error(ask("{\"do\": \"enable\", \"id\": 1}\n", NULL, 0), "have ended");
}

Test(probe_server, removes_a_probe_if_its_process_ends_meanwhile)
{
	const pid_t child = add_disabled();
	const int before = n_closed;

	dies = child;
	check_error(ask("{\"do\": \"enable\", \"id\": 1}\n", NULL, 0), "has just ended");
	cr_assert_eq(n_closed, before + 1);
}

Test(probe_server, enables_the_others_if_one_cannot_be)
{
	const pid_t child = add_disabled();
	int before;

	add_one("probed", "y");
	check_done(ask("{\"do\": \"disable\"}\n", NULL, 0));
	finish(child);
	check_error(ask("{\"do\": \"enable\"}\n", NULL, 0), "");
	before = n_closed;
	check_done(ask("{\"do\": \"disable\"}\n", NULL, 0));
	cr_assert_eq(n_closed, before + 1);
}

Test(probe_server, takes_no_great_number_for_all)
{
	cr_assert_eq(listen_there(), 0);
	add_one("probed", "x");
	check_error(ask("{\"do\": \"remove\", \"id\": 4294967296}\n", NULL, 0), "no such number");
	check_done(ask("{\"do\": \"remove\", \"id\": 1}\n", NULL, 0));
}

Test(probe_server, has_probes_that_label_samples)
{
	static const char label[] = ", \"kind\": \"label\"";
	pid_t child = start_waiting();
	char more[128];

	cr_assert_eq(listen_there(), 0);
	snprintf(more, sizeof(more), ", \"kind\": \"label\", \"pids\": [%d]", (int)child);
	check_done(add_with("probed(x=arg1:s32)", "x", more, -1));
	cr_assert(coded == 1 && numbered == 0);
	cr_assert(n_attached == 1 && attached == (unsigned int)child);
	check_error(add_with("probed(y=arg1:s32)", "y", label, -1),
		    "another probe labels samples by calls of this function");
	check_error(add_with("probed_too(x=arg1:s32)", "y", label, -1),
		    "a value of another probe that labels samples has the same name");
	check_error(add_with("probed_too", "y", ", \"kind\": \"span\"", -1),
		    "too many probes label samples");
	code_error = -ENOSPC;
	check_error(add_with("probed_too(y=arg1:s32)", "y", label, -1), "at most 8 functions");
	code_error = 0;
	check_done(add_with("probed_too(y=arg1:s32)", "y", label, -1));
	cr_assert(coded == 3 && numbered == 1);
	check_done(ask("{\"do\": \"disable\", \"id\": 1}\n", NULL, 0));
	cr_assert_eq(coded, 2);
	dies = child;
	check_error(ask("{\"do\": \"enable\", \"id\": 1}\n", NULL, 0), "has just ended");
	cr_assert_eq(coded, 2);
	dies = 0;
	check_done(add_with("probed(x=arg1:s32)", "z", label, -1));
	cr_assert(coded == 6 && numbered == 0, "the number is free again");
}

/* No others label samples beside it. */
Test(probe_server, has_one_probe_whose_calls_are_timed)
{
	cr_assert_eq(listen_there(), 0);
	check_done(add_with("probed", "x", ", \"kind\": \"span\"", -1));
	check_error(add_with("probed_too(y=arg1:s32)", "y", ", \"kind\": \"label\"", -1),
		    "too many probes label samples");
	check_done(ask("{\"do\": \"disable\"}\n", NULL, 0));
	check_done(add_with("probed_too(y=arg1:s32)", "y", ", \"kind\": \"label\"", -1));
}

Test(probe_server, removes_a_probe_that_is_disabled)
{
	cr_assert_eq(listen_there(), 0);
	add_one("probed", "x");
	cr_assert_eq(n_closed, 0);
	check_done(ask("{\"do\": \"disable\"}\n", NULL, 0));
	cr_assert_eq(n_closed, 1);
	check_done(ask("{\"do\": \"disable\"}\n", NULL, 0));
	cr_assert_eq(n_closed, 1);
}

static bool is_refused(json_t *answer, const char *why)
{
	const char *error = json_string_value(json_object_get(answer, "error"));

	return error && strstr(error, why);
}

static const char *state_of_first(void)
{
	json_t *list = json_object_get(ask("{\"do\": \"list\"}\n", NULL, 0), "probes");

	return json_string_value(json_object_get(json_array_get(list, 0), "state")) ?: "";
}

static void listen_to_users(void)
{
	if (geteuid() != 0)
		cr_skip("it becomes another user");
	cr_assert_eq(chmod(directory, 0755), 0);
	cr_assert_eq(listen_there(), 0);
	cr_assert_eq(chmod(path, 0666), 0);
}

/* Returns what `act` does. */
static int as_user(int (*act)(pid_t parent), pid_t *ret)
{
	const pid_t parent = getpid();
	int status;

	*ret = fork();
	if (*ret == 0)
		_exit(setgroups(0, NULL) < 0 || setresgid(GROUP, GROUP, GROUP) < 0 ||
				      setresuid(USER, USER, USER) < 0 ||
				      prctl(PR_SET_DUMPABLE, 1) < 0 ?
			      100 :
			      act(parent));
	cr_assert(waitpid(*ret, &status, 0) == *ret && WIFEXITED(status));
	return WEXITSTATUS(status);
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
	/* As one that has executed a program with other rights. */
	prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(state_of_first(), "off") != 0)
		return 7;
	if (!is_refused(ask("{\"do\": \"enable\"}\n", NULL, 0), "you may not trace"))
		return 8;
	prctl(PR_SET_DUMPABLE, 1);
	if (is_refused(ask("{\"do\": \"enable\"}\n", NULL, 0), "") ||
	    strcmp(state_of_first(), "on") != 0)
		return 9;
	return 0;
}

Test(probe_server, sets_probes_of_users_in_processes_that_they_may_trace)
{
	pid_t child;

	listen_to_users();
	cr_assert_eq(as_user(add_own, &child), 0);
	cr_assert(n_attached == 1 && attached == (unsigned int)child);
	cr_assert_eq(asked_for, USER);
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

Test(probe_server, refuses_users_of_namespaces)
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

static bool is_served(int fd)
{
	const char text[] = "{\"do\": \"status\"}\n";
	char byte;

	return send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) > 0 && recv(fd, &byte, 1, 0) == 1;
}

/* Returns how many connections are served: the last one first, when the server has seen all. */
static int crowd(pid_t parent)
{
	int fds[20], n = 0;

	(void)parent;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_to_it();
	for (size_t i = ARRAY_SIZE(fds); i-- > 0;)
		n += is_served(fds[i]);
	return n;
}

/* Who connects often takes the places of their own connections. */
Test(probe_server, serves_others_while_a_user_connects_often)
{
	_cleanup_close_ int first = -1, second = -1;
	int all[8];
	pid_t child;

	listen_to_users();
	first = connect_to_it();
	cr_assert(is_served(first));
	cr_assert_eq(as_user(crowd, &child), 3);
	cr_assert(is_served(first));
	/* Nor does root make room for them by others' connections than its own. */
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		cr_assert(is_served(all[i] = connect_to_it()));
	cr_assert(!is_served(first) && is_served(all[0]));
	cr_assert_eq(as_user(crowd, &child), 3);
}
