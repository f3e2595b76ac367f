// SPDX-License-Identifier: Apache-2.0
/* Complete stacks, one paragraph per thread, as `dwarfprof dump` shows them. */
#include <errno.h>
#include <stdlib.h>

#include "report/outcome.h"
#include "report/report.h"
#include "text/stack_lines.h"
#include "text/text.h"

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

static void print_head(struct stacks *stacks, const struct sample *sample, FILE *to)
{
	if (sample->pid != stacks->pid) {
		fprintf(to, "%sPID %d ", stacks->pid ? "\n" : "", sample->pid);
		stack_lines_put_name(sample->comm, to);
		fputc('\n', to);
	}
	stacks->pid = sample->pid;
	if (sample->is_task) {
		fprintf(to, "\nTASK of TID %d\n", sample->tid);
		return;
	}
	fprintf(to, "\nTID %d ", sample->tid);
	stack_lines_put_name(sample->thread_name, to);
	fprintf(to, ": %s (%c)\n", state_word(sample),
		sample->event == DP_EVENT_OFF_CPU ? state_letter(sample->state) : 'R');
}

static int stacks_add(struct report *report, const struct sample *sample,
		      const struct totals *totals)
{
	struct stacks *stacks = (struct stacks *)report;
	const struct stack_lines lines = { .report = report, .stack = &stacks->stack };
	int err;

	print_head(stacks, sample, report->to);
	err = stack_lines_print(&lines, sample);
	return err == 0 && ferror(report->to) ? -EIO : err;
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
