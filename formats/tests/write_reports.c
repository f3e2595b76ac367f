// SPDX-License-Identifier: Apache-2.0
/*
 * usage: write_reports DIRECTORY SAMPLES cpu|off-cpu|wall|uprobe FORMAT...
 *
 * Writes the same synthetic samples in each of these formats as DIRECTORY/FORMAT, with the kernel's
 * names of DIRECTORY/kallsyms. They have functions of this program, some inlined, code without
 * names, and kernel functions, of several processes and threads, complete and incomplete. Tests
 * check that foreign readers find the same in all formats.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/report_format.h"
#include "report/report.h"
#include "symbols/kallsyms.h"
#include "symbols/names.h"

#define MAX_FORMATS 16
#define MAX_FRAMES 40

/* A value that the compiler cannot know. */
static volatile unsigned int value;

static inline __attribute__((always_inline)) unsigned int innermost(unsigned int x)
{
	return x * value + 1;
}

static inline __attribute__((always_inline)) unsigned int inner(unsigned int x)
{
	return innermost(x) ^ (x / (value | 1));
}

__attribute__((noinline)) static unsigned int outer(unsigned int x)
{
	return inner(x) + inner(x + 1);
}

__attribute__((noinline)) static unsigned int plain(unsigned int x)
{
	return x + value;
}

static unsigned int next_random(void)
{
	static uint64_t state = 42;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned int)(state >> 33);
}

static struct module *self, unnamed = {
	.name = "lib no;names.so.1",
	.path = (char *)"/opt/lib no;names.so.1",
	.build_id = "",
	.fd = -1,
	.symtab_tried = true,
};

static struct frame random_frame(bool leaf)
{
	extern const char __executable_start;
	static const uintptr_t functions[] = { (uintptr_t)outer, (uintptr_t)plain,
					       (uintptr_t)next_random };
	unsigned int which = next_random() % 8;
	struct frame frame = { .method = leaf ? DP_METHOD_LEAF : DP_METHOD_TABLE };

	if (which == 0) {
		frame.address = 0x7f0000000000 + next_random() % 4;
	} else if (which == 1) {
		frame.module = &unnamed;
		frame.offset = 0x1000 + next_random() % 4;
		frame.address = frame.offset + 0x7f1000000000;
	} else {
		frame.module = self;
		frame.address = functions[which % 3] + next_random() % 12 + !leaf;
		frame.offset = frame.address - (uintptr_t)&__executable_start;
	}
	return frame;
}

static void make_sample(struct sample *sample, struct frame *frames, __u64 *kernel,
			const char *kind)
{
	static const char *const comms[] = { "a program", "caf\xc3\xa9;", "" };
	bool blocks = strcmp(kind, "off-cpu") == 0 ||
		      (strcmp(kind, "wall") == 0 && next_random() % 2 == 0);
	unsigned int process = next_random() % 3;

	*sample = (struct sample){ .weight = 1 + next_random() % 3,
				   .pid = 100 + (int)process,
				   .tid = 100 + (int)process + (int)(next_random() % 2) * 1000,
				   .cpu = next_random() % 4,
				   .user = frames,
				   .kernel = kernel };
	strcpy(sample->comm, comms[process]);
	snprintf(sample->thread_name, sizeof(sample->thread_name), "thread %d", sample->tid);
	sample->outcome = next_random() % 5 == 0 ? DP_NO_RULE : DP_COMPLETE;
	if (next_random() % 10 == 0)
		sample->outcome = DP_NO_USER_STACK;
	else
		sample->n_user = 1 + next_random() % (next_random() % 10 == 0 ? MAX_FRAMES : 3);
	for (size_t i = 0; i < sample->n_user; i++)
		frames[i] = random_frame(i == 0);
	if (next_random() % 4 == 0)
		sample->n_kernel = 1 + next_random() % 3;
	else if (next_random() % 10 == 0)
		sample->kernel_error = -14;
	for (size_t i = 0; i < sample->n_kernel; i++)
		kernel[i] = UINT64_C(0xffffffff81000000) + 0x100 * (next_random() % 4) + (i > 0);
	if (blocks) {
		sample->event = DP_EVENT_OFF_CPU;
		sample->state = DP_STATE_SLEEPING;
		sample->value_ns = 1000 * (1 + next_random() % 100000);
	} else if (strcmp(kind, "wall") == 0) {
		sample->value_ns = 1000000;
	}
}

