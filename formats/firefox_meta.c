// SPDX-License-Identifier: Apache-2.0
#include "formats/firefox_meta.h"

#include <inttypes.h>

#include "formats/json_value.h"
#include "report/outcome.h"

#define VERSION 57

static const char categories[] =
	"[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	"{\"name\":\"Off-CPU\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}"
#define X(name, word, otel, method, firefox, red, green, blue)                                     \
	",{\"name\":\"" word "\",\"color\":\"" firefox "\",\"subcategories\":[\"Other\"]}"
	FRAME_LANGUAGES(X)
#undef X
		"]";

int firefox_put_text(const char *name, const char *text, FILE *to)
{
	fprintf(to, "\"%s\":", name);
	return json_write_text(text, to);
}

static void put_extra(const struct totals *totals, FILE *to)
{
	static const char entry[] =
		"{\"label\":\"%s\",\"format\":\"integer\",\"value\":%" PRIu64 "}";

	fputs(",\"extra\":[{\"label\":\"dwarfprof\",\"entries\":[", to);
	fprintf(to, entry, "samples", totals->samples);
	fputc(',', to);
	fprintf(to, entry, "lost", totals->lost);
	for (int i = 0; i < DP_N_OUTCOMES; i++) {
		if (totals->outcomes[i] == 0)
			continue;
		fputc(',', to);
		fprintf(to, entry, outcome_word(i), totals->outcomes[i]);
	}
	fputs("]}]", to);
}

double firefox_ms(const struct report_context *context, uint64_t time_ns)
{
	return ((double)time_ns - (double)context->started_ns) / 1e6;
}

int firefox_put_meta(const struct report_context *context, const struct totals *totals,
		     uint64_t end_ns, FILE *to)
{
	int err;

	fprintf(to,
		"{\"meta\":{\"preprocessedProfileVersion\":%d,\"version\":31,\"interval\":%.6f,"
		"\"startTime\":%.3f,\"profilingStartTime\":0,\"profilingEndTime\":%.6f,",
		VERSION, context->hz > 0 ? 1000.0 / context->hz : 1,
		(double)context->started_real_ns / 1e6, firefox_ms(context, end_ns));
	err = firefox_put_text("product", context->target, to);
	fputc(',', to);
	if (err == 0)
		err = firefox_put_text("arguments", context->command ? context->command : "", to);
	fputc(',', to);
	if (err == 0)
		err = firefox_put_text("oscpu", context->kernel ? context->kernel : "Linux", to);
	fputc(',', to);
	if (err == 0)
		err = firefox_put_text("device", context->host ? context->host : "", to);
	fprintf(to,
		",\"platform\":\"Linux\",\"toolkit\":\"\",\"misc\":\"\",\"abi\":\"\","
		"\"importedFrom\":\"dwarfprof " DP_VERSION "\",\"processType\":0,\"stackwalk\":1,"
		"\"debug\":false,\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,"
		"\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
		"\"markerSchema\":[],\"categories\":%s",
		categories);
	put_extra(totals, to);
	fputc('}', to);
	return err;
}
