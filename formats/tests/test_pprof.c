// SPDX-License-Identifier: Apache-2.0
/* pprof profiles, decoded by protobuf-c: values, locations, mappings, labels and comments. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <link.h>
#include <zlib.h>

#include "formats/report_format.h"
#include "report/outcome.h"
#include "report/report.h"
#include "report/tests/labels.h"
#include "pprof.pb-c.h"
#include "symbols/kallsyms.h"
#include "symbols/tests/some_names.h"

/* A module without symbols, whose file cannot be read. */
static struct module program = { .name = "prog",
				 .path = (char *)"/usr/bin/prog",
				 .build_id = "cafe",
				 .fd = -1,
				 .symtab_tried = true };
static struct module library = { .name = "lib.so.1",
				 .path = (char *)"/lib.so.1",
				 .build_id = "",
				 .fd = -1,
				 .symtab_tried = true };

static const struct frame frames[] = {
	{ 0x7010, 0x10, &library, DP_METHOD_LEAF },
	{ 0x5120, 0x1120, &program, DP_METHOD_TABLE },
	{ 0x7777, 0, NULL, DP_METHOD_FRAME_POINTER },
};

static const __u64 kernel[] = { 0xffffffff81000001, 0xffffffff81000100 };

static struct sample sample_of(enum dp_outcome outcome)
{
	return (struct sample){ .cpu = 1,
				.weight = 1,
				.pid = 42,
				.tid = 43,
				.comm = "prog",
				.thread_name = "worker",
				.outcome = outcome,
				.user = frames,
				.n_user = 3 };
}

static struct report_context context;
static struct names *wanted; /* NULL: any */
static struct totals totals;
static struct report *report;
static char *file;
static size_t file_size;
static Pprof__Profile *profile;

static void begin(void)
{
	context.names = program.names = library.names = wanted ? wanted : some_names();
	cr_assert(report_new(report_format_by_name("pprof"), &context,
			     open_memstream(&file, &file_size), &report) == 0);
}

static void begin_cpu(void)
{
	context = (struct report_context){ .target = "prog (PID 42)",
					   .event = "cpu-clock",
					   .hz = 1000,
					   .events = EVENT_BIT(DP_EVENT_CPU),
					   .symbols = true,
					   .started_real_ns = 123 };
	begin();
}

static void add(struct sample sample)
{
	totals.samples++;
	totals.events += sample.weight;
	totals.time_ns += sample.weight * sample.value_ns;
	totals.outcomes[sample.outcome]++;
	cr_assert(report_add(report, &sample, &totals) == 0);
}

