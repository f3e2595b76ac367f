// SPDX-License-Identifier: Apache-2.0
/* Recordings that are written, read, cut off and damaged. */
#include <criterion/criterion.h>
#include <endian.h>
#include <errno.h>
#include <unistd.h>

#include "formats/report_format.h"
#include "formats/tests/recording_samples.h"
#include "recording/block_stream.h"
#include "recording/recording.h"
#include "recording/recording_reader.h"
#include "symbols/jit.h"
#include "symbols/kallsyms.h"
#include "symbols/tests/some_names.h"

static const struct report_context context = {
	.target = "prog (PID 42)",
	.event = "cpu-clock",
	.counts = "page_faults",
	.command = "dwarfprof -p 42 -o x.dwarfprof",
	.host = "here",
	.kernel = "Linux 6.18.5 x86_64",
	.hz = 4999,
	.period = 7,
	.events = EVENT_BIT(DP_EVENT_OFF_CPU) | EVENT_BIT(DP_EVENT_CPU),
	.started_ns = 123,
	.started_real_ns = UINT64_C(1800000000123456789),
	.symbols = true,
};

/* A recording of random samples in memory. */
static char *file;
static size_t file_size;

static void report_samples(struct report *report, uint64_t seed, size_t n_samples, size_t n_stacks)
{
	struct random_samples *r = malloc(sizeof(*r));

	random_init(r, seed, n_stacks);
	for (size_t i = 0; i < n_samples; i++) {
		random_sample(r);
		cr_assert(report_add(report, &r->sample, &r->totals) == 0);
	}
	r->totals.duration_ns = 77;
	r->totals.still_blocked = 3;
	r->totals.pages_requested = 4;
	cr_assert(report_finish(report, &r->totals) == 0);
	report_free(report);
	random_free(r);
}

static void record(uint64_t seed, size_t n_samples, size_t n_stacks)
{
	FILE *to = open_memstream(&file, &file_size);
	struct report *report;

	cr_assert(report_new(report_format_by_path("x.dwarfprof"), &context, to, &report) == 0);
	report_samples(report, seed, n_samples, n_stacks);
	fclose(to);
}

/* Compares what is read with samples generated again. */
struct comparison {
	struct random_samples *expected;
	size_t n;
};

static bool is_same_module(const struct module *a, const struct module *b)
{
	return a && b && strcmp(a->path, b->path) == 0 && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->build_id, b->build_id) == 0 && a->size == b->size &&
	       a->written.tv_sec == b->written.tv_sec && a->written.tv_nsec == b->written.tv_nsec;
}

static void compare_frames(const struct sample *s, const struct sample *e)
{
	cr_assert(s->n_user == e->n_user && s->n_kernel == e->n_kernel);
	for (size_t i = 0; i < s->n_user; i++) {
		const struct frame *f = &s->user[i], *g = &e->user[i];
		bool same =
			f->address == g->address && f->method == g->method && f->probe == g->probe;

		if (f->module || g->module)
			same = same && f->offset == g->offset &&
			       is_same_module(f->module, g->module);
		if (!same)
			cr_assert(same, "frame %zu", i);
	}
	cr_assert(s->n_kernel == 0 ||
		  memcmp(s->kernel, e->kernel, s->n_kernel * sizeof(*s->kernel)) == 0);
}

static int compare(void *arg, const struct sample *s, const struct totals *totals)
{
	struct comparison *c = arg;
	const struct sample *e = &c->expected->sample;

	random_sample(c->expected);
	c->n++;
	cr_assert(s->time_ns == e->time_ns && s->event == e->event && s->state == e->state);
	cr_assert(s->weight == e->weight && s->value_ns == e->value_ns && s->cpu == e->cpu);
	cr_assert(s->pid == e->pid && s->tid == e->tid);
	cr_assert_str_eq(s->comm, e->comm);
	cr_assert_str_eq(s->thread_name, e->thread_name);
	cr_assert(s->outcome == e->outcome && s->fault_address == e->fault_address);
	cr_assert(s->kernel_error == e->kernel_error && s->late == e->late);
	cr_assert_eq(label_set_size(s->labels), label_set_size(e->labels));
	cr_assert(!s->labels || memcmp(s->labels, e->labels, label_set_size(s->labels)) == 0);
	cr_assert(s->verified == NULL);
	compare_frames(s, e);
	cr_assert_eq(totals->lost, c->expected->totals.lost);
	return 0;
}

