// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_excess.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "limits/limit_hits.h"
#include "limits/limits.h"
#include "log/log.h"
#include "symbols/failures.h"
#include "symbols/names_parts.h"

static void path_of(int fd, char ret[PATH_MAX])
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
}

size_t jit_memory_left(const struct names *names, uint64_t own)
{
	uint64_t others = names->jit_memory - own;
	uint64_t left = others < JIT_MEMORY_ALL ? JIT_MEMORY_ALL - others : 0;

	return left < JIT_MEMORY ? left : JIT_MEMORY;
}

void jit_excess_tell(struct names *names, int fd, int err)
{
	char path[PATH_MAX];

	if (err == -ENOSPC)
		log_message(names->n_excess_all++ == 0 ? LOG_WARNING : LOG_DEBUG,
			    "no memory is left for more names of generated code");
	if (err != -EFBIG && err != -E2BIG)
		return;
	path_of(fd, path);
	log_message(names->n_excess++ == 0 ? LOG_WARNING : LOG_DEBUG,
		    "%s is too large: it is read no further, and generated code may lack names "
		    "(-v names all such files)",
		    path);
}

void jit_excess_tell_limits(struct names *names, int fd, const struct limit_hits *hits,
			    struct limit_hits *said)
{
	bool is_first = !limit_hits_any(said);
	struct limit_hits news;
	char path[PATH_MAX];

	if (!limit_hits_add(said, hits, &news))
		return;
	path_of(fd, path);
	failures_add_limits(&names->failures, path, &news, is_first);
}
