// SPDX-License-Identifier: Apache-2.0
#include "profiler/keyboard.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

bool keyboard_quits(int epoll_fd)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	if (n <= 0)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, STDIN_FILENO, NULL);
	return n > 0 && memchr(keys, 'q', (size_t)n);
}