static struct recording_reader *reader;
static FILE *from;
static char why[RECORDING_WHY_SIZE];

/* Starts reading `size` bytes of the file. */
static int open_bytes(const char *bytes, size_t size)
{
	struct recording_options options = { .names = some_names(), .symbols = true };

	reader = NULL;
	why[0] = '\0';
	from = fmemopen((void *)bytes, size, "r");
	cr_assert(from);
	return recording_reader_new(from, &options, &reader, why);
}

static void close_bytes(void)
{
	recording_reader_free(reader);
	fclose(from);
}

/* Reads the file, returns the number of samples as expected, and frees these. */
static size_t read_expected(const char *bytes, size_t size, struct random_samples *expected)
{
	struct comparison c = { .expected = expected };

	if (open_bytes(bytes, size) == 0) {
		const struct totals *totals = recording_reader_totals(reader);

		cr_assert_eq(recording_reader_run(reader, compare, &c), 0);
		cr_assert_eq(totals->samples, c.n);
		for (size_t i = 0; i < DP_N_OUTCOMES; i++)
			cr_assert_eq(totals->outcomes[i], c.expected->totals.outcomes[i]);
		cr_assert_eq(totals->events, c.expected->totals.events);
		cr_assert_eq(totals->time_ns, c.expected->totals.time_ns);
		cr_assert_eq(totals->finished_late, c.expected->totals.finished_late);
		cr_assert_eq(totals->cut_labels, c.expected->totals.cut_labels);
	}
	random_free(c.expected);
	return c.n;
}

/* The same for samples from a seed. */
static size_t read_bytes(const char *bytes, size_t size, uint64_t seed, size_t n_stacks)
{
	struct random_samples *expected = malloc(sizeof(*expected));

	random_init(expected, seed, n_stacks);
	return read_expected(bytes, size, expected);
}

Test(recording, is_read_as_it_was_written)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		record(seed, 3000, seed % 2 ? 50 : 100000);
		cr_assert_eq(read_bytes(file, file_size, seed, seed % 2 ? 50 : 100000), 3000);
		cr_assert_null(recording_reader_fault(reader));
		cr_assert_eq(recording_reader_totals(reader)->duration_ns, 77);
		cr_assert_eq(recording_reader_totals(reader)->still_blocked, 3);
		cr_assert_eq(recording_reader_totals(reader)->pages_requested, 4);
		close_bytes();
		free(file);
	}
}

static void load_old(const char *path)
{
	FILE *old = fopen(path, "r");

	cr_assert(old);
	file = malloc(1 << 16);
	file_size = fread(file, 1, 1 << 16, old);
	fclose(old);
}

/* A file by a dwarfprof from before numeric labels: 60 samples. */
Test(recording, of_an_earlier_dwarfprof_is_read)
{
	struct random_samples *expected = malloc(sizeof(*expected));

	load_old(OLD_RECORDINGS "/texts_only.dwarfprof");
	random_init(expected, 21, 10);
	expected->shallow = expected->texts_only = true;
	cr_assert_eq(read_expected(file, file_size, expected), 60);
	cr_assert_null(recording_reader_fault(reader));
	cr_assert_gt(recording_reader_totals(reader)->cut_labels, 0);
	cr_assert_eq(recording_reader_context(reader)->events, EVENT_BIT(DP_EVENT_CPU));
	close_bytes();
	free(file);
}

/* And from before `events`: `time` and `wall` say it. */
Test(recording, of_an_earlier_dwarfprof_has_wall_time)
{
	load_old(OLD_RECORDINGS "/wall.dwarfprof");
	cr_assert_eq(open_bytes(file, file_size), 0);
	cr_assert_eq(recording_reader_context(reader)->events,
		     EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU));
	close_bytes();
	free(file);
}

