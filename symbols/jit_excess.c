// SPDX-License-Identifier: Apache-2.0
#include "symbols/jit_excess.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "log/log.h"
#include "symbols/names_parts.h"

void jit_excess_tell(struct names *names, int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	log_message(names->n_excess++ == 0 ? LOG_WARNING : LOG_DEBUG,
		    "%s is too large: it is read no further, and generated code may lack names "
		    "(-v names all such files)",
		    path);
}
