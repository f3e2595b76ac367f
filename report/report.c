// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "report/group.h"
#include "report/piped.h"
#include "symbols/kallsyms.h"

const char *report_kernel_label(const struct report *report, uint64_t address, size_t i,
				char buffer[FRAME_LABEL_SIZE])
{
	const char *name = NULL;
	uint64_t offset;

	/* As in user space, a return address belongs to the call before it. */
	if (report->context.kallsyms)
		name = kallsyms_find(report->context.kallsyms, address - (i > 0), &offset);
	if (name)
		return name;
	snprintf(buffer, FRAME_LABEL_SIZE, "0x%" PRIx64, address);
	return buffer;
}

int report_new(const struct report_format *format, const struct report_context *context, FILE *to,
	       struct report **ret)
{
	struct report *report;
	int err = format->new (&report);

	if (err < 0)
		return err;
	report->context = *context;
	if (!format->groups)
		report->context.by = NULL;
	report->to = to;
	report->streams = format->streams;
	*ret = report;
	return 0;
}

void report_set_piped(struct report *report, struct piped *piped)
{
	report->piped = piped;
	report->to = piped_file(piped);
}

static bool is_given_up(const struct report *report)
{
	return report->piped && piped_is_given_up(report->piped);
}

static int add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample grouped = *sample;
	int err = 0;

	if (report->context.by) {
		err = group_labels_new(report->context.by,
				       report->context.n_several ? REPORT_EVENT : NULL, sample,
				       &labels);
		grouped.labels = labels;
	}
	if (err == 0)
		err = report->add(report, report->context.by ? &grouped : sample, totals);
	if (report->streams && report->strings.n > REPORT_MAX_STRINGS)
		string_table_done(&report->strings);
	return err;
}

int report_add(struct report *report, const struct sample *sample, const struct totals *totals)
{
	int err = is_given_up(report) ? 0 : add(report, sample, totals);

	if (report->piped && (err == 0 || is_given_up(report)))
		err = piped_count(report->piped, report->n_held);
	return err;
}

int report_tick(struct report *report, const struct totals *totals)
{
	return report->tick ? report->tick(report, totals) : 0;
}

/* The errno of an earlier write is lost by now. */
int report_write_error(FILE *to)
{
	errno = 0;
	if (fflush(to) == 0 && !ferror(to))
		return 0;
	/* Nothing was left in the buffer to fail again. One more byte does, in a broken report. */
	if (errno == 0 && fputc('\n', to) != EOF)
		fflush(to);
	return errno ? -errno : -EIO;
}

int report_finish(struct report *report, const struct totals *totals)
{
	int err = is_given_up(report) ? 0 : report->finish(report, totals);
	int write_err = err == 0 || err == -EIO ? report_write_error(report->to) : 0;

	if (is_given_up(report))
		return 0;
	return write_err < 0 ? write_err : err;
}

struct report *report_free(struct report *report)
{
	if (report) {
		string_table_done(&report->strings);
		report->free(report);
	}
	return NULL;
}