Test(recording, has_the_context)
{
	const struct report_context *c;

	record(1, 0, 1);
	cr_assert_eq(read_bytes(file, file_size, 1, 1), 0);
	c = recording_reader_context(reader);
	cr_assert_str_eq(c->target, context.target);
	cr_assert_str_eq(c->event, context.event);
	cr_assert_str_eq(c->counts, context.counts);
	cr_assert_str_eq(c->command, context.command);
	cr_assert_str_eq(c->host, context.host);
	cr_assert_str_eq(c->kernel, context.kernel);
	cr_assert(c->hz == 4999 && c->period == 7 && c->events == context.events && c->symbols);
	cr_assert(c->started_ns == 123 && c->started_real_ns == context.started_real_ns);
	cr_assert_str_eq(recording_reader_text(reader, "version"), DP_VERSION);
	cr_assert_null(recording_reader_text(reader, "colour"));
	cr_assert_null(recording_reader_fault(reader));
	close_bytes();
	free(file);
}

/* A stack that is known takes a few bytes each further time. */
Test(recording, is_small)
{
	record(5, 20000, 100);
	cr_assert_lt(file_size, 20000 * 20);
	free(file);
}

/* Finds the start of each block by the sizes in the heads. */
static size_t find_blocks(size_t *blocks, size_t max)
{
	size_t position = sizeof(struct recording_head), n = 0;

	while (position < file_size) {
		struct block_head head;

		cr_assert(n < max);
		blocks[n++] = position;
		memcpy(&head, file + position, sizeof(head));
		position += sizeof(head) + le32toh(head.size);
	}
	cr_assert_eq(position, file_size);
	return n;
}

/* Cut off anywhere, it is read up to its last complete block. */
Test(recording, is_read_up_to_where_it_is_cut_off)
{
	size_t blocks[1000], n_blocks, last = 0;

	record(3, 1500, 500);
	n_blocks = find_blocks(blocks, 1000);
	cr_assert_gt(n_blocks, 5);
	for (size_t i = 1; i < n_blocks; i++) {
		size_t n = read_bytes(file, blocks[i], 3, 500);
		size_t end = i + 1 < n_blocks ? blocks[i + 1] : file_size;

		/* A last block may have no samples. */
		cr_assert(n > last && (n < 1500 || i + 1 == n_blocks));
		cr_assert(strstr(recording_reader_fault(reader), "cut off"));
		close_bytes();
		last = n;
		for (size_t more = 1; more < 200 && blocks[i] + more < end; more += 33) {
			cr_assert_eq(read_bytes(file, blocks[i] + more, 3, 500), n);
			cr_assert(strstr(recording_reader_fault(reader), "cut off"));
			close_bytes();
		}
	}
	cr_assert_eq(read_bytes(file, file_size - 1, 3, 500), last);
	close_bytes();
	free(file);
}

/* Before the first complete block there is nothing to report. */
Test(recording, is_refused_without_a_whole_block)
{
	size_t blocks[1000];

	record(3, 1000, 1000);
	find_blocks(blocks, 1000);
	for (size_t size = 1; size < blocks[1]; size++) {
		cr_assert_lt(open_bytes(file, size), 0);
		cr_assert(strstr(why, "cut off"), "%zu bytes: %s", size, why);
		close_bytes();
	}
	free(file);
}

/* With a byte changed anywhere, all before its block is read correctly, and nothing is invented. */
Test(recording, is_read_up_to_where_it_is_damaged)
{
	size_t blocks[1000], n_blocks, n_whole[1000] = { 0 };

	record(4, 1000, 500);
	n_blocks = find_blocks(blocks, 1000);
	for (size_t i = 1; i < n_blocks; i++) {
		n_whole[i] = read_bytes(file, blocks[i], 4, 500);
		close_bytes();
	}
	for (size_t at = blocks[0]; at < file_size; at += 1 + at % 997) {
		size_t block = 0, n;

		while (block + 1 < n_blocks && blocks[block + 1] <= at)
			block++;
		file[at] ^= (char)(1 << at % 8);
		n = read_bytes(file, file_size, 4, 500);
		cr_assert_eq(n, n_whole[block], "byte %zu, block %zu", at, block);
		cr_assert(block == 0 ? why[0] != '\0' : recording_reader_fault(reader) != NULL);
		close_bytes();
		file[at] ^= (char)(1 << at % 8);
	}
	free(file);
}

static void refuses(const char *bytes, size_t size, const char *reason)
{
	cr_assert_lt(open_bytes(bytes, size), 0);
	cr_assert(strstr(why, reason), "%s", why);
	close_bytes();
}

