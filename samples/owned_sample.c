// SPDX-License-Identifier: Apache-2.0
#include "samples/owned_sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log/clock.h"

struct owned_sample *owned_sample_free(struct owned_sample *kept)
{
	uint64_t now = kept ? clock_now_ns() : 0;

	for (size_t i = 0; kept && i < kept->sample.n_user; i++)
		if (kept->frames[i].module)
			module_drop(kept->frames[i].module, now);
	free(kept);
	return NULL;
}

int owned_sample_new(const struct sample *sample, const struct span_list *calls,
		     struct owned_sample **ret)
{
	size_t user_size = sample->n_user * sizeof(*sample->user);
	size_t kernel_size = sample->n_kernel * sizeof(*sample->kernel);
	size_t labels_size = label_set_size(sample->labels);
	size_t size = sizeof(struct owned_sample) + user_size + kernel_size + labels_size;
	struct owned_sample *kept = malloc(size);
	__u64 *kernel;

	*ret = kept;
	if (!kept)
		return -ENOMEM;
	kernel = (__u64 *)(kept->frames + sample->n_user);
	kept->sample = *sample;
	kept->calls = calls ? *calls : (struct span_list){ 0 };
	kept->size = size;
	if (user_size > 0)
		memcpy(kept->frames, sample->user, user_size);
	if (kernel_size > 0)
		memcpy(kernel, sample->kernel, kernel_size);
	kept->sample.user = kept->frames;
	kept->sample.kernel = kernel;
	if (labels_size > 0)
		kept->sample.labels =
			memcpy(kernel + sample->n_kernel, sample->labels, labels_size);
	for (size_t i = 0; i < sample->n_user; i++)
		if (kept->frames[i].module)
			module_hold(kept->frames[i].module);
	return 0;
}
