// SPDX-License-Identifier: Apache-2.0
/*
 * usage: report_feed cpu|wall|pushed|calls|events|before|after|rare SAMPLES FILE...
 *
 * `before' and `after' are to be compared: some stacks are more frequent in the latter. In `rare',
 * all stacks but one occur once. `events' are two, and every third sample is of the first.
 *
 * Writes one set of synthetic samples to all of these reports, and to stdout their totals. Names
 * are as difficult as possible. Then prints the peak memory in KiB, 0 under a sanitizer.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "formats/report_format.h"
#include "report/report.h"
#include "report/tests/labels.h"
#include "symbols/names.h"

/* Markup, quotes, escapes, bytes that are not UTF-8, and separators of any format. */
#define BAD "a;b <i>&amp;\"'\\ ]]>--></script>\xff\x01\n(c) \xc3\xa4"

static struct module modules[] = {
	{ .name = "prog", .path = (char *)"/usr/bin/prog", .build_id = "0123456789abcdef01234567" },
	{ .name = BAD, .path = (char *)"/tmp/" BAD, .build_id = "" },
};

static const char *const comms[] = { "prog", "</script>", "a;b \xff\n" };

#define MAX_DEPTH 40

struct feed {
	struct frame user[MAX_DEPTH];
	__u64 kernel[3];
	struct sample sample;
	struct totals totals;
	uint64_t value;    /* of all samples: events, or nanoseconds with --wall */
	uint64_t labelled; /* of those with labels */
	struct label_set *labels;
	struct label_set *of_event[2]; /* NULL: there is one event */
	bool wall, compared, after, rare;
};

/* Of 60 different stacks. */
static unsigned int choose_variant(const struct feed *feed, unsigned int i)
{
	if (feed->rare)
		return i < 60 ? i : 0;
	return i * 7 % (feed->after && i / 60 % 3 == 0 ? 4 : 60);
}

static void make_sample(struct feed *feed, unsigned int i)
{
	struct sample *s = &feed->sample;
	unsigned int variant = choose_variant(feed, i);

	*s = (struct sample){
		.time_ns = 5000000000 + (uint64_t)i * 10101010,
		.weight = feed->compared ? 1 : 1 + i % 3,
		.cpu = i % 2,
		.pid = 100 + (pid_t)(i % 2),
		.tid = 100 + (pid_t)(i % 3),
		.outcome = variant % 10 == 9 ? DP_NO_RULE : DP_COMPLETE,
		.user = feed->user,
		.n_user = 1 + variant % MAX_DEPTH,
		.kernel = feed->kernel,
		.n_kernel = variant == 5 ? 0 : variant % 4,
		.kernel_error = variant == 5 ? DP_KERNEL_HIDDEN : 0,
	};
	if (feed->of_event[0])
		s->labels = feed->of_event[i % 3 > 0];
	else if (variant % 6 == 1)
		s->labels = feed->labels;
	if (variant == 19) {
		s->outcome = DP_NO_USER_STACK;
		s->n_user = 0;
	}
	if (feed->wall) {
		s->event = i % 4 == 3 ? DP_EVENT_OFF_CPU : DP_EVENT_CPU;
		s->value_ns = s->event == DP_EVENT_OFF_CPU ? 12345678 : 10101010;
	}
	strcpy(s->comm, comms[i % 2 + (i % 3 == 0)]);
	strcpy(s->thread_name, i % 3 ? "thread" : s->comm);
	for (size_t f = 0; f < s->n_user; f++) {
		struct module *module = &modules[(f + variant) % 2];

		feed->user[f] = (struct frame){
			.address = 0x7f0000001000 + f * 16,
			.offset = 0x1000 + f * 16,
			.module = f == 7 ? NULL : module,
			.method = f ? DP_METHOD_TABLE : DP_METHOD_LEAF,
		};
	}
	for (size_t f = 0; f < s->n_kernel; f++)
		feed->kernel[f] = 0xffffffff81000000 + f;
	feed->totals.samples++;
	feed->totals.outcomes[s->outcome]++;
	feed->totals.events += s->weight;
	feed->totals.time_ns += s->weight * s->value_ns;
	feed->value += s->weight * (feed->wall ? s->value_ns : 1);
	feed->labelled += s->labels ? s->weight * (feed->wall ? s->value_ns : 1) : 0;
}

