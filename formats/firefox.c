// SPDX-License-Identifier: Apache-2.0
/*
 * The Firefox Profiler's processed format, version 57: newer profilers convert older versions when
 * they load them (its docs-developer/CHANGELOG-formats.md, and src/types/profile.ts). Each thread
 * has its own tables, column by column: samples refer to stacks, these to frames, these to
 * functions, these to binaries. Written thread by thread, in order of time. All threads share the
 * strings.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "formats/element_table.h"
#include "formats/firefox_meta.h"
#include "formats/function_table.h"
#include "formats/gzip_stream.h"
#include "formats/json_value.h"
#include "formats/report_format.h"
#include "formats/timeline.h"
#include "report/symbolized.h"
#include "report/value.h"

#define NONE UINT32_MAX

/* Objects of the whole profile, by number. Strings are numbers of the report's table. */

struct lib {
	uint32_t name;
	const char *path;
	const char *build_id; /* NULL: not known */
};

struct function {
	uint32_t name, file, lib; /* NONE: not known */
};

struct frame_spot {
	uint64_t address; /* UINT64_MAX: not needed */
	uint64_t category;
	uint32_t function, depth;
	uint32_t line, column; /* 0: not known */
};

/* The number of an object of the profile in the thread that is being written. */
struct local {
	uint32_t thread; /* number of that thread, from 1; in another one the object has no
	                  * number yet */
	uint32_t number;
};

struct numbers {
	uint32_t *items; /* by number in the thread */
	size_t n, size;
	struct local *locals; /* by number in the profile */
};

/* A stack is its innermost frame and the stack of its caller. */
struct node {
	uint32_t prefix, frame;
};

static const struct node *node_of(const struct element *e)
{
	return (const void *)e->bytes;
}

struct firefox {
	struct report report;
	bool gzip;
	struct timeline timeline;
	struct symbolized_stack symbolized;
	struct element_table libs, functions, frames;
	/* Lists of all of them, by number. */
	const struct frame_spot **frame_list;
	const struct function **function_list;
	const struct lib **lib_list;
	uint32_t *items; /* frames of all stacks, root first */
	size_t n_items, items_size;
	size_t *starts; /* of each stack; and the end of the last one */
	size_t n_starts;
	struct numbers stacks, local_frames, local_functions, local_libs;
	struct element_table nodes; /* of the current thread */
	uint32_t thread;
	FILE *to;
};

static int add_string(struct firefox *f, const char *string, uint32_t *ret)
{
	*ret = NONE;
	return string ? string_table_add(&f->report.strings, string, ret) : 0;
}

static int add_lib(struct firefox *f, const struct symbolized_frame *symbolized, uint32_t *ret)
{
	const char *slash;
	struct lib lib;
	uint32_t path;
	int err;

	*ret = NONE;
	if (!symbolized->binary)
		return 0;
	memset(&lib, 0, sizeof(lib)); /* the padding is part of the key */
	slash = strrchr(symbolized->binary, '/');
	err = add_string(f, slash ? slash + 1 : symbolized->binary, &lib.name);
	if (err == 0)
		err = add_string(f, symbolized->binary, &path);
	if (err < 0)
		return err;
	lib.path = f->report.strings.strings[path];
	if (symbolized->module && symbolized->module->build_id[0] != '\0')
		lib.build_id = symbolized->module->build_id;
	return element_table_add(&f->libs, &lib, sizeof(lib), ret);
}

static enum category symbolized_category(const struct symbolized_frame *symbolized)
{
	if (symbolized->kind == SYMBOLIZED_KERNEL)
		return CATEGORY_KERNEL;
	if (symbolized->kind == SYMBOLIZED_USER)
		return symbolized->language < FRAME_FIRST_LANGUAGE ?
			       CATEGORY_USER :
			       CATEGORY_LANGUAGE(symbolized->language);
	return strncmp(symbolized->name, "[off-cpu", 8) == 0 ? CATEGORY_OFF_CPU : CATEGORY_OTHER;
}

