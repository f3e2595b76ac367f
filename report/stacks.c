// SPDX-License-Identifier: Apache-2.0
/* Complete stacks, one paragraph per thread, as `dwarfprof dump` shows them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "report/outcome.h"
#include "report/report.h"
#include "report/symbolized.h"
#include "symbols/names.h"

struct stacks {
	struct report report;
	struct symbolized_stack stack;
	pid_t pid; /* of the last one: a process has one head */
};

static const char *state_word(const struct sample *sample)
{
	static const char *const words[DP_N_STATES] = {
		[DP_STATE_RUNNABLE] = "waiting for a CPU",
		[DP_STATE_SLEEPING] = "sleeping",
		[DP_STATE_DISK_SLEEP] = "blocked",
		[DP_STATE_STOPPED] = "stopped",
		[DP_STATE_TRACED] = "traced",
		[DP_STATE_PARKED] = "parked",
		[DP_STATE_IDLE] = "idle",
	};

	if (sample->event != DP_EVENT_OFF_CPU)
		return "running";
	return (unsigned int)sample->state < DP_N_STATES ? words[sample->state] : "unknown";
}

/* Prints a name from elsewhere. */
static void print_plain(const char *name, FILE *to)
{
	char text[FRAME_LABEL_SIZE * 4];

	snprintf(text, sizeof(text), "%s", name);
	text_make_plain(text);
	fputs(text, to);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_head(struct stacks *stacks, const struct sample *sample, FILE *to)
{
	if (sample->pid != stacks->pid) {
		fprintf(to, "%sPID %d ", stacks->pid ? "\n" : "", sample->pid);
		print_plain(sample->comm, to);
		fputc('\n', to);
	}
	stacks->pid = sample->pid;
	fprintf(to, "\nTID %d ", sample->tid);
	print_plain(sample->thread_name, to);
	fprintf(to, ": %s (%c)\n", state_word(sample),
		sample->event == DP_EVENT_OFF_CPU ? state_letter(sample->state) : 'R');
}

/* address: of its frame, in the process. */
static void print_function(const struct symbolized_frame *s, size_t number, uint64_t address,
			   FILE *to)
{
	fprintf(to, "#%-3zu 0x%016" PRIx64 "  ", number, address);
	print_plain(s->name, to);
	if (s->has_start)
		fprintf(to, "+0x%" PRIx64, s->address - s->start);
	if (s->is_inlined)
		fputs(" (inlined)", to);
	if (s->file && s->line > 0) {
		fputs(" at ", to);
		print_plain(s->file, to);
		fprintf(to, ":%u", s->line);
	}
	/* A function without a name is called by its binary, which then is not repeated. */
	if (s->binary && s->is_named) {
		bool bracketed = s->binary[0] == '[';

		fputs(bracketed ? " " : " [", to);
		print_plain(base_name(s->binary), to);
		fputs(bracketed ? "" : "]", to);
	}
	fputc('\n', to);
}

static int stacks_add(struct report *report, const struct sample *sample,
		      const struct totals *totals)
{
	struct stacks *stacks = (struct stacks *)report;
	struct symbolized_stack *symbolized = &stacks->stack;
	FILE *to = report->to;
	size_t n_kernel = 0, n_user = 0;
	bool lines = !names_options(report->context.names)->no_lines;
	int err = symbolized_stack_make_sample(report, sample, lines ? SYMBOLIZED_LINES : 0,
					       symbolized);

	if (err < 0)
		return err;
	print_head(stacks, sample, to);
	for (size_t i = 0; i < symbolized->n; i++) {
		const struct symbolized_frame *s = &symbolized->items[i];
		uint64_t address = s->address;

		if (s->kind == SYMBOLIZED_MARK)
			break;
		if (s->kind == SYMBOLIZED_KERNEL) {
			address = n_kernel < sample->n_kernel ? sample->kernel[n_kernel] : 0;
			n_kernel++;
		} else if (n_user < sample->n_user) {
			address = sample->user[n_user].address;
			n_user += !s->is_inlined; /* the last function of a frame is not inlined */
		}
		print_function(s, i, address, to);
	}
	if (sample->outcome != DP_COMPLETE && sample->outcome != DP_KERNEL_ONLY) {
		fprintf(to, "     [%s: %s]\n", outcome_word(sample->outcome),
			outcome_sentence(sample->outcome));
	}
	return ferror(to) ? -EIO : 0;
}

static int stacks_finish(struct report *report, const struct totals *totals)
{
	return 0;
}

static void stacks_free(struct report *report)
{
	struct stacks *stacks = (struct stacks *)report;

	symbolized_stack_done(&stacks->stack);
	free(stacks);
}

static int stacks_new(struct report **ret)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -ENOMEM;
	stacks->report.add = stacks_add;
	stacks->report.finish = stacks_finish;
	stacks->report.free = stacks_free;
	*ret = &stacks->report;
	return 0;
}

const struct report_format report_stacks = {
	.name = "stacks", .extensions = "", .new = stacks_new, .streams = true
};
