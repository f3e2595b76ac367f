// SPDX-License-Identifier: Apache-2.0
#include "binaries/foreign_file.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "base/signals.h"

static void *close_fd(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

void foreign_file_close(int fd)
{
	pthread_t thread;
	sigset_t old;

	if (fd < 0)
		return;
	signals_block(&old);
	/* Without a thread, it has to wait. */
	if (pthread_create(&thread, NULL, close_fd, (void *)(intptr_t)fd) == 0)
		pthread_detach(thread);
	else
		close(fd);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