/* Decompresses and decodes the output. */
static void finish(void)
{
	size_t size = 64 << 20;
	uint8_t *data = malloc(size);
	z_stream stream = { .avail_out = (uInt)size, .next_out = data };

	cr_assert(report_finish(report, &totals) == 0);
	fclose(report->to);
	report_free(report);
	stream.next_in = (Bytef *)file;
	stream.avail_in = (uInt)file_size;
	cr_assert(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
	cr_assert(inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0);
	profile = pprof__profile__unpack(NULL, stream.total_out, data);
	cr_assert(profile);
	inflateEnd(&stream);
	free(data);
}

static void done(void)
{
	pprof__profile__free_unpacked(profile, NULL);
	free(file);
	memset(&totals, 0, sizeof(totals));
}

static const char *string(int64_t number)
{
	cr_assert(number >= 0 && (size_t)number < profile->n_string_table);
	return profile->string_table[number];
}

static const Pprof__Location *location(const Pprof__Sample *sample, size_t i)
{
	cr_assert(i < sample->n_location_id && sample->location_id[i] <= profile->n_location);
	return profile->location[sample->location_id[i] - 1];
}

static const Pprof__Mapping *mapping(const Pprof__Location *l)
{
	cr_assert(l->mapping_id <= profile->n_mapping);
	return l->mapping_id ? profile->mapping[l->mapping_id - 1] : NULL;
}

static const char *function(const Pprof__Location *l, size_t i)
{
	cr_assert(i < l->n_line && l->line[i]->function_id <= profile->n_function);
	return string(profile->function[l->line[i]->function_id - 1]->name);
}

static const Pprof__Label *label(const Pprof__Sample *sample, const char *key)
{
	for (size_t i = 0; i < sample->n_label; i++)
		if (strcmp(string(sample->label[i]->key), key) == 0)
			return sample->label[i];
	return NULL;
}

static bool has_comment(const char *text)
{
	for (size_t i = 0; i < profile->n_comment; i++)
		if (strcmp(string(profile->comment[i]), text) == 0)
			return true;
	return false;
}

static void expect_types(const char *expected)
{
	char types[200] = "";

	for (size_t i = 0; i < profile->n_sample_type; i++) {
		strcat(types, string(profile->sample_type[i]->type));
		strcat(types, "/");
		strcat(types, string(profile->sample_type[i]->unit));
		strcat(types, " ");
	}
	cr_assert_str_eq(types, expected);
}

Test(pprof, counts_samples_by_time)
{
	begin_cpu();
	add(sample_of(DP_COMPLETE));
	add(sample_of(DP_COMPLETE));
	totals.duration_ns = 456;
	finish();
	cr_assert_str_eq(string(0), "");
	expect_types("samples/count cpu/nanoseconds ");
	cr_assert_str_eq(string(profile->default_sample_type), "cpu");
	cr_assert_str_eq(string(profile->period_type->type), "cpu");
	cr_assert_eq(profile->period, 1000000);
	cr_assert_eq(profile->time_nanos, 123);
	cr_assert_eq(profile->duration_nanos, 456);
	cr_assert_eq(profile->n_sample, 1);
	cr_assert_eq(profile->sample[0]->n_value, 2);
	cr_assert_eq(profile->sample[0]->value[0], 2);
	cr_assert_eq(profile->sample[0]->value[1], 2000000);
	done();
}

/* Return addresses are moved into the call; names that are not known are left to readers. */
Test(pprof, places_addresses_in_files)
{
	const Pprof__Sample *s;

	begin_cpu();
	add(sample_of(DP_COMPLETE));
	finish();
	s = profile->sample[0];
	cr_assert_eq(s->n_location_id, 3);
	cr_assert_eq(location(s, 0)->address, 0x10);
	cr_assert_eq(location(s, 1)->address, 0x111f);
	cr_assert_eq(location(s, 2)->address, 0x7776);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(location(s, i)->n_line, 0);
	cr_assert_null(mapping(location(s, 2)));
	/* The program comes first, although the library was used first. */
	cr_assert_eq(profile->n_mapping, 2);
	cr_assert_eq(mapping(location(s, 1)), profile->mapping[0]);
	cr_assert_str_eq(string(profile->mapping[0]->filename), "/usr/bin/prog");
	cr_assert_str_eq(string(profile->mapping[0]->build_id), "cafe");
	cr_assert_str_eq(string(profile->mapping[1]->filename), "/lib.so.1");
	cr_assert_str_eq(string(profile->mapping[1]->build_id), "");
	for (size_t i = 0; i < 2; i++) {
		const Pprof__Mapping *m = profile->mapping[i];

		cr_assert_eq(m->id, i + 1);
		cr_assert(m->memory_limit > location(s, !i)->address);
		cr_assert(!m->has_functions && !m->has_filenames && !m->has_line_numbers &&
			  !m->has_inline_frames);
	}
	done();
}

/* Readers take the first mapping for the program: an unused one would be shown as that. */
Test(pprof, has_no_mapping_that_no_location_is_in)
{
	static const struct frame start = { 0x5000, 0, &program, DP_METHOD_LEAF };

	begin_cpu();
	add((struct sample){ .weight = 1, .user = &start, .n_user = 1 });
	finish();
	cr_assert_eq(profile->n_sample, 1);
	cr_assert_null(mapping(location(profile->sample[0], 0)));
	cr_assert_eq(profile->n_mapping, 0);
	done();
}

Test(pprof, keeps_threads_and_cpus_apart)
{
	struct sample sample = sample_of(DP_COMPLETE);

	begin_cpu();
	add(sample);
	sample.tid = 44;
	strcpy(sample.thread_name, "caf\xe9");
	sample.cpu = 0;
	add(sample);
	finish();
	cr_assert_eq(profile->n_sample, 2);
	cr_assert_eq(label(profile->sample[0], "tid")->num, 43);
	cr_assert_eq(label(profile->sample[0], "cpu")->num, 1);
	cr_assert_eq(label(profile->sample[1], "pid")->num, 42);
	cr_assert_eq(label(profile->sample[1], "tid")->num, 44);
	cr_assert_eq(label(profile->sample[1], "cpu")->num, 0);
	/* Without a unit, readers would take the first CPU for a label without a value. */
	cr_assert(label(profile->sample[1], "cpu")->num_unit > 0);
	cr_assert_str_eq(string(label(profile->sample[1], "comm")->str), "prog");
	cr_assert_str_eq(string(label(profile->sample[1], "thread_name")->str), "caf?");
	cr_assert_null(label(profile->sample[1], "outcome"));
	cr_assert_null(label(profile->sample[1], "state"));
	cr_assert_eq(profile->n_location, 3);
	done();
}

Test(pprof, has_the_labels_of_the_program)
{
	static const struct label labels[] = {
		{ .key = "path", .text = "/login" },
		{ .key = "state", .text = "busy" },
		{ .key = "user", .text = "42" },
		{ .key = "size", .number = -7, .unit = "bytes" },
		{ .key = "try", .unit = "" },
	};
	struct sample sample = sample_of(DP_NO_RULE);
	struct label_set *set = labels_of(labels, 5, false);

	sample.labels = set;
	/* With every label that a sample can have. */
	sample.event = DP_EVENT_OFF_CPU;
	begin_cpu();
	add(sample);
	add(sample);
	sample.labels = NULL;
	add(sample);
	finish();
	label_set_free(set);
	cr_assert_eq(profile->n_sample, 2);
	cr_assert_eq(profile->sample[0]->value[0], 2);
	cr_assert_str_eq(string(label(profile->sample[0], "path")->str), "/login");
	cr_assert_str_eq(string(label(profile->sample[0], "user")->str), "42");
	cr_assert_str_eq(string(label(profile->sample[0], "state")->str), "R");
	cr_assert_str_eq(string(label(profile->sample[0], "label:state")->str), "busy");
	cr_assert_eq(label(profile->sample[0], "size")->num, -7);
	cr_assert_str_eq(string(label(profile->sample[0], "size")->num_unit), "bytes");
	cr_assert_eq(label(profile->sample[0], "try")->num, 0);
	cr_assert_str_eq(string(label(profile->sample[0], "try")->num_unit), "try");
	cr_assert_null(label(profile->sample[1], "path"));
	done();
}

/* A program may set any number of labels. */
Test(pprof, has_room_for_all_labels)
{
	struct sample sample = sample_of(DP_NO_RULE);
	struct label labels[100];
	struct label_set *set;
	char keys[100][8];

	for (size_t i = 0; i < 100; i++) {
		snprintf(keys[i], sizeof(keys[i]), "key%zu", i);
		labels[i] = (struct label){ .key = keys[i], .text = "x" };
	}
	sample.labels = set = labels_of(labels, 100, false);
	begin_cpu();
	add(sample);
	finish();
	label_set_free(set);
	cr_assert_eq(profile->sample[0]->n_label, 106, "with six that each such sample has");
	for (size_t i = 0; i < 100; i++)
		cr_assert_str_eq(string(label(profile->sample[0], keys[i])->str), "x");
	done();
}

Test(pprof, tells_what_is_not_whole)
{
	struct sample none = sample_of(DP_NO_USER_STACK);
	const Pprof__Sample *s;

	none.n_user = 0;
	none.kernel_error = -14;
	begin_cpu();
	add(sample_of(DP_NO_RULE));
	add(none);
	totals.lost = 7;
	finish();
	s = profile->sample[0];
	cr_assert_str_eq(string(label(s, "outcome")->str), "no_rule");
	cr_assert_eq(s->n_location_id, 4);
	cr_assert_str_eq(function(location(s, 3), 0), "[truncated: no_rule]");
	cr_assert_null(mapping(location(s, 3)));
	s = profile->sample[1];
	cr_assert_eq(s->n_location_id, 2);
	cr_assert_str_eq(function(location(s, 0), 0), "[kernel]");
	cr_assert_null(mapping(location(s, 0)));
	cr_assert_str_eq(function(location(s, 1), 0), "[truncated: no_user_stack]");
	cr_assert(has_comment("samples: 2, lost: 7, complete: 0 of 1 with a user stack (0.0 %)"));
	cr_assert(has_comment("target: prog (PID 42)"));
	done();
}

Test(pprof, has_the_kernel_as_a_file)
{
	struct sample sample = sample_of(DP_COMPLETE);
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	struct kallsyms *kallsyms;
	FILE *names = fdopen(mkstemp(path), "w");
	const Pprof__Mapping *m;

	fputs("ffffffff81000000 T one\nffffffff81000100 T two\n", names);
	fclose(names);
	cr_assert(kallsyms_new(some_names(), path, &kallsyms) == 0);
	unlink(path);
	sample.kernel = kernel;
	sample.n_kernel = 2;
	for (int named = 0; named < 2; named++) {
		begin_cpu();
		report->context.kallsyms = named ? kallsyms : NULL;
		add(sample);
		finish();
		m = mapping(location(profile->sample[0], 0));
		cr_assert_str_eq(string(m->filename), "[kernel.kallsyms]");
		cr_assert_eq(m, mapping(location(profile->sample[0], 1)));
		cr_assert_eq(location(profile->sample[0], 1)->address, 0xffffffff810000ff);
		cr_assert(m->memory_start < kernel[0] && m->memory_limit > kernel[1]);
		cr_assert_eq(m->has_functions, named);
		cr_assert(!m->has_filenames && !m->has_inline_frames);
		if (named)
			cr_assert_str_eq(function(location(profile->sample[0], 1), 0), "one");
		else
			cr_assert_eq(location(profile->sample[0], 0)->n_line, 0);
		done();
	}
	kallsyms_free(kallsyms);
}

static struct sample block_of(enum dp_state state, uint64_t ns)
{
	struct sample sample = sample_of(DP_COMPLETE);

	sample.event = DP_EVENT_OFF_CPU;
	sample.state = state;
	sample.value_ns = ns;
	return sample;
}

Test(pprof, has_times_of_blocks)
{
	struct sample block = block_of(DP_STATE_DISK_SLEEP, 2000);

	context = (struct report_context){ .target = "", .event = "off-cpu" };
	context.events = EVENT_BIT(DP_EVENT_OFF_CPU);
	begin();
	block.weight = 3;
	add(block);
	totals.lost_ns = 2000000;
	finish();
	expect_types("events/count off_cpu/nanoseconds ");
	cr_assert_str_eq(string(profile->default_sample_type), "off_cpu");
	cr_assert_str_eq(string(profile->period_type->type), "off_cpu");
	cr_assert_eq(profile->period, 1);
	cr_assert_eq(profile->sample[0]->value[0], 3);
	cr_assert_eq(profile->sample[0]->value[1], 6000);
	cr_assert_str_eq(string(label(profile->sample[0], "state")->str), "D");
	cr_assert(has_comment("time: 0.006 ms, lost: 2.000 ms"));
	cr_assert(has_comment("scaled: the samples stand for 3 events"));
	done();
}

Test(pprof, has_wall_time_by_what_it_is)
{
	struct sample running = sample_of(DP_COMPLETE);

	running.value_ns = 1000000;
	context = (struct report_context){ .target = "", .event = "cpu-clock", .hz = 1000 };
	context.events = EVENT_BIT(DP_EVENT_CPU) | EVENT_BIT(DP_EVENT_OFF_CPU);
	begin();
	add(running);
	add(block_of(DP_STATE_SLEEPING, 77));
	finish();
	expect_types("events/count cpu/nanoseconds off_cpu/nanoseconds wall/nanoseconds ");
	cr_assert_eq(profile->n_sample, 2);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_eq(profile->sample[0]->value[i],
			     ((int64_t[]){ 1, 1000000, 0, 1000000 })[i]);
		cr_assert_eq(profile->sample[1]->value[i], ((int64_t[]){ 1, 0, 77, 77 })[i]);
	}
	cr_assert_str_eq(function(location(profile->sample[1], 0), 0), "[off-cpu S]");
	done();
}

