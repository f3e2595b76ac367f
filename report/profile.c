// SPDX-License-Identifier: Apache-2.0
#include "report/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/sum.h"
#include "report/label_table.h"

/* What distinguishes stacks; frames follow, the user's first. */
struct key {
	struct sample common; /* equal label sets are equal pointers */
	uint64_t n_user, n_kernel;
};

struct entry {
	UT_hash_handle hh;
	uint64_t count, time_ns;
	struct key *key;
	uint32_t number;
};

struct profile {
	struct entry *entries;
	unsigned int counted; /* enum profile_labels */
	struct label_table labels;
	struct key *key; /* of the current sample; grows as needed */
	size_t key_size;
};

static struct stack_frame *key_user(const struct key *key)
{
	return (struct stack_frame *)(key + 1);
}

static __u64 *key_kernel(const struct key *key)
{
	return (__u64 *)(key_user(key) + key->n_user);
}

static size_t key_size(const struct sample *sample)
{
	return sizeof(struct key) + sample->n_user * sizeof(struct stack_frame) +
	       sample->n_kernel * sizeof(__u64);
}

int profile_new(unsigned int counted, struct profile **ret)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return -ENOMEM;
	profile->counted = counted;
	*ret = profile;
	return 0;
}

struct profile *profile_free(struct profile *profile)
{
	struct entry *e, *next;

	if (!profile)
		return NULL;
	HASH_ITER(hh, profile->entries, e, next) {
		HASH_DEL(profile->entries, e);
		free(e->key);
		free(e);
	}
	label_table_done(&profile->labels);
	free(profile->key);
	free(profile);
	return NULL;
}

/* Copies what counts. *ret is zeroed. */
static int count_apart(struct profile *profile, const struct sample *sample, struct sample *ret)
{
	unsigned int counted = profile->counted;

	strcpy(ret->comm, sample->comm);
	ret->outcome = sample->outcome;
	ret->is_folded = sample->is_folded;
	ret->kernel_error = sample->kernel_error;
	ret->event = sample->event;
	ret->state = sample->event == DP_EVENT_OFF_CPU ? sample->state : 0;
	if (counted & PROFILE_THREAD) {
		strcpy(ret->thread_name, sample->thread_name);
		ret->pid = sample->pid;
		ret->tid = sample->tid;
	}
	if (counted & PROFILE_CPU)
		ret->cpu = sample->cpu;
	return counted & PROFILE_LABELS ?
		       label_table_add(&profile->labels, sample->labels, &ret->labels) :
		       0;
}

/* Makes the sample's key in profile->key, and its size in *ret_size. */
static int profile_make_key(struct profile *profile, const struct sample *sample, size_t *ret_size)
{
	size_t size = key_size(sample);
	struct key *key;

	if (size > profile->key_size) {
		key = realloc(profile->key, size);
		if (!key)
			return -ENOMEM;
		profile->key = key;
		profile->key_size = size;
	}
	key = profile->key;
	memset(key, 0, sizeof(*key)); /* the padding is part of the key */
	key->n_user = sample->n_user;
	key->n_kernel = sample->n_kernel;
	for (size_t i = 0; i < sample->n_user; i++) {
		const struct frame *f = &sample->user[i];

		key_user(key)[i] =
			(struct stack_frame){ f->module, f->module ? f->offset : f->address,
					      f->method };
	}
	if (sample->n_kernel > 0)
		memcpy(key_kernel(key), sample->kernel, sample->n_kernel * sizeof(__u64));
	*ret_size = size;
	return count_apart(profile, sample, &key->common);
}

/* The modules keep the names, which are needed later. */
static void look_names_up(const struct profile *profile, const struct sample *sample)
{
	const struct source_location *locations;
	bool lines = profile->counted & PROFILE_LINES;

	for (size_t i = 0; i < sample->n_user; i++)
		frame_want_locations(&sample->user[i], lines);
	for (size_t i = 0; i < sample->n_user; i++) {
		const struct frame *frame = &sample->user[i];
		size_t n = frame_locations(frame, lines, &locations);
		uint64_t start;

		if (n == 0 || !locations[n - 1].function)
			(void)frame_function_start(frame, &start);
	}
}

int profile_add(struct profile *profile, const struct sample *sample)
{
	uint32_t number;

	return profile_add_numbered(profile, sample, &number);
}

size_t profile_n_stacks(const struct profile *profile)
{
	return HASH_COUNT(profile->entries);
}

int profile_add_numbered(struct profile *profile, const struct sample *sample, uint32_t *ret)
{
	struct entry *e;
	size_t size;
	int err;

	err = profile_make_key(profile, sample, &size);
	if (err < 0)
		return err;
	HASH_FIND(hh, profile->entries, profile->key, size, e);
	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			return -ENOMEM;
		e->key = malloc(size);
		if (e->key) {
			memcpy(e->key, profile->key, size);
			e->number = HASH_COUNT(profile->entries);
			HASH_ADD_KEYPTR(hh, profile->entries, e->key, size, e);
		}
		if (!e->key || !HASH_IS_ADDED(hh, e)) {
			free(e->key);
			free(e);
			return -ENOMEM;
		}
		if (!(profile->counted & PROFILE_UNNAMED))
			look_names_up(profile, sample);
	}
	e->count += sample->weight;
	e->time_ns = sum_of(e->time_ns, sample_sum(sample));
	*ret = e->number;
	return 0;
}

int profile_for_each(const struct profile *profile, int (*fn)(const struct stack *, void *),
		     void *arg)
{
	for (const struct entry *e = profile->entries; e; e = e->hh.next) {
		struct stack stack = {
			.common = e->key->common,
			.user = key_user(e->key),
			.n_user = e->key->n_user,
			.kernel = key_kernel(e->key),
			.n_kernel = e->key->n_kernel,
			.count = e->count,
			.time_ns = e->time_ns,
			.number = e->number,
		};
		int err = fn(&stack, arg);

		if (err)
			return err;
	}
	return 0;
}

struct frame stack_frame_unpack(const struct stack_frame *frame)
{
	return (struct frame){
		.address = frame->address,
		.offset = frame->address,
		.module = frame->module,
		.method = (enum dp_method)frame->method,
	};
}

struct sample stack_sample(const struct stack *stack, struct frame *leaf)
{
	struct sample sample = stack->common;

	sample.kernel = stack->kernel;
	sample.n_kernel = stack->n_kernel;
	if (stack->n_user > 0) {
		*leaf = stack_frame_unpack(&stack->user[0]);
		sample.user = leaf;
		sample.n_user = 1;
	}
	return sample;
}
