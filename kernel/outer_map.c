// SPDX-License-Identifier: Apache-2.0
#include "kernel/outer_map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Kernels before 5.19 have no batch update for maps of maps. */
static int update(int fd, const uint32_t *keys, const int *fds, uint32_t n)
{
	uint32_t done = n;

	if (bpf_map_update_batch(fd, keys, fds, &done, NULL) == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(fd, &keys[i], &fds[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

int outer_map_update(const struct bpf_map *map, const uint32_t *keys, const int *fds, uint32_t n)
{
	return update(bpf_map__fd(map), keys, fds, n);
}

static void *fill(void *arg)
{
	struct outer_map *o = arg;

	o->err = update(o->fd, o->keys, o->fds, o->n);
	return NULL;
}

/* Replaces the map of the object by one that is created here. */
static int replace(struct bpf_map *map, int inner_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)inner_fd);
	_cleanup_close_ int fd =
		bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
			       bpf_map__value_size(map), bpf_map__max_entries(map), &opts);

	if (fd < 0)
		return -errno;
	return bpf_map__reuse_fd(map, fd); /* duplicates the descriptor */
}

int outer_map_begin(struct outer_map *ret, struct bpf_map *map, const int *fds, uint32_t n)
{
	_cleanup_free_ uint32_t *keys = calloc(n, sizeof(*keys));
	int err;

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = i;
	err = replace(map, fds[0]);
	if (err < 0)
		return err;
	*ret = (struct outer_map){ bpf_map__fd(map), steal_ptr(keys), fds, n };
	ret->is_filling = pthread_create(&ret->thread, NULL, fill, ret) == 0;
	if (!ret->is_filling)
		fill(ret);
	return 0;
}

int outer_map_wait(struct outer_map *o)
{
	if (o->is_filling)
		pthread_join(o->thread, NULL);
	free(o->keys);
	return o->err;
}
