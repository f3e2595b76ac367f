// SPDX-License-Identifier: Apache-2.0
/*
 * usage: walk_cost DIRECTORY
 *
 * The time that the kernel takes for walks whose rules and stacks are as expensive as they can be: for each of
 * the inputs of bpf/tests/fuzz_walk.c, the longest of its walks. Tab-separated: input, outcome, frames, cost as
 * the walker counts it, and microseconds, the fewest of several runs. Needs root.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/tests/world_feed.h"
#include "bpf/tests/world_kernel.h"

#define N_RUNS 25
#define MAX_SIZE 4096

static const char *const outcomes[] = { [DP_WALKING] = "walking",
#define X(name, word, sentence) word,
					DP_OUTCOMES(X)
#undef X
};

struct bench {
	struct world_kernel kernel;
	struct world_case input;
	uint64_t n_maps; /* so far */
	struct walk state;
	uint64_t ns[WORLD_MAX_WALKS];
	uint32_t frames[WORLD_MAX_WALKS], cost[WORLD_MAX_WALKS], outcome[WORLD_MAX_WALKS];
};

static void write_memory(struct bench *b)
{
	const struct world *w = b->kernel.world;
	const uint64_t cookie = WORLD_COOKIE;

	for (uint64_t at = 0; at < sizeof(w->stack); at += 8)
		*(uint64_t *)(WORLD_STACK + at) = world_word(&b->input.stack, WORLD_STACK + at);
	memcpy((void *)(WORLD_CODE - DP_PAGE_SIZE), w->code, sizeof(w->code));
	memcpy((void *)(WORLD_LIBRARY - DP_PAGE_SIZE), w->code, sizeof(w->code));
	memcpy((void *)(WORLD_CODE - WORLD_COOKIE_BELOW), &cookie, sizeof(cookie));
	memcpy((void *)(WORLD_LIBRARY - WORLD_COOKIE_BELOW), &w->cookie, sizeof(cookie));
}

/* Walks once. 0 or a negative errno. */
static int walk_one(struct bench *b, uint32_t number, bool is_first)
{
	const struct world_walk *walk = &b->input.walks[number];
	struct walk_request request = { .regs = walk->regs,
					.snapshot_cell = WORLD_SPACE_CELL,
					.unwind = walk->unwind,
					.max_frames = DP_MAX_FRAMES,
					.in_syscall = walk->in_syscall };
	uint32_t zero = 0;
	int err;

	if (number == 0 || walk->is_new) {
		world_renumber(b->kernel.world, ++b->n_maps + 100);
		world_kernel_publish(&b->kernel);
	}
	request.snapshot = request.memory_map = b->n_maps + 100;
	err = world_kernel_walk(&b->kernel, &request);
	if (err == 0)
		err = bpf_map_lookup_elem(bpf_map__fd(b->kernel.bpf->maps.walk_state), &zero,
					  &b->state);
	if (err < 0)
		return err;
	if (is_first || request.ns < b->ns[number])
		b->ns[number] = request.ns;
	b->frames[number] = b->state.at.n_frames;
	b->cost[number] = b->state.at.cost;
	b->outcome[number] = b->state.out.sample.outcome;
	return 0;
}

static int walk_all(struct bench *b, const char *name)
{
	uint32_t longest = 0;
	int err = 0;

	for (int run = 0; run < N_RUNS; run++)
		for (uint32_t i = 0; i < b->input.n_walks && err == 0; i++)
			err = walk_one(b, i, run == 0);
	for (uint32_t i = 1; i < b->input.n_walks; i++)
		if (b->ns[i] > b->ns[longest])
			longest = i;
	if (err == 0)
		printf("%s\t%s\t%" PRIu32 "\t%" PRIu32 "\t%.1f\n", name,
		       outcomes[b->outcome[longest]], b->frames[longest], b->cost[longest],
		       (double)b->ns[longest] / 1e3);
	return err;
}

/* 0 or a negative errno. */
static int walk_input(struct bench *b, const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	uint8_t bytes[MAX_SIZE];
	struct feed feed;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return -ENOMEM;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	feed.pos = bytes;
	feed.end = bytes + fread(bytes, 1, sizeof(bytes), file);
	world_feed(&feed, b->kernel.world, &b->input);
	write_memory(b);
	return walk_all(b, name);
}

int main(int argc, char **argv)
{
	_cleanup_closedir_ DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	static struct bench b;
	struct dirent *entry;
	int err;

	if (!directory) {
		fprintf(stderr, "usage: walk_cost DIRECTORY\n");
		return 2;
	}
	printf("input\toutcome\tframes\tcost\tus\n");
	err = world_kernel_open(&b.kernel);
	while (err == 0 && (entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			err = walk_input(&b, argv[1], entry->d_name);
	if (err < 0)
		fprintf(stderr, "walk_cost: %s\n", strerror(-err));
	world_kernel_close(&b.kernel);
	return err < 0;
}