/* depth: number of functions that it was inlined into. */
static int add_frame(struct firefox *f, const struct symbolized_frame *symbolized, uint32_t depth)
{
	struct frame_spot spot = {
		.address =
			symbolized->module ? symbolized->address - symbolized->is_call : UINT64_MAX,
		.depth = depth,
		.category = symbolized_category(symbolized),
		.line = symbolized->file ? symbolized->line : 0,
		.column = symbolized->file ? symbolized->column : 0,
	};
	struct function function;
	const char *file = NULL;
	int err;

	if (array_reserve(f->items, f->n_items, f->items_size) < 0)
		return -ENOMEM;
	err = symbolized_source(&f->report, symbolized, &file);
	if (err == 0)
		err = add_string(f, symbolized->name, &function.name);
	if (err == 0)
		err = add_string(f, file, &function.file);
	if (err == 0)
		err = add_lib(f, symbolized, &function.lib);
	if (err == 0)
		err = element_table_add(&f->functions, &function, sizeof(function), &spot.function);
	if (err == 0)
		err = element_table_add(&f->frames, &spot, sizeof(spot), &f->items[f->n_items]);
	if (err == 0)
		f->n_items++;
	return err;
}

static int add_stack(const struct stack *stack, void *arg)
{
	static const struct symbolized_frame nothing = { .kind = SYMBOLIZED_MARK,
							 .name = "[no stack]" };
	struct firefox *f = arg;
	uint32_t depth = 0;
	int err = symbolized_stack_make(&f->report, stack, SYMBOLIZED_LINES | SYMBOLIZED_LABELS,
					&f->symbolized);

	f->starts[f->n_starts++] = f->n_items;
	for (size_t i = f->symbolized.n; err == 0 && i-- > 0;) {
		depth = f->symbolized.items[i].is_inlined ? depth + 1 : 0;
		err = add_frame(f, &f->symbolized.items[i], depth);
	}
	return err == 0 && f->symbolized.n == 0 ? add_frame(f, &nothing, 0) : err;
}

static int numbers_init(struct numbers *numbers, size_t n)
{
	numbers->locals = calloc(n + 1, sizeof(*numbers->locals));
	return numbers->locals ? 0 : -ENOMEM;
}

static void numbers_done(struct numbers *numbers)
{
	free(numbers->items);
	free(numbers->locals);
}

/* The number of an object in this thread, and whether it is new there. */
static int localize(struct firefox *f, struct numbers *numbers, uint32_t number, uint32_t *ret)
{
	struct local *local = &numbers->locals[number];

	if (local->thread != f->thread) {
		if (array_reserve(numbers->items, numbers->n, numbers->size) < 0)
			return -ENOMEM;
		*local = (struct local){ f->thread, (uint32_t)numbers->n };
		numbers->items[numbers->n++] = number;
	}
	*ret = local->number;
	return 0;
}

/* Numbers the functions and binaries of the thread's frames, in order. */
static int localize_all(struct firefox *f)
{
	uint32_t number;
	int err = 0;

	for (size_t i = 0; err == 0 && i < f->local_frames.n; i++)
		err = localize(f, &f->local_functions,
			       f->frame_list[f->local_frames.items[i]]->function, &number);
	for (size_t i = 0; err == 0 && i < f->local_functions.n; i++) {
		const struct function *function = f->function_list[f->local_functions.items[i]];

		if (function->lib != NONE)
			err = localize(f, &f->local_libs, function->lib, &number);
	}
	return err;
}

/* Adds a stack to the thread's table. Returns the number of its innermost node. */
static int add_nodes(struct firefox *f, uint32_t stack, uint32_t *ret)
{
	struct node node = { .prefix = NONE };
	struct local *local = &f->stacks.locals[stack];
	int err = 0;

	if (local->thread == f->thread) {
		*ret = local->number;
		return 0;
	}
	for (size_t i = f->starts[stack]; err == 0 && i < f->starts[stack + 1]; i++) {
		err = localize(f, &f->local_frames, f->items[i], &node.frame);
		if (err == 0)
			err = element_table_add(&f->nodes, &node, sizeof(node), &node.prefix);
	}
	*local = (struct local){ f->thread, node.prefix };
	*ret = node.prefix;
	return err;
}

/* Writes a column of a table: a list of values, with index i. */
#define PUT_COLUMN(name, n, format, ...)                                                           \
	do {                                                                                       \
		fputs("\"" name "\":[", f->to);                                                    \
		for (size_t i = 0; i < (n); i++)                                                   \
			fprintf(f->to, "%s" format, i ? "," : "", __VA_ARGS__);                    \
		fputs("],", f->to);                                                                \
	} while (0)

