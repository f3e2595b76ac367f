// SPDX-License-Identifier: Apache-2.0
/*
 * The walker, with a call before each access to memory: -fsanitize=thread inserts them, and
 * touched.c has them instead of the sanitizer's library.
 */
#include "bench/touched.h"
#include "bpf/walk.h"

void touched_walk(struct walk *w)
{
	walk_run(w);
}
