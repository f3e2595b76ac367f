// SPDX-License-Identifier: Apache-2.0
/* Probes that are set some at a time, with the kernel's part taken by the test. */
#include "kernel/uprobe_links.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "kernel/uprobe.h"
#include "kernel/uprobe_places.h"
#include "log/tests/said.h"

#define N 150
#define FAILS_AT 100

static struct uprobe_places set; /* what the kernel was asked for, in all */
static uint64_t offsets[N], cookies[N], counters[N];
static uint64_t set_offsets[N], set_cookies[N], set_counters[N];
static size_t n_calls, n_explained, n_asked, interrupted_at;
static uint64_t now_ns, attach_ns;
static int attach_err;

int __wrap_uprobe_attach_multi(int program, const struct uprobe_places *places, pid_t pid);
int __wrap_uprobe_attach_multi(int program, const struct uprobe_places *places, pid_t pid)
{
	cr_assert(pid == 0 && places->n_more == 0 && set.n + places->n <= N);
	n_calls++;
	now_ns += attach_ns;
	if (attach_err < 0 && set.n + places->n > FAILS_AT)
		return attach_err;
	memcpy(&set_offsets[set.n], places->offsets, places->n * sizeof(*offsets));
	memcpy(&set_cookies[set.n], places->cookies, places->n * sizeof(*cookies));
	if (places->counters)
		memcpy(&set_counters[set.n], places->counters, places->n * sizeof(*counters));
	set.n += places->n;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void __wrap_uprobe_explain_refusal(int program, bool is_multi, const struct uprobe_places *places,
				   unsigned int pid, int err);
void __wrap_uprobe_explain_refusal(int program, bool is_multi, const struct uprobe_places *places,
				   unsigned int pid, int err)
{
	cr_assert(is_multi && places->offsets == offsets && err == attach_err);
	n_explained++;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	*ret = (struct timespec){ (time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000) };
	return 0;
}

static bool is_interrupted(const void *arg)
{
	cr_assert_eq(arg, &set);
	return ++n_asked == interrupted_at;
}

static struct uprobe_links links;
static int result;

static void begin(void)
{
	for (uint64_t i = 0; i < N; i++) {
		offsets[i] = 0x1000 + i;
		cookies[i] = i;
		counters[i] = 0x9000 + i;
	}
	links = (struct uprobe_links){ .is_multi = true,
				       .is_interrupted = is_interrupted,
				       .interrupt_arg = &set };
}

static void end(void)
{
	uprobe_links_done(&links);
	cr_assert(links.n_fds == 0 && !links.fds);
}

TestSuite(uprobe_links, .init = begin, .fini = end);

static void add(void)
{
	const struct uprobe_places places = { .offsets = offsets,
					      .cookies = cookies,
					      .counters = counters,
					      .n = N - 10,
					      .n_more = 10 };

	result = uprobe_links_add(&links, NULL, &places);
}

Test(uprobe_links, are_of_some_at_a_time)
{
	add();
	cr_assert_eq(result, 0);
	cr_expect_eq(set.n, N);
	cr_expect_eq(n_calls, 3);
	cr_expect_eq(links.n_fds, 3);
	cr_expect_arr_eq(set_offsets, offsets, sizeof(offsets));
	cr_expect_arr_eq(set_cookies, cookies, sizeof(cookies));
	cr_expect_arr_eq(set_counters, counters, sizeof(counters));
}

Test(uprobe_links, of_few_are_set_at_once)
{
	const struct uprobe_places few = { .offsets = offsets,
					   .cookies = cookies,
					   .n = UPROBE_LINKS_AT_ONCE };

	cr_assert_eq(uprobe_links_add(&links, NULL, &few), 0);
	cr_expect(n_calls == 1 && n_asked == 0 && set.n == UPROBE_LINKS_AT_ONCE);
}

Test(uprobe_links, end_when_they_are_interrupted)
{
	interrupted_at = 2;
	add();
	cr_assert_eq(result, -ECANCELED);
	cr_expect_eq(n_calls, 2);
	cr_expect_eq(links.n_fds, 2, "what is set is detached later");
	cr_expect_eq(n_explained, 0);
}

Test(uprobe_links, end_where_the_kernel_refuses)
{
	attach_err = -EINVAL;
	add();
	cr_assert_eq(result, -EINVAL);
	cr_expect_eq(n_calls, 2);
	cr_expect_eq(n_explained, 1);
}

Test(uprobe_links, tell_how_far_they_are)
{
	char *text = said(add);

	cr_expect(!strstr(text, "takes a while"), "%s", text);
	free(text);
	set.n = 0;
	attach_ns = 600000000;
	text = said(add);
	cr_expect(strstr(text, "setting 150 probes takes a while (Ctrl-C ends it): 128 are set\n"),
		  "%s", text);
	free(text);
}
