/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_RUNTIME_NAMES_H
#define DP_SAMPLES_RUNTIME_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"

struct fetchers;
struct module;
struct runtime_names;

/* The most positions in code that are named for one process. */
#define RUNTIME_NAMES_MAX (1U << 20)

/*
 * The names of a runtime's code in one process, by code, tag and position: read from its memory once,
 * by the thread that looks up names, and given to the module's struct jit. Owned by the module
 * (code_source.h), which must be one of code that is in no file.
 *
 * `layout` is copied (struct runtime_source). `fetchers` are those of the thread that looks up names; NULL: it reads itself.
 * 0 or -ENOMEM.
 */
int runtime_names_new(struct module *module, struct fetchers *fetchers, pid_t pid,
		      unsigned int kind, const void *layout, struct runtime_names **ret);

/* Of what kind it is. */
unsigned int runtime_names_kind(const struct runtime_names *names);

/* The number of a frame's code, for code_source.locate(). Does not read memory. */
uint64_t runtime_names_put(struct runtime_names *names, const struct dp_runtime_frame *frame);

#endif
