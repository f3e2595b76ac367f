/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_GIVEN_H
#define DP_SANDBOX_GIVEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits/limits.h"
#include "sandbox/security_domain.h"

/*
 * A part of a text that a client has sent through a socket, with descriptors. The receiver has to close
 * these, which may never return: a file's server may not answer, a connection may linger (tcp(7)). So a
 * finder receives them (finders_receive()). This process only refers to the first (O_PATH), and knows what
 * the others are.
 */

#define GIVEN_MAX_TEXT 16384

struct given_file {
	uint64_t device, inode; /* as of struct stat */
	bool is_readable;       /* open for reading */
	/* It is /proc/PID/mem, and not at its end: it can be read, or reading it is refused. */
	bool has_memory;
	uint32_t pid; /* as its path says; 0: it is none */
	/* The process's security_domain_digest(), read before `has_memory`, so that no exec came between. */
	uint8_t domain[SECURITY_DOMAIN_DIGEST_SIZE];
};

struct given {
	uint32_t size; /* of the text */
	uint32_t n_files;
	struct given_file files[GIVEN_MAX_FILES];
	char text[GIVEN_MAX_TEXT]; /* without a zero byte at its end */
};

/*
 * Receives up to `size` bytes with their descriptors, without waiting for them; examining and closing the
 * descriptors may block. *ret_first refers to the first one; -1: there are none. 0; -EAGAIN: nothing has
 * arrived; -EPIPE: nothing will; or another negative errno.
 */
int given_receive(int socket, size_t size, struct given *ret, int *ret_first);

/*
 * Looks at what would come next, of up to `size` bytes: its text, and whether it has descriptors, or what comes after
 * it (unix_stream_read_generic(), net/unix/af_unix.c, goes on to that). Returns its size or an error as above.
 */
int given_look(int socket, char *ret_text, size_t size, bool *ret_has_files);

/*
 * Whether unread descriptors are left in a socket that receives no more (shutdown(2)). The last close of the
 * socket would close them, too (unix_release_sock(), net/unix/af_unix.c). Discards the text before them.
 */
bool given_is_left(int socket);

#endif
