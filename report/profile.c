// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(entry) ((entry)->failed = true)
#include <uthash.h>

/* What makes two samples the same stack; the frames follow, the kernel's after the user's. */
struct key {
	char comm[DP_COMM_SIZE + 1];
	uint32_t outcome;
	uint64_t n_user, n_kernel;
};

struct entry {
	UT_hash_handle hh;
	uint64_t count;
	bool failed;
	struct key *key;
};

struct profile {
	struct entry *entries;
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

static size_t key_size(size_t n_user, size_t n_kernel)
{
	return sizeof(struct key) + n_user * sizeof(struct stack_frame) + n_kernel * sizeof(__u64);
}

int profile_new(struct profile **ret)
{
	struct profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return -ENOMEM;
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
	size_t size = key_size(sample->n_user, sample->n_kernel);
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
	key->outcome = sample->outcome;
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
	return 0;
}

int profile_add(struct profile *profile, const struct sample *sample)
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
			HASH_ADD_KEYPTR(hh, profile->entries, e->key, size, e);
		}
		if (!e->key || e->failed) {
			free(e->key);
			free(e);
			return -ENOMEM;
		}
	}
	e->count++;
	return 0;
}

int profile_for_each(const struct profile *profile, int (*fn)(const struct stack *, void *),
		     void *arg)
{
	for (const struct entry *e = profile->entries; e; e = e->hh.next) {
		struct stack stack = {
			.comm = e->key->comm,
			.outcome = e->key->outcome,
			.user = key_user(e->key),
			.n_user = e->key->n_user,
			.kernel = key_kernel(e->key),
			.n_kernel = e->key->n_kernel,
			.count = e->count,
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
