// SPDX-License-Identifier: Apache-2.0
#include "symbols/debug_queue.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "limits/limits.h"
#include "symbols/debug_server.h"
#include "symbols/names.h"
#include "symbols/tests/debuginfod.h"
#include "symbols/tests/some_names.h"

#define MINUTE_NS UINT64_C(60000000000)
#define MAX_SIZE 100000

static const unsigned char known[] = { DEBUGINFOD_KNOWN, 1 },
			   also_known[] = { DEBUGINFOD_KNOWN, 2 }, unknown[] = { 1, 2 };

static char directory[] = "/tmp/debug_queue.XXXXXX";
static struct names *names;
static struct debug_server *server;
static struct debug_queue_counts counts;
static _Atomic int n_pauses, n_dropped, is_paused;
static _Atomic uint64_t spent_ns;
static uint64_t absent_ns = 60 * MINUTE_NS;

static uint64_t pause_ns(void *arg)
{
	n_pauses += is_paused;
	return is_paused ? 1000000 : 0;
}

static void spend(void *arg, uint64_t cpu_ns)
{
	spent_ns += cpu_ns;
}

static void drop(void *arg)
{
	n_dropped++;
}

static void begin_in(const char *place, uint64_t request_ns, uint64_t max_size)
{
	const struct debug_queue_limits limits = {
		.request_ns = request_ns,
		.absent_ns = absent_ns,
		.max_size = max_size,
		.max_kept = UINT64_MAX,
		.pause_ns = pause_ns,
		.spend = spend,
		.drop = drop,
		.counts = &counts,
	};

	cr_assert_eq(setenv("DEBUGINFOD_CACHE_PATH", place, true), 0);
	names = names_with((struct names_options){ 0 });
	server = names_debug_server(names);
	cr_assert_eq(debug_server_allow_meanwhile(server, &limits), 0);
}

static void begin(uint64_t request_ns, uint64_t max_size)
{
	cr_assert_not_null(mkdtemp(directory));
	begin_in(directory, request_ns, max_size);
}

static void end(void)
{
	char command[64];

	names = names_free(names);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	cr_assert_eq(system(command), 0);
}

TestSuite(debug_queue, .fini = end, .timeout = 60);

/* False: there is none now. */
static bool fetch(const unsigned char *build_id, uint32_t *awaited)
{
	int fd = debug_server_fetch(server, build_id, sizeof(known), "/bin/prog", awaited);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void wait_for(uint32_t awaited)
{
	while (debug_server_is_awaited(server, awaited))
		usleep(1000);
}

static void wait_until(const _Atomic uint64_t *count, uint64_t n)
{
	while (*count < n)
		usleep(1000);
}

Test(debug_queue, lets_nobody_wait)
{
	uint32_t awaited = 0, unanswered = 0;

	debuginfod_is_silent = 1;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited) && awaited > 0);
	cr_assert(!fetch(unknown, &unanswered) && unanswered != awaited);
	cr_assert(debug_server_is_awaited(server, awaited));
	cr_assert(!debug_server_is_allowed(server)); /* to those who would wait */
	debuginfod_is_silent = 0;
	wait_for(awaited);
	wait_until(&counts.absent, 1);
	awaited = 0;
	cr_assert(fetch(known, &awaited) && awaited == 0);
	cr_assert(!fetch(unknown, &awaited) && awaited == unanswered);
	cr_assert(debug_server_is_awaited(server, unanswered)); /* it may have one later */
	cr_assert_eq(debuginfod_n_asked, 2);
	cr_assert_eq(counts.found, 1);
	cr_assert_eq(counts.absent, 1);
	cr_assert_eq(debug_server_totals(server).n_asked, 2);
	cr_assert_eq(debug_server_totals(server).n_found, 1);
	cr_assert_eq(debug_server_totals(server).server_err, 0);
}

static const char *kept(const char *build_id)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s/debuginfo", directory, build_id);
	return path;
}

