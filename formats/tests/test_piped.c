// SPDX-License-Identifier: Apache-2.0
/*
 * Pipes whose readers are slow, or do not read: which are given up, and how many samples they have. Time passes only
 * while somebody waits (--wrap=poll,clock_gettime); a reader is what happens meanwhile.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "formats/tests/samples.h"
#include "limits/limits.h"
#include "report/piped.h"

#define MS UINT64_C(1000000)
#define SAMPLE_SIZE 1000

static uint64_t now_ns = 1;
static uint64_t reads_every_ns; /* 0: never */
static int pipe_fds[2];
static struct piped *piped;
static size_t n_read, n_waits, ends_after_waits;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	ret->tv_sec = (time_t)(now_ns / 1000000000);
	ret->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}

static void read_some(void)
{
	char bytes[PIPE_BUF];
	ssize_t n = read(pipe_fds[0], bytes, sizeof(bytes));

	n_read += n > 0 ? (size_t)n : 0;
}

/* The reader comes in the middle of it, or it takes all of its time. Without one, it only looks. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	const uint64_t most = (uint64_t)timeout_ms * MS;
	const uint64_t left =
		reads_every_ns > 0 ? reads_every_ns - now_ns % reads_every_ns : UINT64_MAX;

	if (timeout_ms == 0 || __real_poll(fds, n, 0) > 0)
		return __real_poll(fds, n, 0);
	cr_assert_lt(++n_waits, 100000, "it waits for ever");
	if (n_waits == ends_after_waits)
		piped_end(piped);
	now_ns += left < most ? left : most;
	if (left <= most)
		read_some();
	return __real_poll(fds, n, 0);
}

static void begin_piped(void)
{
	cr_assert_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	cr_assert_eq(fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK), 0);
	cr_assert(fcntl(pipe_fds[1], F_SETPIPE_SZ, 4 * PIPE_BUF) == 4 * PIPE_BUF);
	cr_assert_eq(piped_new(pipe_fds[1], some_names(), &piped), 0);
}

static void put(size_t n, size_t n_held)
{
	static const char sample[SAMPLE_SIZE] = "a sample";

	for (size_t i = 0; i < n; i++) {
		(void)!fwrite(sample, sizeof(sample), 1, piped_file(piped));
		cr_assert_eq(piped_count(piped, n_held), 0);
	}
}

static void read_rest(void)
{
	size_t before;

	do {
		before = n_read;
		read_some();
	} while (n_read > before);
}

static void end_piped(void)
{
	piped_free(piped);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

Test(piped, one_that_is_read_gets_all)
{
	begin_piped();
	reads_every_ns = 10 * MS;
	put(1000, 0);
	piped_end(piped);
	put(10, 0);
	cr_expect_eq(piped_flush(piped), 0);
	read_rest();
	cr_expect_not(piped_is_given_up(piped));
	cr_expect_eq(n_read, 1010 * SAMPLE_SIZE);
	cr_expect_eq(piped_n_samples(piped), 1010);
	cr_expect_eq(piped_n_missing(piped), 0);
	end_piped();
}

/* Whoever else has the pipe may count on its flags. */
Test(piped, flags_stay)
{
	begin_piped();
	cr_expect_eq(fcntl(pipe_fds[1], F_GETFL) & O_NONBLOCK, 0);
	end_piped();
}

/* While there is sampling, for as long as it takes. */
Test(piped, unread_is_given_up_after_the_end)
{
	uint64_t began;

	begin_piped();
	ends_after_waits = 10000;
	put(100, 0);
	cr_expect(piped_is_given_up(piped));
	cr_expect_geq(n_waits, 10000);
	cr_expect_lt(n_waits, 10000 + 2 * PIPED_PATIENCE_NS / (50 * MS));
	began = now_ns;
	put(100, 0);
	cr_expect_eq(piped_flush(piped), 0);
	cr_expect_eq(now_ns, began, "what is given up is not waited for");
	read_rest();
	cr_expect_eq(n_read, 4 * PIPE_BUF);
	cr_expect_eq(piped_n_samples(piped), 200);
	cr_expect_eq(piped_n_missing(piped), 200 - 4 * PIPE_BUF / SAMPLE_SIZE);
	end_piped();
}

/* A reader needs longer than the patience for all of it, but takes something in each. */
Test(piped, slow_reader_gets_all)
{
	begin_piped();
	piped_end(piped);
	reads_every_ns = PIPED_PATIENCE_NS * 9 / 10;
	put(100, 0);
	cr_expect_eq(piped_flush(piped), 0);
	read_rest();
	cr_expect_not(piped_is_given_up(piped));
	cr_expect_eq(n_read, 100 * SAMPLE_SIZE);
	cr_expect_gt(now_ns, 10 * PIPED_PATIENCE_NS);
	end_piped();
}

