// SPDX-License-Identifier: Apache-2.0
#include "kernel/segments.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/outer_map.h"
#include "dwarfprof.skel.h"

void segments_close_made(struct session *s)
{
	while (s->n_made > 0)
		close(s->made_fds[--s->n_made]);
}

int segments_show(struct session *s)
{
	int err;

	if (s->n_made == 0)
		return 0;
	err = outer_map_update(s->bpf->maps.dp_pool, s->made, s->made_fds, s->n_made);
	if (err < 0)
		return err;
	segments_close_made(s);
	return 0;
}

/* Makes a map for segment number `index`; segments_show() inserts it. */
static int make_segment(struct session *s, uint32_t index, uint8_t **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	_cleanup_close_ int fd = -1;
	void *memory;
	int err = 0;

	if (s->n_made == SESSION_MADE)
		err = s->bpf ? segments_show(s) : -ENOSPC;
	if (err < 0)
		return err;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "dp_segment", sizeof(uint32_t), SEGMENT_MAP_SIZE, 1,
			    &opts);
	if (fd < 0)
		return -errno;
	memory = mmap(NULL, SEGMENT_MAP_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	s->made[s->n_made] = index;
	s->made_fds[s->n_made++] = steal_fd(&fd);
	*ret = memory;
	return 0;
}

int segments_add(void *arg, uint32_t index, uint8_t **ret)
{
	struct session *s = arg;

	if (index >= s->n_first)
		return make_segment(s, index, ret);
	*ret = s->first[index];
	return 0;
}

int segments_make_first(struct session *s, struct outer_map *ret)
{
	int err = 0;

	while (err == 0 && s->n_first < SESSION_FIRST && s->n_first < s->pool.max_segments) {
		uint8_t **segment = &s->first[s->n_first];

		/* The pool may have been used before the programs are loaded. */
		if (s->n_first < s->pool.n_segments)
			*segment = s->pool.segments[s->n_first];
		else
			err = make_segment(s, s->n_first, segment);
		if (err == 0)
			s->n_first++;
	}
	if (err == 0)
		err = outer_map_begin(ret, s->bpf->maps.dp_pool, s->made_fds, s->n_made);
	return err;
}
