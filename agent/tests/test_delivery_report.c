// SPDX-License-Identifier: Apache-2.0
/* What a backend gets of an interval, as it waits in the spool: requests that it takes, with all samples. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "agent/delivery_report.h"
#include "report/tests/labels.h"
#include "symbols/names.h"
#include "deliver.pb-c.h"
#include "otlp.pb-c.h"
#include "pprof.pb-c.h"
#include "symbols/tests/some_names.h"

#define STACKS 40000
#define ROOM ((size_t)16 << 20)

static struct module program = { .name = "prog",
				 .path = (char *)"/usr/bin/prog",
				 .build_id = "cafe",
				 .fd = -1,
				 .symtab_tried = true };
static char spool[] = "/tmp/test_delivery_report.XXXXXX";
static struct delivery_counts counts;
static struct delivery delivery = { .max_label_sets = 100, .counts = &counts };
static bool has_labels; /* each sample has a long one of its own */
static struct totals totals = { .duration_ns = 1000000000 };

static void begin(enum deliver_protocol protocol)
{
	/* Nobody is there. */
	const struct deliver_options options = { .protocol = protocol,
						 .url = "http://127.0.0.1:1",
						 .spool = spool,
						 .spool_bytes = ROOM };

	cr_assert(mkdtemp(spool));
	delivery.protocol = protocol;
	cr_assert_eq(deliver_open(&options, &delivery.deliver), 0);
}

static void tear_down(void)
{
	struct dirent *e;
	DIR *directory = opendir(spool);

	while (directory && (e = readdir(directory)))
		if (*e->d_name != '.')
			unlinkat(dirfd(directory), e->d_name, 0);
	if (directory)
		closedir(directory);
	rmdir(spool);
}

TestSuite(delivery_report, .fini = tear_down);

static struct label_set *make_labels(unsigned int i)
{
	char text[512];

	snprintf(text, sizeof(text), "%0400u", i);
	return labels_of(&(struct label){ .key = "id", .text = text }, 1, false);
}

/* So many samples of the service `prog`, each of a stack of its own. */
static void write_report(unsigned int n)
{
	const struct report_context context = { .target = "machine",
						.event = "cpu-clock",
						.hz = 19,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.symbols = true,
						.names = program.names = some_names(),
						.started_real_ns = 1700000000000000000 };
	struct deliver_counts delivered;
	struct report *report;

	cr_assert_eq(delivery_report_new(&delivery, &context, &report), 0);
	for (unsigned int i = 0; i < n; i++) {
		struct frame frame = { .address = 0x7000,
				       .offset = 0x1000 + i,
				       .module = &program,
				       .method = DP_METHOD_LEAF };
		_cleanup_(label_set_freep) struct label_set *labels =
			has_labels ? make_labels(i) : NULL;
		const struct sample sample = { .weight = 1,
					       .labels = labels,
					       .pid = 42,
					       .tid = 42,
					       .comm = "prog",
					       .thread_name = "prog",
					       .user = &frame,
					       .n_user = 1,
					       .outcome = DP_COMPLETE };

		cr_assert_eq(report_add(report, &sample, &totals), 0);
	}
	cr_assert_eq(report->finish(report, &totals), 0);
	report_free(report);
	deliver_counts(delivery.deliver, &delivered);
	cr_assert_eq(delivered.spooled_events + delivered.dropped_events, n);
	deliver_stop(delivery.deliver, 0);
}

