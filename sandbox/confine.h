/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_CONFINE_H
#define DP_SANDBOX_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The layers that confine a process which parses untrusted files. It can read and write the
 * descriptors that it has, and nothing else: it cannot open files, connect, execute programs, or
 * inspect or signal other processes. Each layer alone stops most of this, so the process stays
 * confined if the kernel lacks one layer or one has a hole.
 *
 *    X(enumerator, name)
 */
#define CONFINE_LAYERS(X)                                                                          \
	X(USER, "a user of its own")                                                               \
	X(CAPABILITIES, "no capabilities")                                                         \
	X(NO_NEW_PRIVILEGES, "no_new_privs")                                                       \
	X(LIMITS, "limits of memory and files")                                                    \
	X(LANDLOCK, "Landlock")                                                                    \
	X(SECCOMP, "seccomp")

#define X(name, text) CONFINE_##name,
enum confine_layer { CONFINE_LAYERS(X) CONFINE_N_LAYERS };
#undef X

/* Layers by bit. */
struct confinement {
	uint32_t layers;
	uint32_t missing; /* that the kernel has and this process could have had */
};

/*
 * Confines this process, which must have only one thread, in all layers it can have. Without root it
 * gets no user of its own. Landlock needs Linux 5.13.
 *
 * With `ret_opens`, libdw can work in the process: each attempt to open a file waits until the holder
 * of that descriptor (seccomp_unotify(2)) gives it one or refuses. *ret_opens is -1 if all attempts
 * are refused.
 */
void confine_self(struct confinement *ret, int *ret_opens);

/*
 * Confines a process that reads the memory and the lists of mappings of others. It keeps
 * CAP_SYS_PTRACE; returns false if it does not have it. There is no Landlock layer, which would forbid
 * both (hook_ptrace_access_check(), security/landlock), so the process can open for reading any file
 * that everybody may read. It parses no untrusted data; the layers are a precaution.
 */
bool confine_fetcher(struct confinement *ret);

/* The same for a process that opens files for reading, whatever their mode: it keeps CAP_DAC_READ_SEARCH. */
bool confine_finder(struct confinement *ret);

/*
 * Takes from this process, and from all that it executes, the capabilities that no parser or namer needs to
 * confine itself; and no finder, if it starts some.
 */
void confine_spawner(bool finds);

/* What a process that reads recordings may do besides reading files: one that everybody may read. */
struct confine_reader {
	const int *directories; /* below these, it may write and remove files; references to them */
	size_t n_directories;
	bool asks_servers; /* it may use sockets of the Internet */
};

/*
 * Confines a process that parses recordings and has all its outputs open. It has one thread, and a spawner
 * with helpers, which are not confined by this; it can start no process, but the spawner can. A keeper
 * (keeper.h) does what it cannot. It has neither a user of its own, as it
 * reads this user's files, nor limits.
 */
void confine_reader(const struct confine_reader *reader, struct confinement *ret);
/* The layers that are for it. */
#define CONFINE_READER_LAYERS                                                                      \
	(1U << CONFINE_CAPABILITIES | 1U << CONFINE_NO_NEW_PRIVILEGES | 1U << CONFINE_LANDLOCK |   \
	 1U << CONFINE_SECCOMP)

#define CONFINE_LIST_SIZE 128

/* Writes the names of layers: "Landlock, seccomp". Returns ret. */
const char *confine_list(uint32_t layers, char ret[CONFINE_LIST_SIZE]);

#endif
