/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_GIVEN_H
#define DP_SANDBOX_GIVEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits/limits.h"
#include "sandbox/security_domain.h"

/*
 * A part of a text that somebody has sent through a socket with descriptors. Who has received these has to close
 * them, which may never end: a file's server may not answer, a connection may linger (tcp(7)). So a finder
 * receives them (finders_receive()). This process only refers to the first (O_PATH), and knows what the others are.
 */

#define GIVEN_MAX_TEXT 16384

struct given_file {
	uint64_t device, inode; /* as of struct stat */
	bool is_readable;       /* open for reading */
	/* It is /proc/PID/mem, and can be read, or may not be: it is not at its end. */
	bool has_memory;
	uint32_t pid; /* as its path says; 0: it is none */
	/* By what the process is bound: security_domain_digest(). It was read before, so that no program was executed since. */
	uint8_t domain[SECURITY_DOMAIN_DIGEST_SIZE];
};

struct given {
	uint32_t size; /* of the text */
	uint32_t n_files;
	struct given_file files[GIVEN_MAX_FILES];
	char text[GIVEN_MAX_TEXT]; /* without a zero byte at its end */
};

/*
 * Receives up to `size` bytes with their descriptors, without waiting for them; but to look at these, and to
 * close them, may wait. *ret_first: refers to the first one; -1: there are none. 0, -EAGAIN: nothing has
 * come; -EPIPE: nothing will; or another negative errno.
 */
int given_receive(int socket, size_t size, struct given *ret, int *ret_first);

/*
 * Looks at what would come next, of up to `size` bytes: its text, and whether it has descriptors, or what comes after
 * it (unix_stream_read_generic(), net/unix/af_unix.c, goes on to that). Returns its size or an error as above.
 */
int given_look(int socket, char *ret_text, size_t size, bool *ret_has_files);

/*
 * Are there descriptors in what is left in a socket that nothing more can come to (shutdown(2))? Its last close would
 * close them, too (unix_release_sock(), net/unix/af_unix.c). Takes the text before them away.
 */
bool given_is_left(int socket);

#endif
