/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_RECORDING_CONTEXT_H
#define DP_RECORDING_RECORDING_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "limits/limits.h"
#include "report/bytes.h"
#include "report/report_context.h"
#include "report/value.h"

/* The description of a recording, at its start. It must not move after it has been read. */
struct recording_context {
	char *texts[2 * RECORDING_MAX_TEXTS]; /* keys and values, owned */
	size_t n_texts;
	struct report_context context; /* its strings are among these */
	struct report_event several[REPORT_EVENTS_MAX];
	struct report_number more[REPORT_NUMBERS_MAX];
};

/* Appends a pair to the record; text NULL: none. */
void recording_put_text(struct bytes *b, const char *key, const char *value);
void recording_put_number(struct bytes *b, const char *key, uint64_t value);
/* All pairs of a context. */
void recording_put_context(struct bytes *b, const struct report_context *context);

/* Reads the record into an empty one. 0, -ENOMEM or -EBADMSG. Always call recording_context_done(). */
int recording_context_read(struct view *v, struct recording_context *ret);
void recording_context_done(struct recording_context *context);

/* The value of a key, or NULL. */
const char *recording_context_text(const struct recording_context *context, const char *key);

/* Can b's samples be added to a's: are both of the same events, and of one rate unless a is timed? */
bool recording_context_is_alike(const struct recording_context *a,
				const struct recording_context *b);
/* Can they be added up by their time only? */
bool recording_context_rates_differ(const struct recording_context *a,
				    const struct recording_context *b);

#endif
