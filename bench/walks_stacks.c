// SPDX-License-Identifier: Apache-2.0
#include "bench/walks_stacks.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bpf/walk.h"

#include "bench/walks_sample.h"

struct walks_stacks {
	struct port_user port;
	uint8_t *segments[DP_MAX_SEGMENTS];
	int state, pool;
	uint64_t expected; /* number of the next sample's walk; 0: any */
	struct walk walk;
};

struct walks_stacks *walks_stacks_new(int state, int pool)
{
	struct walks_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->port.segments = s->segments;
	s->port.n_segments = DP_MAX_SEGMENTS;
	s->state = state;
	s->pool = pool;
	return s;
}

struct walks_stacks *walks_stacks_free(struct walks_stacks *s)
{
	for (int i = 0; s && i < DP_MAX_SEGMENTS; i++)
		if (s->segments[i])
			munmap(s->segments[i], DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	free(s);
	return NULL;
}

/* Maps the segment of a cell. Segments stay where they are. */
static void map_segment(struct walks_stacks *s, uint32_t cell)
{
	uint32_t index = cell / DP_SEGMENT_CELLS, id;
	_cleanup_close_ int fd = -1;
	void *at;

	if (index >= DP_MAX_SEGMENTS || s->segments[index] ||
	    bpf_map_lookup_elem(s->pool, &index, &id) < 0)
		return;
	fd = bpf_map_get_fd_by_id(id);
	at = mmap(NULL, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK, PROT_READ, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		s->segments[index] = at;
}

static void print_frame(struct walk *w, uint32_t n)
{
	static const struct dp_mapping none;
	const struct walk_trail *t = walk_trail(w, n);
	uint64_t pc = DP_FRAME_ADDRESS(t->frame);
	const uint32_t cell = w->in.snapshot_cell;
	const uint8_t *segment = port_segment(w, cell);
	const struct dp_mapping *m = NULL;

	if (segment)
		m = port_pool(w, dp_mapping_cell(cell, lookup_mapping(segment, cell, pc)));
	if (!m || pc < m->start || pc >= m->end)
		m = &none;
	printf("frame\t%#" PRIx64 "\t%u\t%u\t%#" PRIx64 "\t%#" PRIx64 "\t%#" PRIx64 "\t%#" PRIx64
	       "\t%#" PRIx64 "\t%u\t%u\t%u\n",
	       pc, (unsigned int)DP_FRAME_METHOD(t->frame), m->image, (uint64_t)m->start,
	       (uint64_t)m->end, (uint64_t)m->bias, (uint64_t)t->cfa, (uint64_t)t->fp, t->link != 0,
	       (t->link & WALK_BY_FP) != 0, (unsigned int)WALK_BELOW(t->link) / 8);
}

void walks_stacks_print(struct walks_stacks *s)
{
	const uint32_t way = WALKS_AUTO;
	struct walk *w = &s->walk;
	bool is_next;

	if (bpf_map_lookup_elem(s->state, &way, w) < 0)
		return;
	is_next = w->in.number == s->expected || s->expected == 0;
	s->expected = w->in.number + 1;
	map_segment(s, w->in.snapshot_cell);
	w->world.user = &s->port;
	if (!is_next || w->out.sample.outcome != DP_COMPLETE)
		return;
	printf("sample\t%u\t%" PRIu64 "\t%u\t%#" PRIx64 "\n", w->out.sample.pid,
	       (uint64_t)w->in.memory_map, w->in.in_syscall, (uint64_t)w->in.regs.reg[DP_REG_SP]);
	for (uint32_t i = 0; i < w->at.n_frames; i++)
		print_frame(w, i);
}