/* Writes a column with equal values. */
#define PUT_CONSTANT(name, n, value) PUT_COLUMN(name, n, "%s", value)

#define NUMBER_SIZE 24

/* A number, or null if it is missing. */
static const char *nullable(uint64_t value, uint64_t none, char buffer[NUMBER_SIZE])
{
	if (value == none)
		return "null";
	snprintf(buffer, NUMBER_SIZE, "%" PRIu64, value);
	return buffer;
}

static void put_frames(struct firefox *f)
{
	size_t n = f->local_frames.n;
	char buffer[NUMBER_SIZE];

#define FRAME f->frame_list[f->local_frames.items[i]]
	fputs(",\n\"frameTable\":{", f->to);
	PUT_COLUMN("address", n, "%" PRId64, (int64_t)FRAME->address);
	PUT_COLUMN("inlineDepth", n, "%u", FRAME->depth);
	PUT_COLUMN("category", n, "%u", (unsigned int)FRAME->category);
	PUT_CONSTANT("subcategory", n, "0");
	PUT_COLUMN("func", n, "%u", f->local_functions.locals[FRAME->function].number);
	PUT_CONSTANT("nativeSymbol", n, "null");
	PUT_CONSTANT("innerWindowID", n, "null");
	PUT_COLUMN("line", n, "%s", nullable(FRAME->line, 0, buffer));
	PUT_COLUMN("column", n, "%s", nullable(FRAME->column, 0, buffer));
#undef FRAME
	fprintf(f->to, "\"length\":%zu}", n);
}

static void put_functions(struct firefox *f)
{
	size_t n = f->local_functions.n;
	char buffer[NUMBER_SIZE];

#define FUNCTION f->function_list[f->local_functions.items[i]]
	fputs(",\n\"funcTable\":{", f->to);
	PUT_COLUMN("name", n, "%u", FUNCTION->name);
	PUT_CONSTANT("isJS", n, "false");
	PUT_CONSTANT("relevantForJS", n, "false");
	PUT_COLUMN("resource", n, "%d",
		   FUNCTION->lib == NONE ? -1 : (int)f->local_libs.locals[FUNCTION->lib].number);
	PUT_COLUMN("fileName", n, "%s", nullable(FUNCTION->file, NONE, buffer));
	PUT_CONSTANT("lineNumber", n, "null");
	PUT_CONSTANT("columnNumber", n, "null");
#undef FUNCTION
	fprintf(f->to, "\"length\":%zu}", n);
}

static void put_resources(struct firefox *f)
{
	size_t n = f->local_libs.n;

	fputs(",\n\"resourceTable\":{", f->to);
	PUT_COLUMN("lib", n, "%u", f->local_libs.items[i]);
	PUT_COLUMN("name", n, "%u", f->lib_list[f->local_libs.items[i]]->name);
	PUT_CONSTANT("host", n, "null");
	PUT_CONSTANT("type", n, "1"); /* a library */
	fprintf(f->to, "\"length\":%zu}", n);
}

static void put_nodes(struct firefox *f)
{
	unsigned int n = HASH_COUNT(f->nodes.elements);
	char buffer[NUMBER_SIZE];
	const struct element *e;

	fputs(",\n\"stackTable\":{\"frame\":[", f->to);
	for (e = f->nodes.elements; e; e = e->hh.next)
		fprintf(f->to, "%s%u", e->number ? "," : "", node_of(e)->frame);
	fputs("],\"prefix\":[", f->to);
	for (e = f->nodes.elements; e; e = e->hh.next)
		fprintf(f->to, "%s%s", e->number ? "," : "",
			nullable(node_of(e)->prefix, NONE, buffer));
	fprintf(f->to, "],\"length\":%u}", n);
}

