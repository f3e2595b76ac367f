// SPDX-License-Identifier: Apache-2.0
/*
 * A notice is logged once, only if what it is about takes long and no progress line is shown, and
 * nobody waits for it.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/clock.h"
#include "log/log.h"
#include "log/notice.h"
#include "log/tests/said.h"

#define SECOND UINT64_C(1000000000)
#define A_MINUTE_MS 60000
#define SHORT_MS 20

static void be_quick(void)
{
	struct notice notice;
	uint64_t begun = clock_now_ns();

	notice_begin(&notice, A_MINUTE_MS, "slow");
	notice_end(&notice);
	cr_assert_lt(clock_now_ns() - begun, 30 * SECOND);
}

Test(notice, is_not_logged_before_its_time, .timeout = 120)
{
	char *text = said(be_quick);

	cr_assert_str_eq(text, "");
	free(text);
}

static void be_slow(void)
{
	struct notice notice;
	uint64_t begun = clock_now_ns();
	long n = 0;

	notice_begin(&notice, SHORT_MS, "slow: %s");
	while (n == 0 && clock_now_ns() - begun < 30 * SECOND) {
		usleep(1000);
		fflush(stderr);
		n = ftell(stderr);
	}
	cr_assert_geq(clock_now_ns() - begun, SHORT_MS * SECOND / 1000);
	usleep(3 * SHORT_MS * 1000);
	notice_end(&notice);
}

Test(notice, is_logged_once, .timeout = 120)
{
	char *text = said(be_slow);

	cr_assert_str_eq(text, "dwarfprof: slow: %s\n");
	free(text);
}

static void be_slow_in_silence(void)
{
	struct notice notice;

	log_set_level(LOG_WARNING);
	notice_begin(&notice, 0, "slow");
	usleep(SHORT_MS * 1000);
	notice_end(&notice);
}

Test(notice, is_for_those_who_want_to_know, .timeout = 120)
{
	char *text = said(be_slow_in_silence);

	cr_assert_str_eq(text, "");
	free(text);
}

/* What is written to a terminal, until a word, or nothing for a time. */
static const char *seen_on(int terminal, const char *word, int ms)
{
	static char text[1000];
	struct pollfd has_text = { .fd = terminal, .events = POLLIN };
	size_t n = 0;

	text[0] = '\0';
	while (!strstr(text, word) && poll(&has_text, 1, ms) == 1) {
		ssize_t more = read(terminal, text + n, sizeof(text) - 1 - n);

		cr_assert_gt(more, 0);
		n += (size_t)more;
		text[n] = '\0';
	}
	return text;
}

Test(notice, leaves_a_progress_line_alone, .timeout = 120)
{
	_cleanup_close_ int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	_cleanup_close_ int end = -1;
	struct notice notice;

	cr_assert(grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_eq(dup2(end, STDERR_FILENO), STDERR_FILENO);
	log_progress("half of it");
	cr_assert_str_eq(seen_on(terminal, "it", A_MINUTE_MS), "\r\033[Khalf of it");
	notice_begin(&notice, SHORT_MS, "slow");
	cr_assert_str_eq(seen_on(terminal, "\n", 5 * SHORT_MS), "");
	log_progress_clear();
	cr_assert_str_eq(seen_on(terminal, "\n", A_MINUTE_MS), "\r\033[Kdwarfprof: slow\r\n");
	notice_end(&notice);
}
