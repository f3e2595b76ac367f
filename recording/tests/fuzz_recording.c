// SPDX-License-Identifier: Apache-2.0
/*
 * Recordings of any bytes. Input: the kind (1); 0: a file as it is; else the records, with that
 * many bytes in each block, so that sizes, checksums and compression are right and the fuzzer
 * reaches the records' contents.
 */
#include <errno.h>

#include "cfi/tests/fuzz.h"
#include "recording/recording_reader.h"
#include "recording/tests/recording_file.h"
#include "report/outcome.h"
#include "symbols/names.h"

struct seen {
	uint64_t samples;
	uint64_t sum;
};

static void check_texts(const struct sample *s)
{
	EXPECT(memchr(s->comm, '\0', sizeof(s->comm)));
	EXPECT(memchr(s->thread_name, '\0', sizeof(s->thread_name)));
	/* Each outcome has its own word; an invalid one would have none, or another one's. */
	EXPECT(s->outcome > DP_WALKING && s->outcome < DP_N_OUTCOMES);
	EXPECT(s->event < DP_N_EVENTS && s->state < DP_N_STATES);
	EXPECT(s->kernel_error == 0 || kernel_error_word(s->kernel_error));
}

/* Everything that a report may read. */
static int check_sample(void *arg, const struct sample *s, const struct totals *totals)
{
	struct seen *seen = arg;

	/* What is held at the end has counts of its own. */
	seen->samples += s->event != DP_EVENT_HELD;
	EXPECT(totals->samples == seen->samples);
	check_texts(s);
	EXPECT(s->n_user <= DP_MAX_FRAMES && s->n_kernel <= DP_MAX_FRAMES);
	for (size_t i = 0; i < s->n_user; i++) {
		const struct frame *f = &s->user[i];

		EXPECT(f->method < DP_N_METHODS);
		if (f->module)
			seen->sum += strlen(f->module->path) + strlen(f->module->name) +
				     strlen(f->module->build_id);
		else
			EXPECT(f->address == f->offset);
	}
	for (size_t i = 0; i < s->n_kernel; i++)
		seen->sum += s->kernel[i];
	return 0;
}

static void read_file(const char *bytes, size_t size)
{
	const struct names_options plain = { 0 };
	struct recording_options options = { 0 };
	char why[RECORDING_WHY_SIZE] = "";
	struct recording_reader *reader;
	struct seen seen = { 0 };
	FILE *file = fmemopen((void *)bytes, size, "r");
	int err;

	EXPECT(file);
	EXPECT(names_new(&plain, &options.names) == 0);
	err = recording_reader_new(file, &options, &reader, why);
	EXPECT(err == 0 || (err == -EBADMSG && why[0]) || (err == -ENODATA && why[0]));
	if (err == 0) {
		EXPECT(recording_reader_context(reader)->target);
		EXPECT(recording_reader_run(reader, check_sample, &seen) == 0);
		EXPECT(recording_reader_totals(reader)->samples == seen.samples);
		recording_reader_free(reader);
	}
	names_free(options.names);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	size_t kind = feed_u8(&feed), file_size = 0;
	char *file = NULL;

	/* glibc's fmemopen() refuses an empty file. */
	if (feed.pos == feed.end)
		return 0;
	if (kind > 0)
		recording_file_make(&feed, 16 * kind, &file, &file_size);
	read_file(file ? file : (const char *)feed.pos,
		  file ? file_size : (size_t)(feed.end - feed.pos));
	free(file);
	return 0;
}