static void count(struct totals *totals, const struct sample *sample)
{
	totals->samples++;
	totals->outcomes[sample->outcome]++;
	totals->events += sample->weight;
	totals->time_ns += sample->weight * sample->value_ns;
}

static struct report_context context_of(const char *kind)
{
	bool by_time = strcmp(kind, "cpu") == 0 || strcmp(kind, "wall") == 0;
	bool time = strcmp(kind, "off-cpu") == 0 || strcmp(kind, "wall") == 0;

	return (struct report_context){
		.target = "a program (PID 100)",
		.event = "cpu-clock",
		.hz = by_time ? 1000 : 0,
		.events = (time ? EVENT_BIT(DP_EVENT_OFF_CPU) : 0) |
			  (by_time ? EVENT_BIT(DP_EVENT_CPU) : 0),
		.symbols = true,
		.command = "dwarfprof -p 100",
		.host = "machine",
		.kernel = "Linux 6.1.0 x86_64",
		.started_real_ns = UINT64_C(1700000000000000000),
	};
}

static struct report *open_report(const char *format, const struct report_context *context)
{
	FILE *to = fopen(format, "w");
	struct report *report;

	if (!to || report_new(report_format_by_name(format), context, to, &report) < 0) {
		fprintf(stderr, "cannot make %s\n", format);
		exit(1);
	}
	return report;
}

static void close_report(struct report *report, const struct totals *totals)
{
	FILE *to = report->to;

	if (report_finish(report, totals) < 0 || fclose(to) != 0)
		exit(1);
	report_free(report);
}

static void write_samples(struct report **reports, int n, long n_samples, const char *kind)
{
	struct totals totals = { .lost = 3, .duration_ns = 1500000000 };
	struct frame frames[MAX_FRAMES];
	struct sample sample;
	__u64 kernel[3];

	while (n_samples-- > 0) {
		make_sample(&sample, frames, kernel, kind);
		count(&totals, &sample);
		for (int i = 0; i < n; i++)
			if (report_add(reports[i], &sample, &totals) < 0)
				exit(1);
	}
	for (int i = 0; i < n; i++)
		close_report(reports[i], &totals);
}

int main(int argc, char **argv)
{
	char *path = realpath("/proc/self/exe", NULL);
	struct report *reports[MAX_FORMATS];
	struct report_context context;
	struct kallsyms *kallsyms;
	const struct names_options options = { 0 };
	struct names *names;
	int n = argc - 4;

	if (n < 1 || n > MAX_FORMATS || !path || chdir(argv[1]) < 0) {
		fputs("usage: write_reports DIRECTORY SAMPLES cpu|off-cpu|wall|uprobe FORMAT...\n",
		      stderr);
		return 2;
	}
	if (names_new(&options, &names) < 0 || kallsyms_new(names, "kallsyms", &kallsyms) < 0)
		return 1;
	unnamed.names = names;
	self = module_new(names, path, "0123abcd", open(path, O_RDONLY | O_CLOEXEC));
	free(path);
	if (!self)
		return 1;
	context = context_of(argv[3]);
	context.kallsyms = kallsyms;
	context.names = names;
	for (int i = 0; i < n; i++)
		reports[i] = open_report(argv[4 + i], &context);
	write_samples(reports, n, strtol(argv[2], NULL, 10), argv[3]);
	kallsyms_free(kallsyms);
	names_free(names);
	return 0;
}