static int put_samples(struct firefox *f, const struct timeline_thread *t)
{
	const struct report_context *context = &f->report.context;
	const struct value measured = value_measured(context), weight = value_main(context);
	const uint64_t each = weight.scale > 0 ? weight.scale : 1;
	const char *type = value_is_time(&measured)            ? "tracing-ms" :
			   strcmp(measured.unit, "bytes") == 0 ? "bytes" :
								 "samples";
	uint32_t number = NONE;
	int err = 0;

	fputs(",\n\"samples\":{\"stack\":[", f->to);
	for (size_t i = 0; err == 0 && i < t->n; i++) {
		err = add_nodes(f, t->moments[i].stack, &number);
		fprintf(f->to, "%s%u", i ? "," : "", number);
	}
	fputs("],", f->to);
	PUT_COLUMN("time", t->n, "%.6f", firefox_ms(context, t->moments[i].time_ns));
	if (value_is_time(&measured))
		PUT_COLUMN("weight", t->n, "%.6f", (double)t->moments[i].value / 1e6);
	else
		PUT_COLUMN("weight", t->n, "%" PRIu64, t->moments[i].value / each);
	fprintf(f->to, "\"weightType\":\"%s\",\"length\":%zu}", type, t->n);
	return err;
}

static int put_thread(struct firefox *f, const struct timeline_thread *t)
{
	char name[TIMELINE_NAME_SIZE];
	int err;

	snprintf(name, sizeof(name), "%s%s%.31s", t->name, t->event ? ", " : "",
		 t->event ? t->event : "");
	f->thread++;
	f->local_frames.n = f->local_functions.n = f->local_libs.n = 0;
	fputs("{\"name\":", f->to);
	err = json_write_text(name, f->to);
	fputs(",\"processName\":", f->to);
	if (err == 0)
		err = json_write_text(t->comm, f->to);
	fprintf(f->to,
		",\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":%.6f,\"unregisterTime\":null,"
		"\"pausedRanges\":[],\"isMainThread\":%s,\"pid\":\"%d\",\"tid\":%d",
		firefox_ms(&f->report.context, t->moments[0].time_ns),
		t->id.pid == t->id.tid ? "true" : "false", t->id.pid, t->id.tid);
	if (err == 0)
		err = put_samples(f, t);
	if (err == 0)
		err = localize_all(f);
	if (err == 0) {
		put_nodes(f);
		put_frames(f);
		put_functions(f);
		put_resources(f);
	}
	fputs(",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[],\"length\":0},\n"
	      "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
	      "\"category\":[],\"length\":0}}",
	      f->to);
	element_table_done(&f->nodes);
	return err == 0 && ferror(f->to) ? -EIO : err;
}

/*
 * The build id of Breakpad and Mozilla's symbol servers: the first 16 bytes as a GUID, whose first
 * three fields have the other byte order, and a zero.
 */
static void put_breakpad_id(const char *build_id, FILE *to)
{
	static const unsigned char order[] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
	};
	size_t size = build_id ? strlen(build_id) / 2 : 0;

	for (size_t i = 0; size > 0 && i < sizeof(order); i++) {
		char byte[3] = "00";

		if (order[i] < size)
			memcpy(byte, build_id + (size_t)2 * order[i], 2);
		for (const char *c = byte; *c; c++)
			fputc(*c >= 'a' && *c <= 'f' ? *c - 'a' + 'A' : *c, to);
	}
	if (size > 0)
		fputc('0', to);
}

static int put_libs(struct firefox *f)
{
	int err = 0;

	fputs(",\n\"libs\":[", f->to);
	for (const struct element *e = f->libs.elements; err == 0 && e; e = e->hh.next) {
		const struct lib *lib = (const void *)e->bytes;
		const char *name = f->report.strings.strings[lib->name];

		fprintf(f->to, "%s{\"arch\":\"" DP_ARCH "\",", e->number ? ",\n" : "\n");
		err = firefox_put_text("name", name, f->to);
		fputc(',', f->to);
		if (err == 0)
			err = firefox_put_text("path", lib->path, f->to);
		fputc(',', f->to);
		if (err == 0)
			err = firefox_put_text("debugName", name, f->to);
		fputc(',', f->to);
		if (err == 0)
			err = firefox_put_text("debugPath", lib->path, f->to);
		fputs(",\"breakpadId\":\"", f->to);
		put_breakpad_id(lib->build_id, f->to);
		if (lib->build_id)
			fprintf(f->to, "\",\"codeId\":\"%s\"}", lib->build_id);
		else
			fputs("\",\"codeId\":null}", f->to);
	}
	fputs("]", f->to);
	return err;
}