static int write_reports(struct feed *feed, const struct report_context *context, unsigned int n,
			 char **files, int n_files)
{
	struct report *reports[32];
	FILE *to[32];
	int err = 0;

	for (int i = 0; err == 0 && i < n_files; i++) {
		const struct report_format *format = report_format_by_path(files[i]);

		to[i] = fopen(files[i], "w");
		err = format && to[i] ? report_new(format, context, to[i], &reports[i]) : -1;
	}
	for (unsigned int s = 0; err == 0 && s < n; s++) {
		make_sample(feed, s);
		for (int i = 0; err == 0 && i < n_files; i++)
			err = report_add(reports[i], &feed->sample, &feed->totals);
	}
	feed->totals.lost = 7;
	feed->totals.lost_ns = feed->wall ? 7000 : 0;
	feed->totals.duration_ns = 3000000000; /* less than the times suggest */
	for (int i = 0; err == 0 && i < n_files; i++) {
		err = report_finish(reports[i], &feed->totals);
		report_free(reports[i]);
		if (fclose(to[i]) != 0)
			err = -1;
	}
	return err;
}

static struct names *prepare_modules(void)
{
	const struct names_options options = { 0 };
	struct names *names;

	if (names_new(&options, &names) < 0)
		exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(modules); i++) {
		modules[i].names = names;
		modules[i].fd = -1;
		modules[i].symtab_tried = modules[i].no_debug = true;
	}
	return names;
}

static const struct label labels[] = {
	{ .key = BAD, .text = BAD },
	{ .key = "size", .number = 4096, .unit = "bytes" },
};

static const struct report_event events[] = { { "page-faults", "page_faults" },
					      { "r1c2", "r1c2" } };

static void set_events(struct feed *feed, struct report_context *context)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		feed->of_event[i] = labels_of(
			&(struct label){ .key = REPORT_EVENT, .text = events[i].name }, 1, false);
	context->hz = 0;
	context->event = "page-faults,r1c2";
	context->several = events;
	context->n_several = ARRAY_SIZE(events);
}

/* What Pyroscope takes: the agent makes names of labels valid before. */
static void set_pushed(struct feed *feed, struct report_context *context)
{
	const struct label valid = { .key = "route", .text = BAD };

	label_set_free(feed->labels);
	feed->labels = labels_of(&valid, 1, false);
	context->for_pyroscope = true;
}

static void set_mode(struct feed *feed, const char *mode, struct report_context *context)
{
	feed->wall = strcmp(mode, "wall") == 0 || strcmp(mode, "pushed") == 0;
	feed->after = strcmp(mode, "after") == 0;
	feed->rare = strcmp(mode, "rare") == 0;
	feed->compared = feed->after || feed->rare || strcmp(mode, "before") == 0;
	context->events = EVENT_BIT(DP_EVENT_CPU) | (feed->wall ? EVENT_BIT(DP_EVENT_OFF_CPU) : 0);
	if (strcmp(mode, "calls") == 0) {
		context->hz = 0;
		context->event = "uprobe:/usr/bin/prog:f";
	}
	if (strcmp(mode, "events") == 0)
		set_events(feed, context);
	if (strcmp(mode, "pushed") == 0)
		set_pushed(feed, context);
}

int main(int argc, char **argv)
{
	static struct feed feed;
	struct report_context context = { .target = "prog <" BAD ">",
					  .event = "cpu-clock",
					  .hz = 99,
					  .symbols = true,
					  .command = "dwarfprof -- '" BAD "'",
					  .host = "host",
					  .kernel = "Linux 6.1 x86_64",
					  .started_ns = 5000000000,
					  .started_real_ns = 1700000000000000000 };
	struct rusage usage;
	struct names *names;

	if (argc < 4 || argc > 3 + 32)
		return 2;
	context.names = names = prepare_modules();
	feed.labels = labels_of(labels, ARRAY_SIZE(labels), false);
	set_mode(&feed, argv[1], &context);
	if (write_reports(&feed, &context, (unsigned int)atoi(argv[2]), argv + 3, argc - 3) != 0)
		return 1;
	names_free(names);
	label_set_free(feed.labels);
	for (size_t i = 0; i < ARRAY_SIZE(feed.of_event); i++)
		label_set_free(feed.of_event[i]);
	getrusage(RUSAGE_SELF, &usage);
#ifdef __SANITIZE_ADDRESS__
	usage.ru_maxrss = 0; /* that would be the sanitizer's */
#endif
	printf("{\"samples\": %" PRIu64 ", \"value\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"labelled\": %" PRIu64 ", \"memory\": %ld}\n",
	       feed.totals.samples, feed.value, feed.totals.lost, feed.labelled, usage.ru_maxrss);
	return 0;
}
