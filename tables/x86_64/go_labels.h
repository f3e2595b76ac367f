/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TABLES_X86_64_GO_LABELS_H
#define DP_TABLES_X86_64_GO_LABELS_H

#include "tables/x86_64/go_code.h"
#include "tables/x86_64/go_switch.h"
#include "tables/rule.h"

/*
 * Where a Go program stores the labels of a goroutine's current work (runtime/pprof.Do()): in its
 * struct g, where the runtime's own function puts them.
 */
struct go_labels {
	enum dp_labels_form form;
	struct rule_program program; /* computes their address; 0: the goroutine has none */
};

/*
 * minor: of the program's Go version, 1.minor; 0: not known. Returns 0, -ENOMEM, or -ENOENT: the
 * program cannot set labels, or where they are is not known.
 */
int go_labels_find(struct go_labels *ret, struct go_code *code, const struct go_switch *found,
		   unsigned int minor);

#endif