/* The end of the profile: the profiler ignores anything later. */
static uint64_t end_time(const struct firefox *f, const struct totals *totals)
{
	uint64_t end = f->report.context.started_ns + totals->duration_ns;

	for (const struct timeline_thread *t = f->timeline.threads; t; t = t->hh.next)
		if (end <= t->moments[t->n - 1].time_ns)
			end = t->moments[t->n - 1].time_ns + 1000000;
	return end;
}

static int put_all(struct firefox *f, const struct totals *totals)
{
	const struct string_table *strings = &f->report.strings;
	const struct timeline_thread *t;
	int err;

	err = firefox_put_meta(&f->report.context, totals, end_time(f, totals), f->to);
	if (err == 0)
		err = put_libs(f);
	fputs(",\n\"threads\":[", f->to);
	for (t = f->timeline.threads; err == 0 && t; t = t->hh.next) {
		fputs(f->thread ? ",\n" : "\n", f->to);
		err = put_thread(f, t);
	}
	fputs("],\n\"pages\":[],\"shared\":{\"stringArray\":[", f->to);
	for (size_t i = 0; err == 0 && i < strings->n; i++) {
		fputs(i ? ",\n" : "\n", f->to);
		err = json_write_text(strings->strings[i], f->to);
	}
	fputs("]}}\n", f->to);
	return err;
}

/* Numbers all objects, and allocates their numbers in threads. */
static int prepare(struct firefox *f)
{
	size_t n = profile_n_stacks(f->timeline.profile);
	int err;

	timeline_sort(&f->timeline);
	f->starts = calloc(n + 1, sizeof(*f->starts));
	if (!f->starts)
		return -ENOMEM;
	err = profile_for_each(f->timeline.profile, add_stack, f);
	if (err < 0)
		return err;
	f->starts[n] = f->n_items;
	f->frame_list = element_table_list(&f->frames);
	f->function_list = element_table_list(&f->functions);
	f->lib_list = element_table_list(&f->libs);
	if (!f->frame_list || !f->function_list || !f->lib_list)
		return -ENOMEM;
	err = numbers_init(&f->stacks, n);
	if (err == 0)
		err = numbers_init(&f->local_frames, HASH_COUNT(f->frames.elements));
	if (err == 0)
		err = numbers_init(&f->local_functions, HASH_COUNT(f->functions.elements));
	if (err == 0)
		err = numbers_init(&f->local_libs, HASH_COUNT(f->libs.elements));
	return err;
}

static int firefox_finish(struct report *report, const struct totals *totals)
{
	struct firefox *f = (struct firefox *)report;
	int err = prepare(f);

	f->to = report->to;
	if (err < 0)
		return err;
	if (f->gzip)
		f->to = gzip_stream_open(report->to);
	if (!f->to)
		return -ENOMEM;
	err = put_all(f, totals);
	if (f->gzip && fclose(f->to) != 0 && err == 0)
		err = errno ? -errno : -EIO;
	return err;
}

static int firefox_add(struct report *report, const struct sample *sample,
		       const struct totals *totals)
{
	return timeline_add(&((struct firefox *)report)->timeline, &report->context, sample);
}

static void firefox_free(struct report *report)
{
	struct firefox *f = (struct firefox *)report;

	timeline_done(&f->timeline);
	symbolized_stack_done(&f->symbolized);
	element_table_done(&f->libs);
	element_table_done(&f->functions);
	element_table_done(&f->frames);
	element_table_done(&f->nodes);
	free(f->frame_list);
	free(f->function_list);
	free(f->lib_list);
	numbers_done(&f->stacks);
	numbers_done(&f->local_frames);
	numbers_done(&f->local_functions);
	numbers_done(&f->local_libs);
	free(f->items);
	free(f->starts);
	free(f);
}

int report_firefox_new(struct report **ret)
{
	struct firefox *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	if (timeline_init(&f->timeline) < 0) {
		free(f);
		return -ENOMEM;
	}
	f->report.add = firefox_add;
	f->report.finish = firefox_finish;
	f->report.free = firefox_free;
	*ret = &f->report;
	return 0;
}

int report_firefox_gz_new(struct report **ret)
{
	int err = report_firefox_new(ret);

	if (err == 0)
		((struct firefox *)*ret)->gzip = true;
	return err;
}
