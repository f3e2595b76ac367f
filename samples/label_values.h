/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LABEL_VALUES_H
#define DP_SAMPLES_LABEL_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "samples/label_source.h"
#include "values/enumerator.h"
#include "values/value_type.h"

/* Room for the name of a value, with its zero. */
#define VALUE_NAME_SIZE 64

/* How an argument of a list is written: a label with this key. */
struct value_form {
	char name[VALUE_NAME_SIZE];
	enum value_type type;
	const char *unit;               /* of a number: "nanoseconds"; "": none */
	const struct enumerator *names; /* of values, for labels; NULL: it has none */
	size_t n_names;
	bool zero_is_none; /* the number 0 is no value, and no label */
	bool is_length;    /* of the text behind it: it is no label, and has no word */
};

/* Of each list of arguments that the kernel reads (struct dp_arguments), by its number. */
struct value_forms {
	size_t n;
	struct value_form of[DP_MAX_ARGUMENTS];
};

/* A number that samples of an event have beside their count (--value). */
struct own_number {
	const char *name;
	const char *unit; /* NULL: as the event says */
};

/* The one that is this value's; NULL: none. */
const struct own_number *own_number_find(const struct own_number *numbers, size_t n,
					 const struct value_form *form);

struct call_table;
struct value_table;

/* Frees n of them, which have names of their own. NULL: none. */
void value_forms_free(struct value_forms *lists, size_t n);

/*
 * The source of labels with the values that probes have read. A value that was not in memory is
 * `<unread>`.
 */
struct value_labels {
	struct label_source source;
	const struct value_forms *lists; /* the caller's */
	size_t n_lists;
	const struct value_forms *thrown; /* of exceptions, whatever their list; NULL: none */
	/* Those that are no labels, but the sample's own: of each list one at most. The caller's */
	const struct own_number *numbers;
	size_t n_numbers;
	const struct probed_code
		*code; /* of each probe whose calls label samples; NULL: hits are */
	size_t n_code;
	struct value_table *added; /* of probes that are added while sampling; NULL: none can be */
	struct call_table *calls;  /* of these, whose calls label samples */
	bool are_of_spans; /* samples get them when the durations of calls are known (spans.h) */
};

void value_labels_init(struct value_labels *ret, const struct value_forms *lists, size_t n);

/*
 * The labels of a thread that was blocked before sampling began, which say that the values of calls on its
 * stack, and its context, are not known. *ret is NULL if there are none; the caller frees it. 0 or -ENOMEM.
 * labels: NULL: no values are read.
 */
int value_labels_of_resting(const struct value_labels *labels, const struct snapshot *snapshot,
			    const struct sample *sample, struct label_set **ret);

/* Adds labels which say that the values of a call are not known. 0 or -ENOMEM. */
int value_labels_add_unknown(const struct value_forms *forms, struct label_list *list);

/* Adds the values of a call; NULL: they are not known, of a probe from the start. 0 or -ENOMEM. */
int value_labels_add_call(const struct value_labels *labels, const struct dp_values *values,
			  struct label_list *list);

/*
 * The number that each event of a sample has beside its count: 0 if there is none, or, and then it is a label,
 * it could not be read, is negative or more than SUM_MAX. NULL: no values are read.
 */
uint64_t value_labels_number(const struct value_labels *labels, const struct named_sample *named);

/* Which number the values of a list have, and its unit. False: none. */
bool value_labels_own(const struct value_labels *labels, size_t list, struct own_number *ret);

/* The unit that a value of a list has by itself; "": none. */
const char *value_labels_unit(const struct value_labels *labels, size_t list, const char *name);

/* The number of the probe of spans in labels and frames: there is one at a time. */
#define VALUE_LABELS_SPAN 1

/*
 * Marks the frames of a sample that are those of the calls whose values are its labels (struct frame); of a
 * probe whose calls are timed, all that may be. frames: the sample's. NULL: no values are read, or the walk had
 * no snapshot.
 */
void value_labels_mark(const struct value_labels *labels, const struct snapshot *snapshot,
		       const struct sample *sample, struct frame *frames);

#endif
