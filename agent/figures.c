// SPDX-License-Identifier: Apache-2.0
#include "agent/figures.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "log/clock.h"

void figures_begin(struct figures *f)
{
	struct utsname machine;

	f->started_real_ns = clock_real_ns();
	if (uname(&machine) < 0)
		return;
	snprintf(f->host, sizeof(f->host), "%s", machine.nodename);
	snprintf(f->kernel, sizeof(f->kernel), "%s %s", machine.sysname, machine.release);
}
