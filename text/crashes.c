// SPDX-License-Identifier: Apache-2.0
/* What has ended processes, in words and as it happens: the signal, the thread, and its stack. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "limits/limits.h"
#include "report/report.h"
#include "report/signal_word.h"
#include "text/stack_lines.h"
#include "text/text.h"

#define SECOND_NS UINT64_C(1000000000)
/* Of a stack: infinite recursion is of no use to the end. */
#define MAX_LINES 100

struct crashes {
	struct report report;
	struct symbolized_stack stack;
	uint64_t second_ns; /* when a second began, by the samples' clock */
	size_t n;           /* crashes in it */
	unsigned int put;   /* a bit for each probe whose values are beside their frame */
};

static bool find_label(const struct sample *sample, const char *key, struct label *ret)
{
	size_t at = 0;

	while (label_set_next(sample->labels, &at, ret))
		if (strcmp(ret->key, key) == 0)
			return true;
	return false;
}

/* A label with a text; "": there is none. */
static const char *find_text(const struct sample *sample, const char *key)
{
	struct label label;

	return find_label(sample, key, &label) && label.text ? label.text : "";
}

static void put_label(const struct label *label, FILE *to)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	label_print(label, memory);
	if (fclose(memory) == 0)
		stack_lines_put_name(text, to);
}

static void put_time(const struct report_context *context, const struct sample *sample, FILE *to)
{
	uint64_t ns = context->started_real_ns + (sample->time_ns - context->started_ns);
	time_t seconds = (time_t)(ns / SECOND_NS);
	struct tm tm;
	char text[64];

	if (localtime_r(&seconds, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		fprintf(to, ", at %s", text);
}

/* A fact that only some signals have. */
static void put_fact(const struct sample *sample, const char *key, const char *what, FILE *to)
{
	struct label label;

	if (!find_label(sample, key, &label))
		return;
	fprintf(to, ", %s ", what);
	if (label.text)
		stack_lines_put_name(label.text, to);
	else
		fprintf(to, "%lld", (long long)label.number);
}

static void put_head(const struct report_context *context, const struct sample *sample, FILE *to)
{
	const char *signal = find_text(sample, LABEL_SIGNAL);
	const char *code = find_text(sample, LABEL_SIGNAL_CODE);
	const char *phrase = signal_phrase(signal, code);

	fputs("\nCrash of ", to);
	stack_lines_put_name(sample->comm, to);
	fprintf(to, " (PID %d), thread ", sample->pid);
	stack_lines_put_name(sample->thread_name, to);
	fprintf(to, " (TID %d)", sample->tid);
	put_time(context, sample, to);
	fputs(": ", to);
	stack_lines_put_name(*signal ? signal : "a signal", to);
	if (phrase)
		fprintf(to, ", %s", phrase);
	if (*code) {
		fputs(" (", to);
		stack_lines_put_name(code, to);
		fputc(')', to);
	}
	put_fact(sample, LABEL_FAULT_ADDRESS, "address", to);
	put_fact(sample, LABEL_SIGNAL_SYSCALL, "system call", to);
	put_fact(sample, LABEL_SIGNAL_SENDER, "by process", to);
	fputc('\n', to);
}

static void put_beside(void *arg, const struct sample *sample, const struct frame *frame, FILE *to)
{
	struct crashes *crashes = arg;
	const char *between = "  ";
	struct label label;
	size_t at = 0;

	if (frame->method == DP_METHOD_STACK_TOP)
		fputs(" (by the return address on top of the stack)", to);
	if (frame->probe == 0)
		return;
	crashes->put |= 1U << frame->probe;
	while (label_set_next(sample->labels, &at, &label)) {
		if (label.probe != frame->probe)
			continue;
		fputs(between, to);
		put_label(&label, to);
		between = ", ";
	}
}

static bool is_in_head(const struct label *label)
{
	static const char *const keys[] = { LABEL_SIGNAL, LABEL_SIGNAL_CODE, LABEL_FAULT_ADDRESS,
					    LABEL_SIGNAL_SENDER, LABEL_SIGNAL_SYSCALL };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i], label->key) == 0)
			return true;
	return false;
}

/* What the thread was working on, as far as it is no frame's. */
static void put_labels(const struct crashes *crashes, const struct sample *sample, FILE *to)
{
	const char *between = "     with ";
	struct label label;
	size_t at = 0;

	while (label_set_next(sample->labels, &at, &label)) {
		if (is_in_head(&label) || (label.probe > 0 && crashes->put >> label.probe & 1))
			continue;
		fputs(between, to);
		put_label(&label, to);
		between = ", ";
	}
	if (*between == ',')
		fputc('\n', to);
}

static void put_left_out(struct crashes *crashes)
{
	if (crashes->n > CRASHES_MAX_PER_SECOND)
		fprintf(crashes->report.to, "\nCrashes not described in that second: %zu\n",
			crashes->n - CRASHES_MAX_PER_SECOND);
}

/* Counts a crash. True if there have been few within a second. */
static bool are_few(struct crashes *crashes, const struct sample *sample)
{
	if (crashes->n == 0 || sample->time_ns >= crashes->second_ns + SECOND_NS) {
		put_left_out(crashes);
		crashes->second_ns = sample->time_ns;
		crashes->n = 0;
	}
	return ++crashes->n <= CRASHES_MAX_PER_SECOND;
}

static int crashes_add(struct report *report, const struct sample *sample,
		       const struct totals *totals)
{
	struct crashes *crashes = (struct crashes *)report;
	const struct stack_lines lines = { .report = report,
					   .stack = &crashes->stack,
					   .max = MAX_LINES,
					   .beside = put_beside,
					   .arg = crashes };
	int err;

	if (sample->event != DP_EVENT_CRASH || !are_few(crashes, sample))
		return 0;
	crashes->put = 0;
	put_head(&report->context, sample, report->to);
	err = stack_lines_print(&lines, sample);
	if (err < 0)
		return err;
	put_labels(crashes, sample, report->to);
	return report_write_error(report->to); /* nothing waits in a buffer */
}

static int crashes_finish(struct report *report, const struct totals *totals)
{
	put_left_out((struct crashes *)report);
	return 0;
}

static void crashes_free(struct report *report)
{
	struct crashes *crashes = (struct crashes *)report;

	symbolized_stack_done(&crashes->stack);
	free(crashes);
}

static int crashes_new(struct report **ret)
{
	struct crashes *crashes = calloc(1, sizeof(*crashes));

	if (!crashes)
		return -ENOMEM;
	crashes->report.add = crashes_add;
	crashes->report.finish = crashes_finish;
	crashes->report.free = crashes_free;
	*ret = &crashes->report;
	return 0;
}

const struct report_format report_crashes = {
	.name = "crashes", .extensions = "", .new = crashes_new, .streams = true
};
