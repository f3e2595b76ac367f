// SPDX-License-Identifier: Apache-2.0
#include "profiler/keyboard.h"

#include <string.h>
#include <unistd.h>

#include "loop/loop.h"

static int on_keys(void *arg, int fd)
{
	struct keyboard *k = arg;
	char keys[64];
	ssize_t n = read(fd, keys, sizeof(keys));

	if (n <= 0)
		loop_remove(k->loop, fd);
	k->has_quit |= n > 0 && memchr(keys, 'q', (size_t)n);
	return 0;
}

int keyboard_listen(struct keyboard *ret, struct loop *loop)
{
	*ret = (struct keyboard){ .loop = loop };
	return loop_add(loop, STDIN_FILENO, on_keys, ret);
}
