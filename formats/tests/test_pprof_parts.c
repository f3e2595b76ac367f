// SPDX-License-Identifier: Apache-2.0
/*
 * pprof profiles for readers with limits, decoded by protobuf-c: each of several is valid by itself,
 * together they have each stack once, and of stacks that are too deep the middle is left out.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <zlib.h>

#include "formats/report_format.h"
#include "report/report.h"
#include "symbols/names.h"
#include "pprof.pb-c.h"
#include "symbols/tests/some_names.h"

#define N_FRAMES 30
#define BEGAN_NS 1700000000000000000
#define ROOM ((size_t)4 << 20)

static struct module program = { .name = "prog",
				 .path = (char *)"/usr/bin/prog",
				 .build_id = "cafe",
				 .fd = -1,
				 .symtab_tried = true };

/* More binaries, of which each stack has code in another one. */
static struct {
	struct module module;
	char path[64];
} others[450];
static bool has_others;

static struct totals totals = { .duration_ns = 1000000000, .lost = 7 };
static struct report *report;
static char *file;
static size_t file_size;
static size_t max_frames;

/* What has been decoded. */
static struct {
	size_t files, samples, most, largest, comments_of_totals;
	int64_t times[64];
	bool variants[1000];
	int fails; /* so many times, taking one fails */
} seen;

static void begin(const struct report_parts *parts)
{
	const struct report_context context = { .target = "prog",
						.event = "cpu-clock",
						.hz = 100,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.symbols = true,
						.names = program.names = some_names(),
						.started_real_ns = BEGAN_NS,
						.parts = parts,
						.max_frames = max_frames };

	cr_assert_eq(report_new(report_format_by_name("pprof"), &context,
				open_memstream(&file, &file_size), &report),
		     0);
}

/* Its stack and its thread's name are those of a variant. */
static void add(unsigned int variant)
{
	struct frame frames[N_FRAMES];
	struct sample sample = { .weight = 1,
				 .pid = 42,
				 .tid = 43,
				 .comm = "prog",
				 .user = frames,
				 .n_user = N_FRAMES,
				 .outcome = DP_COMPLETE };

	for (size_t i = 0; i < N_FRAMES; i++)
		frames[i] =
			(struct frame){ .address = 0x7000 + i,
					.offset = 0x1000 + variant * N_FRAMES + i,
					.module = has_others ? &others[variant].module : &program,
					.method = i ? DP_METHOD_TABLE : DP_METHOD_LEAF };
	snprintf(sample.thread_name, sizeof(sample.thread_name), "t %u", variant % 1000);
	totals.samples++;
	cr_assert_eq(report_add(report, &sample, &totals), 0);
}

