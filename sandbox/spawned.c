// SPDX-License-Identifier: Apache-2.0
#include "sandbox/spawned.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/keeper.h"

void spawned_kill(const struct spawned *spawned)
{
	(void)keeper_kill(spawned->pidfd);
	close(spawned->socket);
}

void spawned_end(const struct spawned *spawned)
{
	spawned_kill(spawned);
	close(spawned->pidfd);
}

bool spawned_is_worn(const struct spawned *spawned)
{
	clockid_t clock;

	return clock_getcpuclockid(spawned->pid, &clock) == 0 &&
	       clock_read_ns(clock) > CONFINE_CPU_S / 4 * UINT64_C(1000000000);
}

/*
 * Its state as in proc_pid_stat(5): 'R' if it computes or waits for a CPU, and if that is not known; 'X':
 * it is gone.
 */
static char read_state(const struct spawned *spawned)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], state = 'R';

	snprintf(path, sizeof(path), "/proc/%d/stat", spawned->pid);
	file = fopen(path, "re");
	if (!file && errno == ENOENT)
		return 'X';
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'R';
	return state;
}

int patience_begin(const struct spawned *spawned, uint64_t limit_ns, uint64_t stopped_ns,
		   bool counts_sleep, struct patience *ret)
{
	*ret = (struct patience){ .limit_ns = limit_ns,
				  .stopped_ns = stopped_ns,
				  .look_ns = PATIENCE_LOOK_MS * UINT64_C(1000000),
				  .counts_sleep = counts_sleep };
	if (clock_getcpuclockid(spawned->pid, &ret->clock) != 0)
		return -ECONNABORTED;
	ret->begun = ret->last = clock_read_ns(ret->clock);
	ret->since = ret->looked = clock_now_ns();
	return 0;
}

/* Time since the last look, but for what was charged already. */
static uint64_t passed_ns(const struct patience *p, uint64_t now)
{
	uint64_t passed = now - p->looked;

	return passed > p->charged_ns ? passed - p->charged_ns : 0;
}

/* It may have computed meanwhile, and is asleep now by chance. */
static void count_sleep(struct patience *p, uint64_t now, uint64_t cpu_ns)
{
	uint64_t passed = passed_ns(p, now);
	uint64_t computed = cpu_ns > p->last ? cpu_ns - p->last : 0;

	p->asleep_ns += passed > computed ? passed - computed : 0;
}

static void note_progress(struct patience *p, uint64_t now, uint64_t cpu_ns, bool is_asleep)
{
	if (cpu_ns != p->last) {
		p->since = now;
		p->idle_ns = 0;
	} else if (is_asleep) {
		p->idle_ns += passed_ns(p, now);
	}
}

int patience_look(struct patience *p, const struct spawned *spawned)
{
	uint64_t now = clock_now_ns(), cpu_ns;
	char state;

	if (now < p->looked + p->look_ns)
		return 0;
	cpu_ns = clock_read_ns(p->clock);
	state = read_state(spawned);
	if (p->counts_sleep && strchr("DS", state))
		count_sleep(p, now, cpu_ns);
	note_progress(p, now, cpu_ns, strchr("DS", state));
	p->last = cpu_ns;
	p->looked = now;
	p->charged_ns = 0;
	if (patience_spent(p) > p->limit_ns)
		return -ETIME;
	if (p->stuck_ns > 0 && p->idle_ns > p->stuck_ns)
		return -ETIMEDOUT;
	return now > p->since + p->stopped_ns && strchr("TtZX", state) ? -ECONNABORTED : 0;
}

void patience_charge(struct patience *p, uint64_t ns)
{
	p->asleep_ns += ns;
	p->charged_ns += ns;
}

uint64_t patience_cpu_ns(const struct patience *p)
{
	uint64_t now = clock_read_ns(p->clock);

	return (now > p->last ? now : p->last) - p->begun;
}

uint64_t patience_spent(const struct patience *p)
{
	return patience_cpu_ns(p) + p->asleep_ns;
}
