/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_ADDED_PROBE_H
#define DP_PROBES_ADDED_PROBE_H

#include <sys/types.h>

#include "bpf/abi.h"
#include "kernel/probe_slots.h"
#include "kernel/probed_files.h"
#include "kernel/uprobe_places.h"
#include "probes/probe_target.h"

struct added_label;
struct call_table;
struct parsers;
struct value_table;

/* A client's request for a probe. */
struct probe_wish {
	const char *kind;  /* of probe_kind_find() */
	const char *path;  /* of the file, for messages */
	int fd;            /* refers to the file */
	const char *probe; /* NAME(VALUES) */
	const char *name;  /* NULL: KIND:PATH:NAME */
	unsigned int max_rate, max_hits;
	struct probe_target targets[DP_MAX_PROBE_PIDS];
	unsigned int n_targets; /* 0: all processes; those that are sampled give samples */
	uid_t user;             /* who asks; unless it is root, only what they may trace is hit */
	gid_t group;
};

/* Closes the targets that nothing has taken over. */
void probe_wish_done(struct probe_wish *wish);

enum added_state {
	ADDED_ON,
	ADDED_OFF,
	ADDED_OVER, /* it was hit too often */
};

/* A probe that is added while others are sampled, in a slot of the kernel's. */
struct added_probe {
	unsigned int id;
	uint32_t slot;
	uid_t user;
	char *text; /* KIND:PATH:NAME(VALUES) */
	char *name; /* the label `probe` of its samples; of others than root, UID:NAME */
	enum added_state state;
	unsigned int foreign; /* the process that its user may not trace, so it is off; 0: none */
	struct uprobe_places places;
	struct probed_files file;                       /* of these */
	enum probed_change change;                      /* of the file, as of the last look */
	struct probe_target targets[DP_MAX_PROBE_PIDS]; /* as many as counts has */
	uint32_t lists[DP_MAX_ARGUMENT_LISTS];          /* their numbers in the table */
	size_t n_lists;
	struct added_label *label; /* NULL: its hits are samples */
	struct probe_links links;
	struct dp_probe counts; /* as of the last look */
};

/* What it is set with. The caller keeps them. */
struct added_means {
	struct probe_slots *slots;
	struct value_table *values;
	struct call_table *calls;
	struct parsers *parsers; /* NULL: this process reads files */
};

/* Finds its places and sets it. Takes the wish's targets over. Logs errors. 0 or a negative errno. */
int added_probe_new(const struct added_means *means, struct probe_wish *wish, unsigned int id,
		    uint32_t slot, struct added_probe **ret);
/* Returns NULL. */
struct added_probe *added_probe_free(const struct added_means *means, struct added_probe *probe);

/*
 * Enables it again, in those of its processes that still run; disables it. Logs errors. 0; -ESRCH: none runs; -EPERM:
 * its user may no longer trace one; -ESTALE: its file was written to; or another negative errno.
 */
int added_probe_enable(const struct added_means *means, struct added_probe *probe);
void added_probe_disable(const struct added_means *means, struct added_probe *probe,
			 enum added_state state);

/*
 * Reads the counts, and looks at the file. Disables a probe that the BPF program has ended, and one with a process
 * that its user may no longer trace: that process's hits are ignored, but each still costs a trap. Warns about root's
 * probes, also when samples begin to be left out.
 */
void added_probe_look(const struct added_means *means, struct added_probe *probe);

#define ADDED_WHY_SIZE 160

/* Writes why it was disabled other than by request. False: it is on, or was disabled by request. */
bool added_probe_explain(const struct added_probe *probe, char ret[ADDED_WHY_SIZE]);
/* Writes how its file has changed since its places were found, and what that means. False: it has not. */
bool added_probe_explain_file(const struct added_probe *probe, char ret[ADDED_WHY_SIZE]);

#endif
