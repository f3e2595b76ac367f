/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_OUTER_MAP_H
#define DP_KERNEL_OUTER_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_map;

/*
 * A map of maps. The kernel waits for a grace period, some 10 ms, after each update of
 * one, but since 6.8 only once after a batch. That which is there from the start is put in
 * by a thread, while the programs are loaded.
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
 * Make `map` of a program that is not loaded yet, for maps like the first of n, and begin to
 * put these in, at the keys from 0 on. They stay open until outer_map_wait(), which has to
 * follow a success. After a failure the map is made with the programs, and empty.
 */
int outer_map_begin(struct outer_map *ret, struct bpf_map *map, const int *fds, uint32_t n);

/* Until all are there: 0 or a negative errno. To be called once. */
int outer_map_wait(struct outer_map *outer);

/* Put n maps in, in one go, and wait. */
int outer_map_update(const struct bpf_map *map, const uint32_t *keys, const int *fds, uint32_t n);

#endif
