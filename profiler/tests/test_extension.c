// SPDX-License-Identifier: Apache-2.0
/*
 * Extensions of a host, without changes to the libraries: an event, a format, and labels. Samples
 * page faults and counts them by function.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/root_main.h"
#include "formats/report_format.h"
#include "kernel/filter.h"
#include "kernel/session.h"
#include "log/clock.h"
#include "profiler/profiler.h"
#include "report/group.h"
#include "symbols/tests/some_names.h"

#define MS UINT64_C(1000000)
#define N_PAGES 2000
#define N_REPORTS 4

/* The event: each page fault of this process, on any CPU. */
static int attach_faults(const struct event_means *means, const struct profiler_options *o,
			 struct event_text *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.inherit = 0,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, o->target.pids[0], -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	*ret = (struct event_text){ .name = "page-faults", .how = "at each page fault" };
	return fd < 0 ? -errno : session_sample_perf(means->session, fd);
}

static const struct event_source page_faults = {
	.name = "page-faults",
	.programs = EVENT_BIT(DP_EVENT_CPU),
	.counts = "page_faults",
	.user_only = true,
	.missing = "had its pages",
	.attach = attach_faults,
};

/* The format: a line at the end, with the number of events in a function. */
struct count {
	struct report report;
	uint64_t n;
};

static int count_add(struct report *report, const struct sample *sample,
		     const struct totals *totals)
{
	struct count *count = (struct count *)report;

	for (size_t i = 0; i < sample->n_user; i++) {
		const struct source_location *location;

		if (frame_locations(&sample->user[i], false, &location) == 0 ||
		    strcmp(location->function, "touch_pages") != 0)
			continue;
		count->n += sample->weight;
		break;
	}
	return 0;
}

static int count_finish(struct report *report, const struct totals *totals)
{
	fprintf(report->to, "%s of %s: %lu\n", report->context.counts, report->context.target,
		((struct count *)report)->n);
	return 0;
}

static void count_free(struct report *report)
{
	free(report);
}

static int count_new(struct report **ret)
{
	struct count *count = calloc(1, sizeof(*count));

	if (!count)
		return -ENOMEM;
	count->report.add = count_add;
	count->report.finish = count_finish;
	count->report.free = count_free;
	*ret = &count->report;
	return 0;
}

static const struct report_format counts = { "count", ".count", count_new };

/* The labels: each sample gets the owner of the memory, and the size that the fault has mapped. */
static int add_labels(const struct label_source *source, const struct label_context *context,
		      struct label_list *list)
{
	const struct label owner = { .key = "owner", .text = source->arg };
	const struct label size = { .key = "touched",
				    .number = (int64_t)context->sample->weight * 4096,
				    .unit = "bytes" };
	int err = label_list_add(list, &owner);

	return err < 0 ? err : label_list_add(list, &size);
}

static const struct label_source memory = { .name = "memory", .arg = "me", .add = add_labels };
static const struct label_source *const sources[] = { &memory };

/* Has its own frame, and touches no other memory. */
__attribute__((noinline, no_sanitize_address)) void touch_pages(volatile char *pages, size_t n);
void touch_pages(volatile char *pages, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pages[i * 4096] = 1;
}

/* Makes reports: the new format, JSON lines, text, and folded stacks that are grouped by a label. */
static void sample(const struct profiler_options *options, FILE *to[N_REPORTS])
{
	char *pages = mmap(NULL, N_PAGES * 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct report_context context;
	struct report *reports[N_REPORTS];
	struct group group;
	struct profiler *p;

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(madvise(pages, N_PAGES * 4096, MADV_NOHUGEPAGE), 0);
	cr_assert_eq(profiler_open(options, &p), 0);
	cr_assert_eq(profiler_attach(p, 0), 0);
	profiler_describe(p, &context);
	cr_assert_eq(report_new(&counts, &context, to[0], &reports[0]), 0);
	cr_assert_eq(report_new(report_format_by_name("jsonl"), &context, to[1], &reports[1]), 0);
	cr_assert_eq(report_new(report_format_by_name("text"), &context, to[2], &reports[2]), 0);
	cr_assert_eq(group_parse("label:touched", &group), 0);
	context.by = &group;
	cr_assert_eq(report_new(report_format_by_name("folded"), &context, to[3], &reports[3]), 0);
	cr_assert_eq(profiler_start(p, reports, N_REPORTS, true), 0);
	touch_pages(pages, N_PAGES);
	cr_assert_eq(profiler_run(p, clock_now_ns() + 10 * MS), 0);
	profiler_stop(p);
	cr_assert_eq(profiler_finish(p), 0);
	cr_assert_eq(profiler_totals(p)->lost, 0);
	for (size_t i = 0; i < N_REPORTS; i++)
		cr_assert_eq(report_finish(reports[i], profiler_totals(p)), 0);
	profiler_free(p);
	for (size_t i = 0; i < N_REPORTS; i++)
		report_free(reports[i]);
	munmap(pages, N_PAGES * 4096);
}

static size_t count_texts(const char *text, const char *wanted)
{
	size_t n = 0;

	for (; (text = strstr(text, wanted)); text += strlen(wanted))
		n++;
	return n;
}

Test(extension, adds_an_event_a_format_and_labels, .timeout = 60)
{
	pid_t self = getpid();
	struct filter filter;
	struct profiler_options options = {
		.target = { .pids = &self, .n_pids = 1, .filter = &filter },
		.event = { .source = &page_faults },
		.label_sources = { sources, 1 },
		.sides = DP_SIDES_USER,
		.max_block_ns = UINT64_MAX,
		.max_frames = 128,
		.unwind = DP_UNWIND_AUTO,
		.table_memory = POOL_MIN_MEMORY,
		.symbols = true,
		.names = some_names(),
	};
	char *texts[N_REPORTS] = { 0 }, expected[320];
	size_t sizes[N_REPORTS];
	FILE *to[N_REPORTS];

	filter_init(&filter);
	for (size_t i = 0; i < N_REPORTS; i++)
		to[i] = open_memstream(&texts[i], &sizes[i]);
	sample(&options, to);
	for (size_t i = 0; i < N_REPORTS; i++)
		fclose(to[i]);
	snprintf(expected, sizeof(expected), "page_faults of test_profiler_e (PID %d): %d\n", self,
		 N_PAGES);
	cr_assert_str_eq(texts[0], expected);
	cr_assert_geq(count_texts(texts[1], "\n"), N_PAGES);
	cr_assert_eq(count_texts(texts[1], "\"labels\":{\"owner\":\"me\",\"touched\":4096},"
					   "\"labels_cut\":false,"
					   "\"label_units\":{\"touched\":\"bytes\"}"),
		     count_texts(texts[1], "\n"));
	cr_assert(strstr(texts[2], "\nBy label\n          100.0 %  owner=me\n"
				   "          100.0 %  touched=4096 bytes\n"),
		  "%s", texts[2]);
	cr_assert_eq(count_texts(texts[3], "test_profiler_e;[touched=4096 bytes];"),
		     count_texts(texts[3], "test_profiler_e;"));
	cr_assert_gt(count_texts(texts[3], "[touched=4096 bytes];"), 0);
	cr_assert_eq(count_texts(texts[3], "owner"), 0);
	for (size_t i = 0; i < N_REPORTS; i++)
		free(texts[i]);
	filter_done(&filter);
}