Test(pprof, counts_events)
{
	context = (struct report_context){ .target = "", .event = "uprobe:/lib/x:f" };
	begin();
	add(sample_of(DP_COMPLETE));
	finish();
	expect_types("events/count ");
	cr_assert_str_eq(string(profile->default_sample_type), "events");
	cr_assert(has_comment("event: uprobe:/lib/x:f"));
	done();
}

/* A return address of 0, and one at the end of the address space, from broken stacks. */
Test(pprof, survives_addresses_at_the_ends)
{
	const struct frame ends[] = {
		{ 0, 0, &program, DP_METHOD_TABLE },
		{ 1, 1, &program, DP_METHOD_TABLE },
		{ UINT64_MAX, UINT64_MAX, &program, DP_METHOD_TABLE },
		{ UINT64_MAX, UINT64_MAX, &program, DP_METHOD_LEAF },
		{ 0, 0, NULL, DP_METHOD_SIGNAL },
	};
	struct sample sample = sample_of(DP_NULL_RETURN);

	sample.user = ends;
	sample.n_user = 5;
	begin_cpu();
	add(sample);
	finish();
	cr_assert_eq(profile->sample[0]->n_location_id, 6);
	cr_assert_eq(location(profile->sample[0], 0)->address, 0);
	cr_assert_eq(location(profile->sample[0], 2)->address, UINT64_MAX - 1);
	cr_assert_eq(profile->n_mapping, 1);
	cr_assert_eq(profile->mapping[0]->memory_limit, UINT64_MAX);
	done();
}