Test(piped, slow_reader_is_given_up_with_the_names)
{
	uint64_t began;

	begin_piped();
	piped_end(piped);
	names_disable(some_names());
	reads_every_ns = 40 * MS;
	began = now_ns;
	put(1000, 0);
	cr_expect(piped_is_given_up(piped));
	cr_expect_leq(now_ns - began, PIPED_PATIENCE_NS + 50 * MS);
	read_rest();
	cr_expect_eq(piped_n_missing(piped), 1000 - n_read / SAMPLE_SIZE);
	end_piped();
}

/* Samples that a report keeps, and then writes together. */
Test(piped, held_samples_are_missing)
{
	begin_piped();
	piped_end(piped);
	for (size_t i = 1; i <= 10; i++)
		cr_assert_eq(piped_count(piped, i), 0);
	put(1, 0); /* eleven samples in all */
	cr_expect_eq(piped_flush(piped), 0);
	cr_expect_eq(piped_n_missing(piped), 0);
	cr_assert_eq(piped_count(piped, 1), 0);
	cr_expect_eq(piped_n_missing(piped), 1);
	put(100, 0);
	cr_expect(piped_is_given_up(piped));
	cr_expect_eq(piped_n_samples(piped), 112);
	/* The held one ends with the next one's bytes. */
	read_rest();
	cr_expect_eq(piped_n_missing(piped), 112 - 11 - 1 - (n_read / SAMPLE_SIZE - 1));
	end_piped();
}

Test(piped, closed_pipe_is_an_error)
{
	signal(SIGPIPE, SIG_IGN);
	begin_piped();
	close(pipe_fds[0]);
	put(1, 0);
	cr_expect_eq(piped_flush(piped), -EPIPE);
	cr_expect_not(piped_is_given_up(piped));
	end_piped();
}

Test(piped, socket)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipe_fds), 0);
	cr_assert_eq(fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK), 0);
	cr_expect(piped_may_block(pipe_fds[1]));
	cr_assert_eq(piped_new(pipe_fds[1], some_names(), &piped), 0);
	piped_end(piped);
	put(10000, 0);
	cr_expect(piped_is_given_up(piped));
	read_rest();
	cr_expect_gt(n_read, 10 * SAMPLE_SIZE);
	cr_expect_eq(piped_n_missing(piped), 10000 - n_read / SAMPLE_SIZE);
	end_piped();
}

static void begin_report(const char *format)
{
	static char nothing[1];

	begin_piped();
	begin(format);
	fclose(report->to);
	free(text);
	text = nothing;
	report_set_piped(report, piped);
}

/* A report goes on without its reader, and another one with it. */
static void expect_given_up(const char *format, size_t n)
{
	struct sample sample = sample_of(DP_COMPLETE);

	begin_report(format);
	piped_end(piped);
	for (size_t i = 0; i < n; i++) {
		sample.time_ns += 1100 * MS; /* a recording's block */
		sample.tid = (pid_t)i;
		cr_assert_eq(report_add(report, &sample, &totals), 0);
	}
	cr_expect_eq(report_finish(report, &totals), 0);
	cr_expect(piped_is_given_up(piped), "%s", format);
	cr_expect_eq(piped_n_samples(piped), n);
	cr_expect_gt(piped_n_missing(piped), 0);
	cr_expect_lt(piped_n_missing(piped), n);
	report_free(report);
	end_piped();
}

Test(piped, reports_go_on)
{
	expect_given_up("jsonl", 1000);
	expect_given_up("perf-script", 1000);
	expect_given_up("recording", 10000);
}

Test(piped, lines_are_counted)
{
	struct sample sample = sample_of(DP_COMPLETE);
	static char bytes[4 * PIPE_BUF];
	size_t n_lines = 0;
	ssize_t size;

	begin_report("jsonl");
	piped_end(piped);
	for (size_t i = 0; i < 1000; i++)
		cr_assert_eq(report_add(report, &sample, &totals), 0);
	size = read(pipe_fds[0], bytes, sizeof(bytes));
	for (ssize_t i = 0; i < size; i++)
		n_lines += bytes[i] == '\n';
	cr_expect_gt(n_lines, 1);
	cr_expect_eq(piped_n_missing(piped), 1000 - n_lines);
	report_free(report);
	end_piped();
}