/* It may have been removed for lack of room. */
Test(debug_queue, asks_again_for_a_file_that_is_gone)
{
	uint32_t awaited = 0;

	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	wait_for(awaited);
	cr_assert_eq(unlink(kept("aa01")), 0);
	awaited = 0;
	cr_assert(!fetch(known, &awaited) && awaited > 0);
	wait_for(awaited);
	cr_assert(fetch(known, &awaited));
}

/* For as long as programs run. */
Test(debug_queue, asks_again_for_a_file_that_was_absent)
{
	uint32_t awaited = 0, again = 0;

	absent_ns = 20000000;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(unknown, &awaited));
	wait_for(awaited);
	cr_assert_eq(debuginfod_n_asked, 1);
	cr_assert_eq(unlink(kept("0102")), 0); /* as libdebuginfod does after some time */
	cr_assert(!fetch(unknown, &again) && again == awaited);
	wait_until(&counts.absent, 2);
	cr_assert_eq(debuginfod_n_asked, 2);
}

static time_t used(const char *path)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	return st.st_atime;
}

/* libdebuginfod gives files the server's times. */
Test(debug_queue, knows_when_a_file_was_used)
{
	static const struct timespec old[2];
	time_t now = time(NULL);
	uint32_t awaited;

	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	wait_for(awaited);
	cr_assert_geq(used(kept("aa01")), now);
	cr_assert_eq(utimensat(AT_FDCWD, kept("aa01"), old, 0), 0);
	cr_assert(fetch(known, &awaited));
	cr_assert_geq(used(kept("aa01")), now);
}

/* Others wait until it may be asked again. */
Test(debug_queue, leaves_a_server_alone_that_does_not_answer)
{
	uint32_t awaited[2];

	debuginfod_err = -ECONNREFUSED;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited[0]));
	wait_until(&counts.failed, 1);
	cr_assert(!fetch(also_known, &awaited[1]));
	usleep(50000);
	cr_assert_eq(debuginfod_n_asked, 1);
	for (int i = 0; i < 2; i++)
		cr_assert(debug_server_is_awaited(server, awaited[i]));
	cr_assert_eq(debug_server_totals(server).server_err, -ECONNREFUSED);
}

