// SPDX-License-Identifier: Apache-2.0
#include "report/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/*
 * What makes two samples the same stack; the frames follow, the kernel's after the user's, and
 * the labels.
 */
struct key {
	char comm[DP_COMM_SIZE + 1];
	char thread_name[DP_COMM_SIZE + 1];
	pid_t pid, tid;
	uint32_t cpu;
	int32_t kernel_error;
	uint16_t outcome;
	uint16_t off_cpu, state;
	uint64_t n_user, n_kernel, labels_size;
};

struct entry {
	UT_hash_handle hh;
	uint64_t count, time_ns;
	struct key *key;
	uint32_t number;
};

struct profile {
	struct entry *entries;
	unsigned int labels;
	struct key *key; /* of the sample being added; grows as needed */
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

static const struct label_set *key_labels(const struct key *key)
{
	return key->labels_size > 0 ? (const void *)(key_kernel(key) + key->n_kernel) : NULL;
}

/* The labels that count; NULL: none. */
static const struct label_set *counted_labels(const struct profile *profile,
					      const struct sample *sample)
{
	return profile->labels & PROFILE_LABELS ? sample->labels : NULL;
}

static size_t key_size(const struct profile *profile, const struct sample *sample)
{
	return sizeof(struct key) + sample->n_user * sizeof(struct stack_frame) +
	       sample->n_kernel * sizeof(__u64) + label_set_size(counted_labels(profile, sample));
}

int profile_new(unsigned int labels, struct profile **ret)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return -ENOMEM;
	profile->labels = labels;
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
	free(profile->key);
	free(profile);
	return NULL;
}

/* Put the sample's key into profile->key, and its size into *ret_size. */
static int profile_make_key(struct profile *profile, const struct sample *sample, size_t *ret_size)
{
	const struct label_set *labels = counted_labels(profile, sample);
	size_t size = key_size(profile, sample);
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
	strcpy(key->comm, sample->comm);
	if (profile->labels & PROFILE_THREAD) {
		strcpy(key->thread_name, sample->thread_name);
		key->pid = sample->pid;
		key->tid = sample->tid;
	}
	if (profile->labels & PROFILE_CPU)
		key->cpu = sample->cpu;
	key->outcome = (uint16_t)sample->outcome;
	key->kernel_error = sample->kernel_error;
	key->off_cpu = sample->event == DP_EVENT_OFF_CPU;
	key->state = (uint16_t)(key->off_cpu ? sample->state : 0);
	key->n_user = sample->n_user;
	key->n_kernel = sample->n_kernel;
	key->labels_size = label_set_size(labels);
	for (size_t i = 0; i < sample->n_user; i++) {
		const struct frame *f = &sample->user[i];

		key_user(key)[i] =
			(struct stack_frame){ f->module, f->module ? f->offset : f->address,
					      f->method };
	}
	if (sample->n_kernel > 0)
		memcpy(key_kernel(key), sample->kernel, sample->n_kernel * sizeof(__u64));
	if (labels)
		memcpy(key_kernel(key) + key->n_kernel, labels, key->labels_size);
	*ret_size = size;
	return 0;
}

/* So that the modules know them; what becomes of them is for later. */
static void look_names_up(const struct profile *profile, const struct sample *sample)
{
	const struct place *places;

	for (size_t i = 0; i < sample->n_user; i++)
		(void)frame_places(&sample->user[i], profile->labels & PROFILE_LINES, &places);
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
		look_names_up(profile, sample);
	}
	e->count += sample->weight;
	e->time_ns += sample->weight * sample->value_ns;
	*ret = e->number;
	return 0;
}

int profile_for_each(const struct profile *profile, int (*fn)(const struct stack *, void *),
		     void *arg)
{
	for (const struct entry *e = profile->entries; e; e = e->hh.next) {
		struct stack stack = {
			.comm = e->key->comm,
			.thread_name = e->key->thread_name,
			.pid = e->key->pid,
			.tid = e->key->tid,
			.cpu = e->key->cpu,
			.outcome = e->key->outcome,
			.user = key_user(e->key),
			.n_user = e->key->n_user,
			.kernel = key_kernel(e->key),
			.n_kernel = e->key->n_kernel,
			.kernel_error = e->key->kernel_error,
			.labels = key_labels(e->key),
			.off_cpu = e->key->off_cpu,
			.state = (enum dp_state)e->key->state,
			.count = e->count,
			.time_ns = e->time_ns,
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