static uint8_t *read_spooled(const char *name, size_t *ret_size)
{
	uint8_t *data = malloc(ROOM);
	char path[sizeof(spool) + 256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", spool, name);
	file = fopen(path, "r");
	cr_assert(file);
	*ret_size = fread(data, 1, ROOM, file);
	fclose(file);
	return data;
}

/* Of the size that receivers take; the caller frees it. */
static uint8_t *unpack(const uint8_t *packed, size_t size, size_t *ret_size)
{
	uint8_t *plain = malloc(ROOM);
	z_stream stream = { .next_in = (Bytef *)packed,
			    .avail_in = (uInt)size,
			    .next_out = plain,
			    .avail_out = (uInt)ROOM };

	cr_assert_eq(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	cr_assert_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	cr_assert_eq(stream.avail_in, 0);
	cr_assert_leq(stream.total_out, 4 << 20);
	*ret_size = stream.total_out;
	inflateEnd(&stream);
	return plain;
}

/* The profile of a push, and its id. */
static Pprof__Profile *open_push(const char *name, char **ret_id)
{
	size_t size, plain_size;
	uint8_t *packed = read_spooled(name, &size), *plain;
	Deliver__PushRequest *push = deliver__push_request__unpack(NULL, size, packed);
	Pprof__Profile *profile;

	cr_assert(push && push->n_series == 1 && push->series[0]->n_samples == 1);
	plain = unpack(push->series[0]->samples[0]->raw_profile.data,
		       push->series[0]->samples[0]->raw_profile.len, &plain_size);
	profile = pprof__profile__unpack(NULL, plain_size, plain);
	cr_assert(profile);
	*ret_id = strdup(push->series[0]->samples[0]->id);
	deliver__push_request__free_unpacked(push, NULL);
	free(packed);
	free(plain);
	return profile;
}

/* Adds up what a push has, and returns its id. */
static char *read_push(const char *name, uint64_t *samples)
{
	char *id;
	Pprof__Profile *profile = open_push(name, &id);

	cr_assert_leq(profile->n_sample, 16000);
	for (size_t i = 0; i < profile->n_sample; i++)
		*samples += (uint64_t)profile->sample[i]->value[0];
	pprof__profile__free_unpacked(profile, NULL);
	return id;
}

static uint64_t count_profile(const ProtobufCBinaryData *from)
{
	Otlp__Profile *profile = otlp__profile__unpack(NULL, from->len, from->data);
	uint64_t n = 0;

	cr_assert(profile);
	cr_assert_leq(profile->n_samples, 16000);
	for (size_t i = 0; i < profile->n_samples; i++)
		n += profile->samples[i]->n_timestamps_unix_nano;
	otlp__profile__free_unpacked(profile, NULL);
	return n;
}

/* How many samples a request has of OpenTelemetry's profiles, which are of one process. */
static uint64_t count_request(const char *name)
{
	size_t size, plain_size;
	uint8_t *packed = read_spooled(name, &size), *plain = unpack(packed, size, &plain_size);
	Otlp__ExportProfilesServiceRequest *request =
		otlp__export_profiles_service_request__unpack(NULL, plain_size, plain);
	Otlp__ResourceProfiles *resource;
	Otlp__ScopeProfiles *scope;
	uint64_t n;

	cr_assert(request && request->n_resource_profiles == 1);
	resource = otlp__resource_profiles__unpack(NULL, request->resource_profiles[0].len,
						   request->resource_profiles[0].data);
	scope = otlp__scope_profiles__unpack(NULL, resource->scope_profiles.len,
					     resource->scope_profiles.data);
	cr_assert(scope && scope->n_profiles == 1);
	n = count_profile(&scope->profiles[0]);
	otlp__scope_profiles__free_unpacked(scope, NULL);
	otlp__resource_profiles__free_unpacked(resource, NULL);
	otlp__export_profiles_service_request__free_unpacked(request, NULL);
	free(packed);
	free(plain);
	return n;
}

/* Adds up what all requests have, and returns their number. */
static int count_requests(uint64_t *samples)
{
	struct dirent **entries;
	int n = scandir(spool, &entries, NULL, alphasort), n_requests = 0;

	for (int i = 0; i < n; i++) {
		if (*entries[i]->d_name >= '0' && *entries[i]->d_name <= '9') {
			*samples += count_request(entries[i]->d_name);
			n_requests++;
		}
		free(entries[i]);
	}
	free(entries);
	return n_requests;
}

Test(delivery_report, requests_have_the_limits_of_receivers)
{
	uint64_t samples = 0;

	begin(DELIVER_OTLP);
	write_report(STACKS);
	cr_assert_eq(count_requests(&samples), 3);
	cr_assert_eq(samples, STACKS);
}

/* Texts end a request before its number of samples does. */
Test(delivery_report, requests_have_a_limited_size)
{
	uint64_t samples = 0;

	has_labels = true;
	delivery.max_label_sets = 8 * STACKS;
	begin(DELIVER_OTLP);
	write_report(STACKS);
	cr_assert_gt(count_requests(&samples), 4);
	cr_assert_eq(samples, STACKS);
}

Test(delivery_report, profiles_for_pyroscope_have_its_limits)
{
	struct dirent **entries;
	uint64_t samples = 0;
	char *ids[16];
	int n, n_ids = 0;

	begin(DELIVER_PYROSCOPE);
	write_report(STACKS);
	n = scandir(spool, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (*entries[i]->d_name >= '0' && *entries[i]->d_name <= '9') {
			cr_assert_lt(n_ids, 16);
			ids[n_ids] = read_push(entries[i]->d_name, &samples);
			for (int k = 0; k < n_ids; k++)
				cr_assert_str_neq(ids[k], ids[n_ids]);
			n_ids++;
		}
		free(entries[i]);
	}
	free(entries);
	cr_assert_eq(n_ids, 3);
	cr_assert_eq(samples, STACKS);
	while (n_ids > 0)
		free(ids[--n_ids]);
}

static const char *find_label(const Pprof__Profile *profile, const Pprof__Sample *sample,
			      const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++)
		if (strcmp(profile->string_table[sample->label[i]->key], key) == 0)
			return profile->string_table[sample->label[i]->str];
	return NULL;
}

/* Writes some samples that differ in what tells no series apart, and one of another event. */
static void write_labelled(void)
{
	static const struct report_event events[] = { { "cycles", "cpu-cycles" },
						      { "r1c2", "r1c2" } };
	const struct report_context context = { .event = "several",
						.events = EVENT_BIT(DP_EVENT_CPU),
						.several = events,
						.n_several = 2,
						.symbols = true,
						.names = program.names = some_names() };
	struct report *report;

	cr_assert_eq(delivery_report_new(&delivery, &context, &report), 0);
	for (int i = 0; i < 4; i++) {
		const struct label labels[] = {
			{ .key = REPORT_EVENT, .text = i < 3 ? "cycles" : "r1c2" },
			{ .key = "http.route", .text = "/" },
			{ .key = "trace_id", .text = "0123456789abcdef0123456789abcdef" },
			{ .key = "size", .number = i, .unit = "bytes" }
		};
		const struct frame frame = { .address = 0x7000,
					     .offset = 0x1000,
					     .module = &program };
		struct label_set *set = labels_of(labels, 4, false);
		const struct sample sample = { .weight = 1,
					       .pid = 42 + i,
					       .tid = 42 + i,
					       .cpu = (unsigned int)i,
					       .comm = "prog",
					       .thread_name = "worker",
					       .user = &frame,
					       .n_user = 1,
					       .labels = set,
					       .outcome = DP_READ_FAULT };

		cr_assert_eq(report_add(report, &sample, &totals), 0);
		label_set_free(set);
	}
	cr_assert_eq(report->finish(report, &totals), 0);
	report_free(report);
	deliver_stop(delivery.deliver, 0);
}

/* It makes a series of each set of texts, and drops numbers. */
Test(delivery_report, pyroscope_gets_labels_that_it_takes)
{
	Pprof__Profile *profile;
	int64_t cycles = 0, other = 0;
	char *id;

	begin(DELIVER_PYROSCOPE);
	write_labelled();
	profile = open_push("00000000000000000000-4", &id);
	cr_assert_eq(profile->n_sample, 2);
	for (size_t i = 0; i < 2; i++) {
		const Pprof__Sample *sample = profile->sample[i];

		cr_assert_eq(sample->n_label, 3);
		cr_assert_str_eq(find_label(profile, sample, "comm"), "prog");
		cr_assert_str_eq(find_label(profile, sample, "thread_name"), "worker");
		cr_assert_str_eq(find_label(profile, sample, "http_route"), "/");
		cycles += sample->value[0];
		other += sample->value[1];
	}
	cr_assert_eq(cycles, 3);
	cr_assert_eq(other, 1);
	cr_assert_str_eq(profile->string_table[profile->sample_type[0]->type], "cpu_cycles");
	pprof__profile__free_unpacked(profile, NULL);
	free(id);
}