Test(recording, of_something_else_is_refused)
{
	char *text = strdup("main;f;g 12\nmain;f;h 13\nand so on, for more bytes than the head\n");

	refuses(text, strlen(text), "not a recording");
	refuses(text, 3, "not a recording");
	record(1, 10, 10);
	file[RECORDING_MAGIC_SIZE] = RECORDING_VERSION_TIMED + 1;
	refuses(file, file_size, "version 3");
	free(file);
	free(text);
}

Test(recording, that_is_empty_is_refused)
{
	struct recording_options options = { .names = some_names() };

	from = fopen("/dev/null", "r");
	cr_assert(recording_reader_new(from, &options, &reader, why) < 0 && strstr(why, "empty"));
	fclose(from);
}

static int report_sample(void *arg, const struct sample *sample, const struct totals *totals)
{
	return report_add(arg, sample, totals);
}

static struct report *begin_report(const char *format, char **ret, size_t *ret_size, FILE **ret_to,
				   const struct report_context *of)
{
	static struct kallsyms *none; /* the kernel's names were looked up, and not found */
	struct report_context own = *of;
	struct report *report;

	own.names = some_names();
	if (!own.kallsyms && (none || kallsyms_new_empty(own.names, &none) == 0))
		own.kallsyms = none;
	*ret_to = open_memstream(ret, ret_size);
	cr_assert_eq(report_new(report_format_by_name(format), &own, *ret_to, &report), 0);
	return report;
}

/* From a recording, every format makes the report that it would have made directly. */
Test(recording, makes_the_same_reports)
{
	static const char *const formats[] = { "folded",  "jsonl",      "text",  "recording",
					       "json",    "speedscope", "pprof", "svg",
					       "firefox", "perf-script" };

	record(11, 1000, 300);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		char *at_once, *later;
		size_t size, later_size;
		FILE *to;
		struct report *report = begin_report(formats[i], &at_once, &size, &to, &context);

		report_samples(report, 11, 1000, 300);
		fclose(to);
		cr_assert_eq(open_bytes(file, file_size), 0);
		report = begin_report(formats[i], &later, &later_size, &to,
				      recording_reader_context(reader));
		cr_assert_eq(recording_reader_run(reader, report_sample, report), 0);
		cr_assert_eq(report_finish(report, recording_reader_totals(reader)), 0);
		report_free(report);
		fclose(to);
		close_bytes();
		cr_assert(size > 1000 && size == later_size, "%s", formats[i]);
		cr_assert_eq(memcmp(at_once, later, size), 0, "%s", formats[i]);
		free(at_once);
		free(later);
	}
	free(file);
}

static int give_up(void *arg, const struct sample *sample, const struct totals *totals)
{
	return totals->samples == 10 ? -EPIPE : 0;
}

Test(recording, is_read_until_the_caller_has_enough)
{
	record(1, 100, 10);
	cr_assert_eq(open_bytes(file, file_size), 0);
	cr_assert_eq(recording_reader_run(reader, give_up, NULL), -EPIPE);
	cr_assert_eq(recording_reader_totals(reader)->samples, 10);
	close_bytes();
	free(file);
}

/* Kernel names are those of the machine that recorded. */
static int check_names(void *arg, const struct sample *s, const struct totals *totals)
{
	const struct report_context *c = recording_reader_context(arg);
	const char *name;
	uint64_t offset = 0;

	cr_assert_eq(s->n_kernel, 3);
	name = kallsyms_find(c->kallsyms, s->kernel[0], &offset);
	cr_assert_str_eq(name, totals->samples == 1 ? "old_program" : "new_program");
	cr_assert_eq(offset, 0x20);
	cr_assert_str_eq(kallsyms_find_module(c->kallsyms, s->kernel[0]), "bpf");
	name = kallsyms_find(c->kallsyms, s->kernel[1] - 1, &offset);
	cr_assert_str_eq(name, "other_program");
	cr_assert_eq(offset, 0xfff);
	cr_assert_null(kallsyms_find(c->kallsyms, s->kernel[2] - 1, &offset));
	cr_assert_null(kallsyms_find_module(c->kallsyms, s->kernel[2] - 1));
	return 0;
}