static Pprof__Profile *decode(const char *from, size_t size)
{
	uint8_t *data = malloc(ROOM);
	z_stream stream = { .avail_in = (uInt)size,
			    .next_in = (Bytef *)from,
			    .avail_out = (uInt)ROOM,
			    .next_out = data };
	Pprof__Profile *profile;

	cr_assert_eq(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
	cr_assert_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	cr_assert_eq(stream.avail_in, 0);
	profile = pprof__profile__unpack(NULL, stream.total_out, data);
	cr_assert(profile);
	if (stream.total_out > seen.largest)
		seen.largest = stream.total_out;
	inflateEnd(&stream);
	free(data);
	return profile;
}

/* What it refers to is there. */
static void check_references(const Pprof__Profile *p)
{
	for (size_t i = 0; i < p->n_sample; i++) {
		for (size_t k = 0; k < p->sample[i]->n_location_id; k++)
			cr_assert(p->sample[i]->location_id[k] - 1 < p->n_location);
		for (size_t k = 0; k < p->sample[i]->n_label; k++)
			cr_assert_lt((size_t)p->sample[i]->label[k]->str, p->n_string_table);
	}
	for (size_t i = 0; i < p->n_location; i++) {
		cr_assert_eq(p->location[i]->id, i + 1);
		cr_assert_leq(p->location[i]->mapping_id, p->n_mapping);
	}
	cr_assert_eq(p->n_sample_type, 2);
	cr_assert_str_eq(p->string_table[p->default_sample_type], "cpu");
	cr_assert_eq(p->duration_nanos, 1000000000);
}

/* Of the bytes written since the last one. */
static int end_part(void *arg, uint64_t n_events)
{
	size_t *begins = arg, before = seen.samples;
	Pprof__Profile *p;

	cr_assert_eq(fflush(report->to), 0);
	p = decode(file + *begins, file_size - *begins);
	*begins = file_size;
	check_references(p);
	for (size_t i = 0; i < p->n_sample; i++) {
		uint64_t leaf = p->location[p->sample[i]->location_id[0] - 1]->address;
		bool *variant = &seen.variants[(leaf - 0x1000) / N_FRAMES];

		cr_assert_not(*variant);
		*variant = true;
		seen.samples += (size_t)p->sample[i]->value[0];
	}
	cr_assert_eq(seen.samples - before, n_events);
	for (size_t i = 0; i < p->n_comment; i++)
		seen.comments_of_totals +=
			strstr(p->string_table[p->comment[i]], "lost: 7") != NULL;
	if (p->n_sample > seen.most)
		seen.most = p->n_sample;
	seen.times[seen.files++] = p->time_nanos;
	pprof__profile__free_unpacked(p, NULL);
	return seen.fails-- > 0 ? -ENOSPC : 0;
}

static int end(void)
{
	int err = report_finish(report, &totals);

	fclose(report->to);
	report_free(report);
	return err;
}

static void write_all_variants(size_t max_size, size_t max_samples)
{
	size_t begins = 0;
	const struct report_parts parts = { max_size, max_samples, end_part, &begins };

	begin(&parts);
	for (unsigned int i = 0; i < 2 * 450; i++)
		add(i % 450);
	cr_assert_eq(end(), 0);
	cr_assert_eq(begins, file_size);
	cr_assert_eq(seen.samples, 900);
	for (size_t i = 0; i < 450; i++)
		cr_assert(seen.variants[i]);
	/* Of the same labels and millisecond, Pyroscope shows one. */
	for (size_t i = 0; i < seen.files; i++)
		cr_assert_eq(seen.times[i], BEGAN_NS + (int64_t)i * 1000000);
	cr_assert_eq(seen.comments_of_totals, 1);
	free(file);
}

Test(pprof_parts, have_a_limited_number_of_samples)
{
	write_all_variants(ROOM, 100);
	cr_assert_eq(seen.files, 5);
	cr_assert_eq(seen.most, 100);
}

Test(pprof_parts, have_a_limited_size)
{
	write_all_variants(20000, 100000);
	cr_assert_gt(seen.files, 5);
	/* A stack is below 1000 bytes. */
	cr_assert_lt(seen.largest, 21000);
	cr_assert_gt(seen.largest, 19000);
}

static void make_others(void)
{
	for (int i = 0; i < 450; i++) {
		snprintf(others[i].path, sizeof(others[i].path), "/usr/lib/x86_64-linux-gnu/%03d",
			 i);
		others[i].module = program;
		others[i].module.names = some_names();
		others[i].module.path = others[i].path;
		snprintf(others[i].module.build_id, sizeof(others[i].module.build_id), "%040d", i);
	}
	has_others = true;
}

/* All mappings are in each. */
Test(pprof_parts, have_room_for_many_mappings, .init = make_others)
{
	write_all_variants(80000, 100000);
	cr_assert_lt(seen.largest, 81000);
	cr_assert_gt(seen.files, 2);
	cr_assert_gt(seen.largest, 65000);
}

/* The disk is full for a moment. */
Test(pprof_parts, follow_one_that_cannot_be_taken)
{
	size_t begins = 0;
	const struct report_parts parts = { ROOM, 100, end_part, &begins };

	seen.fails = 1;
	begin(&parts);
	for (unsigned int i = 0; i < 450; i++)
		add(i);
	cr_assert_eq(end(), -ENOSPC);
	cr_assert_eq(seen.files, 5);
	cr_assert_eq(seen.samples, 450);
	free(file);
}

Test(pprof_parts, are_one_if_it_is_small)
{
	size_t begins = 0;
	const struct report_parts parts = { ROOM, 100, end_part, &begins };

	begin(&parts);
	for (unsigned int i = 0; i < 100; i++)
		add(i);
	cr_assert_eq(end(), 0);
	cr_assert_eq(seen.files, 1);
	free(file);
}

/* As of the backend's limit, each half of what is left is next to its end. */
Test(pprof_parts, of_deep_stacks_the_middle_is_left_out)
{
	static const struct {
		size_t max, n, mark;
	} rows[] = { { 0, N_FRAMES, SIZE_MAX },
		     { N_FRAMES, N_FRAMES, SIZE_MAX },
		     { N_FRAMES - 1, N_FRAMES - 1, 14 },
		     { 8, 8, 4 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Pprof__Profile *p;

		max_frames = rows[i].max;
		begin(NULL);
		add(0);
		cr_assert_eq(end(), 0);
		p = decode(file, file_size);
		cr_assert_eq(p->sample[0]->n_location_id, rows[i].n);
		for (size_t k = 0; k < rows[i].n; k++) {
			const Pprof__Location *l = p->location[p->sample[0]->location_id[k] - 1];
			size_t at = k < rows[i].mark ? k : k + N_FRAMES - rows[i].n;

			if (k != rows[i].mark) {
				cr_assert_eq(l->address, 0x1000 + at - (at > 0));
				continue;
			}
			cr_assert_eq(l->n_line, 1);
			cr_assert_str_eq(
				p->string_table[p->function[l->line[0]->function_id - 1]->name],
				"[frames left out]");
		}
		pprof__profile__free_unpacked(p, NULL);
		free(file);
	}
}
