// SPDX-License-Identifier: Apache-2.0
#include "agent/series_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "report/label_set.h"

/* What all processes of a service have in common. */
struct service {
	UT_hash_handle hh;
	size_t n_sets; /* of its processes and samples */
	char labels[]; /* a label set */
};

/* A set of labels that the backend has. */
struct set {
	UT_hash_handle hh;
	struct service *service; /* NULL: it counts for none */
	uint64_t used_ns;
	char bytes[];
};

struct series_memory {
	pthread_mutex_t lock; /* protects what follows */
	struct service *services;
	struct set *sets;
};

int series_memory_new(struct series_memory **ret)
{
	struct series_memory *memory = calloc(1, sizeof(*memory));

	*ret = memory;
	if (!memory)
		return -ENOMEM;
	pthread_mutex_init(&memory->lock, NULL);
	return 0;
}

static void forget_set(struct series_memory *memory, struct set *set)
{
	struct service *service = set->service;

	HASH_DEL(memory->sets, set);
	free(set);
	if (!service || --service->n_sets > 0)
		return;
	HASH_DEL(memory->services, service);
	free(service);
}

static void forget(struct series_memory *memory, uint64_t now_ns)
{
	struct set *set, *next;

	HASH_ITER(hh, memory->sets, set, next)
		if (now_ns > set->used_ns + SERIES_MEMORY_NS)
			forget_set(memory, set);
}

/* Those without sets, for which there was no memory. */
static void forget_services(struct series_memory *memory)
{
	struct service *service, *next;

	HASH_ITER(hh, memory->services, service, next) {
		HASH_DEL(memory->services, service);
		free(service);
	}
}

struct series_memory *series_memory_free(struct series_memory *memory)
{
	if (!memory)
		return NULL;
	forget(memory, UINT64_MAX);
	forget_services(memory);
	pthread_mutex_destroy(&memory->lock);
	free(memory);
	return NULL;
}

void series_memory_forget(struct series_memory *memory, uint64_t now_ns)
{
	pthread_mutex_lock(&memory->lock);
	forget(memory, now_ns);
	pthread_mutex_unlock(&memory->lock);
}

static struct service *find_service(const struct series_memory *memory,
				    const struct label_set *labels)
{
	struct service *service;

	HASH_FIND(hh, memory->services, labels, label_set_size(labels), service);
	return service;
}

static struct service *add_service(struct series_memory *memory, const struct label_set *labels)
{
	size_t size = label_set_size(labels);
	struct service *service = find_service(memory, labels);

	if (service)
		return service;
	service = calloc(1, sizeof(*service) + size);
	if (!service)
		return NULL;
	memcpy(service->labels, labels, size);
	HASH_ADD(hh, memory->services, labels, size, service);
	if (HASH_IS_ADDED(hh, service))
		return service;
	free(service);
	return NULL;
}

static int add_set(struct series_memory *memory, const struct series_set *set, uint64_t now_ns)
{
	struct service *service = set->service ? add_service(memory, set->service) : NULL;
	struct set *added;

	if (set->service && !service)
		return -ENOMEM;
	added = calloc(1, sizeof(*added) + set->size);
	if (added) {
		memcpy(added->bytes, set->bytes, set->size);
		HASH_ADD(hh, memory->sets, bytes, set->size, added);
	}
	if (!added || !HASH_IS_ADDED(hh, added)) {
		free(added);
		return -ENOMEM; /* an empty service is no harm */
	}
	added->service = service;
	added->used_ns = now_ns;
	if (service)
		service->n_sets++;
	return 0;
}

int series_memory_use(struct series_memory *memory, const struct series_set *set, size_t max,
		      uint64_t now_ns, bool *ret)
{
	struct set *found;
	int err = 0;

	pthread_mutex_lock(&memory->lock);
	HASH_FIND(hh, memory->sets, set->bytes, set->size, found);
	if (found && found->used_ns < now_ns)
		found->used_ns = now_ns;
	*ret = found || HASH_COUNT(memory->sets) < max;
	if (*ret && !found)
		err = add_set(memory, set, now_ns);
	pthread_mutex_unlock(&memory->lock);
	return err;
}

size_t series_memory_of(struct series_memory *memory, const struct label_set *service)
{
	const struct service *found;
	size_t n;

	pthread_mutex_lock(&memory->lock);
	found = find_service(memory, service);
	n = found ? found->n_sets : 0;
	pthread_mutex_unlock(&memory->lock);
	return n;
}
