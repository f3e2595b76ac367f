// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spawned.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/clock.h"

void spawned_end(const struct spawned *spawned)
{
	(void)syscall(SYS_pidfd_send_signal, spawned->pidfd, SIGKILL, NULL, 0);
	close(spawned->socket);
	close(spawned->pidfd);
}

/*
 * Whether somebody has stopped a helper that does nothing, or it has ended. Otherwise it waits for a
 * CPU, or for a file that is slow to read.
 */
static bool is_stopped(const struct spawned *spawned)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", spawned->pid);
	file = fopen(path, "re");
	return file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && strchr("TtZX", state);
}

int patience_begin(const struct spawned *spawned, uint64_t limit_ns, uint64_t stopped_ns,
		   struct patience *ret)
{
	*ret = (struct patience){ .limit_ns = limit_ns, .stopped_ns = stopped_ns };
	if (clock_getcpuclockid(spawned->pid, &ret->clock) != 0)
		return -ECONNABORTED;
	ret->begun = ret->last = clock_read_ns(ret->clock);
	ret->since = clock_now_ns();
	return 0;
}

int patience_look(struct patience *p, const struct spawned *spawned)
{
	uint64_t now = clock_now_ns(), cpu_ns = clock_read_ns(p->clock);

	if (cpu_ns > p->begun + p->limit_ns)
		return -ETIME;
	if (cpu_ns != p->last)
		p->since = now;
	else if (now > p->since + p->stopped_ns && is_stopped(spawned))
		return -ECONNABORTED;
	p->last = cpu_ns;
	return 0;
}

uint64_t patience_spent(const struct patience *p)
{
	uint64_t now = clock_read_ns(p->clock);

	return (now > p->last ? now : p->last) - p->begun;
}