Test(debug_queue, gives_up_what_takes_too_long)
{
	uint32_t awaited;

	debuginfod_is_silent = 1;
	begin(20000000, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	wait_until(&counts.failed, 1);
	cr_assert_eq(debuginfod_n_given_up, 1);
	cr_assert_eq(counts.absent, 0);
	cr_assert_eq(debug_server_totals(server).server_err, -ETIMEDOUT);
	cr_assert(debug_server_is_awaited(server, awaited));
	cr_assert_neq(access(kept("aa01"), F_OK), 0, "an empty one counts as absent");
}

/* Of this machine's disk, for example: servers may well have others. */
Test(debug_queue, blames_no_server_for_other_errors)
{
	uint32_t awaited;

	debuginfod_err = -EIO;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	wait_until(&counts.failed, 1);
	debuginfod_err = 0;
	cr_assert(!fetch(also_known, &awaited));
	wait_for(awaited);
	cr_assert_eq(debug_server_totals(server).server_err, 0);
	cr_assert_eq(debug_server_totals(server).file_err, -EIO);
	cr_assert_eq(debuginfod_n_asked, 2);
}

/* libdebuginfod takes none that is longer. */
Test(debug_queue, refuses_build_ids_of_other_sizes)
{
	static const unsigned char long_id[64] = { DEBUGINFOD_KNOWN };
	uint32_t awaited = 0;

	begin(MINUTE_NS, MAX_SIZE);
	for (size_t size = 0; size <= sizeof(long_id); size += sizeof(long_id))
		cr_assert_eq(debug_server_fetch(server, long_id, size, "/bin/prog", &awaited), -1);
	cr_assert_eq(awaited, 0);
	cr_assert_eq(debug_server_fetch(server, long_id, 63, "/bin/prog", &awaited), -1);
	wait_for(awaited);
	cr_assert_eq(debuginfod_n_asked, 1);
	cr_assert_eq(counts.found, 1);
}

Test(debug_queue, says_that_it_cannot_keep_files)
{
	uint32_t awaited;

	cr_assert_not_null(mkdtemp(directory));
	begin_in("/proc/none/debuginfod", MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	while (!debug_server_totals(server).error)
		usleep(1000);
	names = names_free(names);
	cr_assert_eq(debuginfod_n_asked, 0);
}

Test(debug_queue, takes_no_file_that_is_too_large)
{
	uint32_t awaited;

	begin(MINUTE_NS, 999); /* 1000 are sent */
	cr_assert(!fetch(known, &awaited));
	wait_until(&counts.absent, 1);
	cr_assert_eq(debuginfod_n_given_up, 1);
	cr_assert_eq(debug_server_totals(server).server_err, 0);
	cr_assert_neq(access(kept("aa01"), F_OK), 0, "an empty one counts as absent");
}

/* It was sent compressed. */
Test(debug_queue, ends_a_request_for_a_file_that_grows_too_large)
{
	uint32_t awaited;

	debuginfod_is_silent = 1;
	debuginfod_size = MAX_SIZE + 1;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	wait_until(&counts.absent, 1);
	cr_assert_eq(debuginfod_n_given_up, 1);
}

Test(debug_queue, keeps_no_file_that_was_sent_as_a_smaller_one)
{
	uint32_t awaited;

	debuginfod_size = MAX_SIZE + 1;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	wait_until(&counts.absent, 1);
	cr_assert_eq(debuginfod_n_given_up, 0);
	cr_assert_neq(access(kept("aa01"), F_OK), 0);
}

Test(debug_queue, ends_a_request_at_the_end)
{
	struct timespec began, ended;
	uint32_t awaited;

	debuginfod_is_silent = 1;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	while (debuginfod_n_asked == 0)
		usleep(1000);
	clock_gettime(CLOCK_MONOTONIC, &began);
	names = names_free(names);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	cr_assert_leq(ended.tv_sec - began.tv_sec, 4); /* DEBUG_QUEUE_END_NS is lawful */
	while (n_dropped == 0)
		usleep(1000);
	cr_assert_eq(debuginfod_n_given_up, 1);
	cr_assert_eq(n_dropped, 1);
	cr_assert_eq(counts.failed, 0);
}

Test(debug_queue, asks_no_more_once_it_is_stopped)
{
	uint32_t awaited;

	begin(MINUTE_NS, MAX_SIZE);
	debug_server_stop(server);
	cr_assert(!fetch(known, &awaited));
	names = names_free(names);
	cr_assert_eq(debuginfod_n_asked, 0);
}

Test(debug_queue, waits_until_it_may_spend)
{
	uint32_t awaited;

	is_paused = 1;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	while (n_pauses < 3)
		usleep(1000);
	cr_assert_eq(debuginfod_n_asked, 0);
	is_paused = 0;
	wait_for(awaited);
	cr_assert_gt(spent_ns, 0);
}

/* Who has waited for a forgotten one asks again. */
Test(debug_queue, remembers_so_many)
{
	uint32_t awaited, second = 0, last = 0;
	unsigned char other[2];

	is_paused = 1;
	begin(MINUTE_NS, MAX_SIZE);
	cr_assert(!fetch(known, &awaited));
	for (unsigned int i = 0; i < DEBUG_QUEUE_MAX; i++) {
		other[0] = (unsigned char)(i >> 8);
		other[1] = (unsigned char)i;
		cr_assert(!fetch(other, &last));
		if (i == 0)
			second = last;
	}
	cr_assert(!debug_server_is_awaited(server, awaited));
	cr_assert(debug_server_is_awaited(server, second), "more than the oldest is forgotten");
	cr_assert(debug_server_is_awaited(server, last));
	cr_assert(!fetch(known, &awaited));
	cr_assert_gt(awaited, last);
	is_paused = 0;
	wait_for(awaited);
}