static uintptr_t call_address;

__attribute__((noinline)) static void note_call(void)
{
	call_address = (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) void inner(void)
{
	note_call();
	totals.lost = 0;
}

__attribute__((noinline)) static void outer(void)
{
	inner();
	totals.samples = 0;
}

/* Where ld.so has loaded this program's code, minus the program's load address. */
static int find_code(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) **ret = arg;

	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X))
			*ret = &info->dlpi_phdr[i];
	return 1; /* the program is the first one */
}

static struct module *add_inner(void)
{
	struct module *module = module_new(wanted ? wanted : some_names(), "/proc/self/exe", "",
					   open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	extern const char __executable_start;
	struct frame frame;

	outer();
	frame = (struct frame){ call_address, call_address - (uintptr_t)&__executable_start, module,
				DP_METHOD_TABLE };
	begin_cpu();
	add((struct sample){ .weight = 1, .user = &frame, .n_user = 1 });
	return module;
}

Test(pprof, has_inlined_functions_as_lines)
{
	const ElfW(Phdr) *code = NULL;
	const Pprof__Location *l;
	const Pprof__Mapping *m;
	struct module *module = add_inner();

	module_close(module, true); /* the file is not read again to find its code */
	module->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	module->no_debug = false;
	finish();
	l = location(profile->sample[0], 0);
	cr_assert_eq(l->n_line, 2);
	cr_assert_str_eq(function(l, 0), "inner");
	cr_assert_str_eq(function(l, 1), "outer");
	cr_assert(l->line[0]->line > 0 && l->line[0]->line < l->line[1]->line);
	cr_assert(strstr(string(profile->function[0]->filename), "/test_pprof.c"));
	m = mapping(l);
	dl_iterate_phdr(find_code, &code);
	cr_assert_eq(m->memory_start, code->p_vaddr & ~UINT64_C(0xfff));
	cr_assert_eq(m->memory_limit, (code->p_vaddr + code->p_memsz + 0xfff) & ~UINT64_C(0xfff));
	cr_assert_eq(m->file_offset, code->p_offset & ~UINT64_C(0xfff));
	cr_assert(l->address >= m->memory_start && l->address < m->memory_limit);
	cr_assert(m->has_functions && m->has_filenames && m->has_line_numbers &&
		  m->has_inline_frames);
	done();
	module_free(module);
}

/* Otherwise readers would look up all names of its mapping again, and find different ones. */
Test(pprof, has_a_function_where_there_is_no_name)
{
	struct module *module = add_inner();
	const struct frame frame = { 0x7010, 0x10, module, DP_METHOD_LEAF };

	add((struct sample){ .weight = 1, .user = &frame, .n_user = 1 });
	finish();
	cr_assert_str_eq(function(location(profile->sample[1], 0), 0), "[exe+0x10]");
	cr_assert(mapping(location(profile->sample[1], 0))->has_functions);
	done();
	module_free(module);
}

Test(pprof, claims_no_lines_that_were_not_wanted)
{
	struct module *module;
	const Pprof__Mapping *m;

	wanted = names_with((struct names_options){ .no_lines = true });
	module = add_inner();
	finish();
	m = profile->mapping[0];
	cr_assert_eq(profile->location[0]->n_line, 2);
	cr_assert(m->has_functions && !m->has_filenames);
	cr_assert(!m->has_line_numbers && !m->has_inline_frames);
	done();
	module_free(module);
}

/* Many samples make many pieces, which together are one profile, with ids without gaps. */
Test(pprof, is_whole_when_large)
{
	struct frame many[50];
	struct sample sample = sample_of(DP_COMPLETE);
	int64_t sum = 0;

	sample.user = many;
	sample.n_user = 50;
	begin_cpu();
	for (uint64_t i = 0; i < 5000; i++) {
		for (uint64_t j = 0; j < 50; j++)
			many[j] = (struct frame){ 0, 0x1000 + (i * 7919 + j * j * 31) % 20000,
						  &program, DP_METHOD_TABLE };
		add(sample);
	}
	finish();
	for (size_t i = 0; i < profile->n_sample; i++)
		sum += profile->sample[i]->value[0];
	cr_assert(sum == 5000 && profile->n_location > 5000);
	for (size_t i = 0; i < profile->n_location; i++)
		cr_assert_eq(profile->location[i]->id, i + 1);
	done();
}
