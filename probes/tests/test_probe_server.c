// SPDX-License-Identifier: Apache-2.0
/* Who listens for probes, with a kernel simulated by the test. */
#include "probes/probe_server.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <jansson.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "probes/probe_peer.h"
#include "probes/tests/probe_asks.h"

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

	cr_assert(file);
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
	cr_assert_lt(clock_now_ns() - begun, UINT64_C(1000000000) + REMOVAL_PATIENCE_NS);
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
	cr_assert_geq(clock_now_ns() - begun, REMOVAL_PATIENCE_NS);
	close(ends[1]);
}

/* Whoever has made the file chooses its size. */
Test(probe_server, keeps_the_list_of_functions_only_for_calls)
{
	cr_assert_eq(listen_there(), 0);
	add_one("probed", "x");
	cr_assert(!had_functions);
	check_done(add_with("probed", "y", ", \"kind\": \"span\"", -1));
	cr_assert(had_functions);
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

Test(probe_server, ends_who_leaves_half_a_request)
{
	_cleanup_close_ int half = -1;
	char answer[128] = "", more;
	int left = 1;

	cr_assert_eq(listen_there(), 0);
	half = connect_to_it();
	send_text(half, "{", NULL, 0);
	while (left > 0)
		cr_assert_eq(ioctl(half, SIOCOUTQ, &left), 0);
	skipped_s = PROBE_PEER_TIME_NS / 1000000000;
	for (size_t n = 0; n < sizeof(answer) - 1 && !strchr(answer, '\n'); n++)
		cr_assert_eq(recv(half, answer + n, 1, 0), 1);
	cr_assert(strstr(answer, "the rest of the request does not come"), "%s", answer);
	cr_assert_eq(recv(half, &more, 1, 0), 0);
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

/* Others' probes have such names, and values of that name are not theirs. */
Test(probe_server, refuses_what_would_tell_another_probe)
{
	cr_assert_eq(listen_there(), 0);
	refuse("begin the names of other users' probes", "probed", "65432:x");
	refuse("begin the names of other users' probes", "probed", "0:");
	refuse("the name probe is reserved", "probed(x=arg1:s32, probe=arg1:s32)", "x");
	add_one("probed(probed=arg1:s32)", "65432 :x");
	add_one("probed", "x1:65432:");
	add_one("probed", ":");
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
	check_error(ask("{\"do\": \"remove\", \"id\": 4294967296}\n", NULL, 0),
		    "no probe has such a number");
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
