// SPDX-License-Identifier: Apache-2.0
/*
 * Records of the kernel's rings of any bytes become a recording, which is read back. Input: flags
 * (1), and what is in the rings (fuzz_rings.h).
 */
#include "formats/report_format.h"
#include "kernel/filter.h"
#include "recording/recording_reader.h"
#include "samples/tests/fuzz_rings.h"

enum {
	FEED_AT_ONCE = 1, /* all is read when sampling has ended */
	FEED_FILTER = 2,  /* only some names are wanted */
	FEED_SEVERAL = 4, /* several events are sampled */
};

static const struct report_event events[] = { { "cycles", "cycles" }, { "faults", "faults" } };

static void set_filter(void)
{
	char why[FILTER_WHY_SIZE];

	EXPECT(filter_set_comm(&filter, "^comm", why) == 0);
}

static int count(void *arg, const struct sample *sample, const struct totals *totals)
{
	++*(uint64_t *)arg;
	return 0;
}

static void read_back(char *text, size_t size)
{
	const struct recording_options options = { .names = names };
	char why[RECORDING_WHY_SIZE] = "";
	FILE *file = fmemopen(text, size, "r");
	struct recording_reader *reader;
	uint64_t n = 0;

	EXPECT(file && recording_reader_new(file, &options, &reader, why) == 0);
	EXPECT(recording_reader_run(reader, count, &n) == 0);
	EXPECT(!recording_reader_fault(reader));
	EXPECT(n == n_reported);
	recording_reader_free(reader);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct report_context context = { .target = "everything",
						.event = "cpu-clock",
						.events = EVENT_BIT(DP_EVENT_CPU),
						.several = events,
						.command = "",
						.host = "",
						.kernel = "" };
	struct feed feed = { data, data + size };
	uint8_t flags = feed_u8(&feed);
	struct event_labels labels;
	char *text = NULL;
	FILE *to = open_memstream(&text, &size);

	EXPECT(to);
	rings_begin(&feed);
	EXPECT(report_new(report_format_by_name("recording"), &context, to, &report) == 0);
	if (flags & FEED_FILTER)
		set_filter();
	event_labels_init(&labels, events, 2);
	if (flags & FEED_SEVERAL)
		drain.label_sources.event = &labels.source;
	rings_run(flags & FEED_AT_ONCE);
	EXPECT(report_finish(report, &drain.totals) == 0);
	report_free(report);
	EXPECT(fclose(to) == 0);
	read_back(text, size);
	rings_end();
	free(text);
	return 0;
}
