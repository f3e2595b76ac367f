/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_OUTER_MAP_H
#define DP_KERNEL_OUTER_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_map;

/*
 * A map of maps. The kernel waits for a grace period, some 10 ms, after each update of such a map;
 * since 6.8 only once per batch. A thread inserts the initial maps while the programs are loaded.
 */
struct outer_map {
	int fd;
	uint32_t *keys;
	const int *fds;
	uint32_t n;
	int err;
	pthread_t thread;
	bool is_filling;
};

/*
 * Creates `map` of an object that is not loaded yet, for inner maps like the first of the n, and
 * starts to insert these at keys 0 to n - 1. After success, call outer_map_wait(), and keep the
 * descriptors open until then. After a failure, loading the object creates the map, empty.
 */
int outer_map_begin(struct outer_map *ret, struct bpf_map *map, const int *fds, uint32_t n);

/* Waits until all maps are inserted. 0 or a negative errno. Call it once. */
int outer_map_wait(struct outer_map *outer);

/* Inserts n maps in one batch, and waits for the grace period. */
int outer_map_update(const struct bpf_map *map, const uint32_t *keys, const int *fds, uint32_t n);

#endif
