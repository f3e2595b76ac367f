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
#include "symbols/names.h"
#include "deliver.pb-c.h"
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
	struct report *report;

	cr_assert_eq(delivery_report_new(&delivery, &context, &report), 0);
	for (unsigned int i = 0; i < n; i++) {
		struct frame frame = { .address = 0x7000,
				       .offset = 0x1000 + i,
				       .module = &program,
				       .method = DP_METHOD_LEAF };
		const struct sample sample = { .weight = 1,
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

/* Adds up what a push has, and returns its id. */
static char *read_push(const char *name, uint64_t *samples)
{
	uint8_t *packed, *plain = malloc(ROOM);
	z_stream stream = { .next_out = plain, .avail_out = (uInt)ROOM };
	Deliver__PushRequest *push;
	Pprof__Profile *profile;
	char *id;
	size_t size;

	packed = read_spooled(name, &size);
	push = deliver__push_request__unpack(NULL, size, packed);
	cr_assert(push && push->n_series == 1 && push->series[0]->n_samples == 1);
	stream.next_in = push->series[0]->samples[0]->raw_profile.data;
	stream.avail_in = (uInt)push->series[0]->samples[0]->raw_profile.len;
	cr_assert_eq(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	cr_assert_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	cr_assert_eq(stream.avail_in, 0);
	profile = pprof__profile__unpack(NULL, stream.total_out, plain);
	cr_assert(profile);
	/* Pyroscope's limits. */
	cr_assert_leq(profile->n_sample, 16000);
	cr_assert_leq(stream.total_out, 4 << 20);
	for (size_t i = 0; i < profile->n_sample; i++)
		*samples += (uint64_t)profile->sample[i]->value[0];
	id = strdup(push->series[0]->samples[0]->id);
	inflateEnd(&stream);
	pprof__profile__free_unpacked(profile, NULL);
	deliver__push_request__free_unpacked(push, NULL);
	free(packed);
	free(plain);
	return id;
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