Test(recording, has_the_names_of_the_kernel)
{
	static const __u64 kernel[] = { 0xffffffffc0001020, 0xffffffffc0003000, 0x5000 };
	struct sample sample = {
		.outcome = DP_NO_USER_STACK, .weight = 1, .kernel = kernel, .n_kernel = 3
	};
	char list[] = "/tmp/test_recording.XXXXXX";
	struct report_context with_names = context;
	struct totals totals = { 0 };
	struct kallsyms *kallsyms;
	struct report *report;
	FILE *to = open_memstream(&file, &file_size);
	int fd = mkstemp(list);

	cr_assert(write(fd, "ffffffff81000000 T _text\n", 25) == 25);
	cr_assert_eq(kallsyms_new(some_names(), list, &kallsyms), 0);
	unlink(list);
	close(fd);
	with_names.kallsyms = kallsyms;
	cr_assert_eq(kallsyms_add_late(kallsyms, 0xffffffffc0001000, 0x1000, "old_program"), 0);
	cr_assert_eq(kallsyms_add_late(kallsyms, 0xffffffffc0002000, 0x1000, "other_program"), 0);
	cr_assert_eq(report_new(report_format_by_name("recording"), &with_names, to, &report), 0);
	totals.samples = 1;
	cr_assert_eq(report_add(report, &sample, &totals), 0);
	cr_assert_eq(kallsyms_add_late(kallsyms, 0xffffffffc0001000, 0x1000, "new_program"), 0);
	totals.samples = 2;
	cr_assert_eq(report_add(report, &sample, &totals), 0);
	cr_assert_eq(report_finish(report, &totals), 0);
	report_free(report);
	fclose(to);
	kallsyms_free(kallsyms);

	cr_assert_eq(open_bytes(file, file_size), 0);
	cr_assert_eq(recording_reader_run(reader, check_names, reader), 0);
	cr_assert_null(recording_reader_fault(reader));
	close_bytes();
	free(file);
}

static const struct source_location compiled[] = { { "inner", "a.js", NULL, 7, 300, false },
						   { "middle", "a.js", NULL, 0, 0, false },
						   { .function = "outer" } };

/* JIT code has no file in which its name could be found later. */
static int check_compiled(void *arg, const struct sample *s, const struct totals *totals)
{
	const struct source_location *found;

	cr_assert(s->n_user == 4 && s->user[3].address == 0x7f0000005000);
	for (unsigned int i = 0; i < 3; i++) {
		cr_assert_eq(s->user[i].address, 0x7f0000001000 + 0x10 * i);
		cr_assert_str_eq(s->user[i].module->path, MODULE_JIT);
		cr_assert_eq(frame_locations(&s->user[i], true, &found), 1);
		cr_assert_str_eq(found->function, compiled[i].function);
		cr_assert_str_eq(found->file ?: "", compiled[i].file ?: "");
		cr_assert(found->line == compiled[i].line && found->column == compiled[i].column);
	}
	/* The process has named no code there. */
	cr_assert_eq(frame_locations(&s->user[3], true, &found), 0);
	return 0;
}

Test(recording, has_the_names_of_compiled_code)
{
	struct module *module = module_new_jit(some_names());
	struct frame frames[] = {
		{ 0x7f0000001000, 0, module, DP_METHOD_LEAF },
		{ 0x7f0000001010, 0, module, DP_METHOD_LEAF },
		{ 0x7f0000001020, 0, module, DP_METHOD_TABLE },
		{ 0x7f0000005000, 0x7f0000005000, module, DP_METHOD_TABLE },
	};
	struct sample sample = { .outcome = DP_COMPLETE, .weight = 1, .user = frames, .n_user = 4 };
	struct totals totals = { 0 };
	struct report *report;
	FILE *to = open_memstream(&file, &file_size);

	for (unsigned int i = 0; i < 3; i++)
		cr_assert_eq(jit_add(module->jit, &compiled[i], &frames[i].offset), 0);
	frames[2].offset++;
	cr_assert_eq(report_new(report_format_by_name("recording"), &context, to, &report), 0);
	for (totals.samples = 1; totals.samples <= 2; totals.samples++)
		cr_assert_eq(report_add(report, &sample, &totals), 0);
	totals.samples = 2;
	cr_assert_eq(report_finish(report, &totals), 0);
	report_free(report);
	fclose(to);
	module_free(module);

	cr_assert_eq(open_bytes(file, file_size), 0);
	cr_assert_eq(recording_reader_run(reader, check_compiled, NULL), 0);
	cr_assert_null(recording_reader_fault(reader));
	cr_assert_eq(recording_reader_totals(reader)->samples, 2);
	close_bytes();
	free(file);
}
