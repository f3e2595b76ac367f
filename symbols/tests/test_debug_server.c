// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_server.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/debug_library.h"
#include "symbols/names.h"
#include "symbols/tests/debuginfod.h"
#include "symbols/tests/some_names.h"

#define MINUTE_NS UINT64_C(60000000000)

static const unsigned char known[] = { DEBUGINFOD_KNOWN, 1 },
			   also_known[] = { DEBUGINFOD_KNOWN, 2 }, unknown[] = { 1, 2 };

static struct names *names;
static struct debug_server *server;

static void begin(void)
{
	cr_assert_eq(setenv("DEBUGINFOD_URLS", "http://localhost:1", true), 0);
	names = names_with((struct names_options){ 0 });
	server = names_debug_server(names);
}

static void end(void)
{
	names = names_free(names);
}

TestSuite(debug_server, .init = begin, .fini = end);

static bool fetch(const unsigned char *build_id)
{
	int fd = debug_server_fetch(server, build_id, sizeof(known), "/bin/prog", NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Nobody else may learn of look-ups unless that was allowed. */
Test(debug_server, asks_nobody_without_being_allowed)
{
	cr_assert(!fetch(known));
	cr_assert(!debug_server_is_allowed(server));
	debug_server_allow(server, MINUTE_NS, NULL);
	cr_assert(debug_server_is_allowed(server));
	setenv("DEBUGINFOD_URLS", "", true);
	cr_assert(!fetch(known) && !debug_server_is_allowed(server));
	unsetenv("DEBUGINFOD_URLS");
	cr_assert(!fetch(known) && !debug_server_is_allowed(server));
	cr_assert_eq(debuginfod_n_asked, 0);
	cr_assert_eq(debug_server_totals(server).n_asked, 0);
}

static const char *max_time(uint64_t time_ns)
{
	cr_assert_eq(debug_library_bound(time_ns), 0);
	return getenv("DEBUGINFOD_MAXTIME");
}

/* 0 would be no limit, and who has set another one may wait for it. */
Test(debug_server, bounds_requests_in_whole_seconds)
{
	unsetenv("DEBUGINFOD_MAXTIME");
	cr_assert_str_eq(max_time(1), "1");
	cr_assert_str_eq(max_time(MINUTE_NS), "1");
	unsetenv("DEBUGINFOD_MAXTIME");
	cr_assert_str_eq(max_time(MINUTE_NS), "61");
}

/* What others set is theirs, and without servers nothing has to be bounded. */
Test(debug_server, leaves_the_environment_of_others)
{
	unsetenv("DEBUGINFOD_MAXTIME");
	cr_assert_str_eq(max_time(1), "1");
	debug_library_unbind();
	cr_assert_null(getenv("DEBUGINFOD_MAXTIME"));
	setenv("DEBUGINFOD_MAXTIME", "7", true);
	cr_assert_str_eq(max_time(1), "7");
	debug_library_unbind();
	cr_assert_str_eq(max_time(1), "7");
	unsetenv("DEBUGINFOD_MAXTIME");
	setenv("DEBUGINFOD_URLS", "", true);
	cr_assert_null(max_time(1));
	unsetenv("DEBUGINFOD_URLS");
	cr_assert_null(max_time(1));
}

/* Each build id counts once and is not requested again if no server has it. */
Test(debug_server, counts_what_it_asks_for)
{
	struct debug_server_totals totals;

	debug_server_allow(server, MINUTE_NS, NULL);
	for (int i = 0; i < 2; i++) {
		cr_assert(fetch(known));
		cr_assert(!fetch(unknown));
		cr_assert(fetch(also_known));
	}
	totals = debug_server_totals(server);
	cr_assert_null(totals.error);
	cr_assert_eq(totals.n_asked, 3);
	cr_assert_eq(totals.n_found, 2);
	cr_assert_eq(totals.n_left_out, 0);
	cr_assert_eq(debuginfod_n_asked, 5);
}

static const char *told_path;
static long told_done;

static void tell(const char *path, long done)
{
	told_path = path;
	told_done = done;
}

Test(debug_server, tells_what_it_waits_for)
{
	debug_server_allow(server, MINUTE_NS, tell);
	cr_assert(fetch(known));
	cr_assert_str_eq(told_path, "/bin/prog");
	cr_assert_eq(told_done, 1000);
}

/* Debug files that were found remain available, as they are on disk. */
Test(debug_server, has_no_more_time_than_it_was_given)
{
	struct debug_server_totals totals;

	debug_server_allow(server, MINUTE_NS, NULL);
	cr_assert(fetch(known));
	debug_server_allow(server, 0, NULL);
	cr_assert(!fetch(also_known) && !fetch(unknown));
	totals = debug_server_totals(server);
	cr_assert_eq(totals.n_asked, 3);
	cr_assert_eq(totals.n_found, 1);
	cr_assert_eq(totals.n_left_out, 2);
	cr_assert_eq(debuginfod_n_asked, 1);
}

static void end_names(const char *path, long done)
{
	names_disable(names);
}

Test(debug_server, gives_up_when_names_are_not_wanted_any_more)
{
	debug_server_allow(server, MINUTE_NS, end_names);
	cr_assert(!fetch(known));
	cr_assert_eq(debuginfod_n_given_up, 1);
	cr_assert(!fetch(also_known));
	cr_assert_eq(debuginfod_n_asked, 1);
}
