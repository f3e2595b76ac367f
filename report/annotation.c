// SPDX-License-Identifier: Apache-2.0
#include "report/annotation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

void annotation_done(struct annotation *annotation)
{
	struct annotation_site *site, *next;

	HASH_ITER(hh, annotation->sites, site, next) {
		HASH_DEL(annotation->sites, site);
		free(site);
	}
}

static bool is_function(const struct annotation *annotation, const struct source_location *location)
{
	return location->function && strcmp(location->function, annotation->function) == 0;
}

/* The function that the others are inlined into. One without a name is called by where it begins. */
static bool is_function_of(const struct annotation *annotation, const struct frame *frame,
			   const struct source_location *locations, size_t n)
{
	char label[FRAME_LABEL_SIZE];
	uint64_t start;

	if (n > 0 && locations[n - 1].function)
		return is_function(annotation, &locations[n - 1]);
	return frame_function_start(frame, &start) == 0 &&
	       strcmp(frame_label(frame, &start, label), annotation->function) == 0;
}

static int add_site(struct annotation *annotation, const struct sample *sample, uint64_t value)
{
	const struct frame *frame = &sample->user[0];
	struct annotation_key key = { .module = frame->module, .address = frame->offset };
	struct annotation_site *site;

	HASH_FIND(hh, annotation->sites, &key, sizeof(key), site);
	if (!site) {
		site = calloc(1, sizeof(*site));
		if (!site)
			return -ENOMEM;
		site->key = key;
		site->code = frame->offset - !frame_is_exact(frame);
		HASH_ADD(hh, annotation->sites, key, sizeof(key), site);
		if (!HASH_IS_ADDED(hh, site)) {
			free(site);
			return -ENOMEM;
		}
	}
	sum_increase(&site->value, value);
	if (sample->event == DP_EVENT_OFF_CPU)
		sum_increase(&site->blocked, value);
	return 0;
}

int annotation_add(struct annotation *annotation, const struct sample *sample)
{
	uint64_t value = value_of_sample(&annotation->value, sample);
	const struct source_location *locations;
	size_t n;

	sum_increase(&annotation->all, value);
	/* What the kernel does for it is not its own. */
	if (sample->n_user == 0 || (sample->n_kernel > 0 && sample->event != DP_EVENT_OFF_CPU))
		return 0;
	n = frame_locations(&sample->user[0], false, &locations);
	for (size_t i = 0; i + 1 < n; i++) {
		if (is_function(annotation, &locations[i])) {
			sum_increase(&annotation->inlined, value);
			break;
		}
	}
	if (!is_function_of(annotation, &sample->user[0], locations, n))
		return 0;
	if (!frame_is_in_binary(&sample->user[0])) {
		sum_increase(&annotation->compiled, value);
		return 0;
	}
	sum_increase(&annotation->self, value);
	return add_site(annotation, sample, value);
}
