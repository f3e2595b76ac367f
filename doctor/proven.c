// SPDX-License-Identifier: Apache-2.0
#include "doctor/proven.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A major version has some twenty minor ones. */
#define MINORS 20

struct series {
	int major, minor;
};

static int distance(struct series a, struct series b)
{
	return abs((a.major - b.major) * MINORS + a.minor - b.minor);
}

void proven_describe(const char *release, const char *series, char ret[PROVEN_TEXT_SIZE])
{
	struct series here, nearest = { 0 }, one;

	ret[0] = '\0';
	if (sscanf(release, "%d.%d", &here.major, &here.minor) != 2)
		return;
	for (const char *s = series; s; s = strchr(s, ' ')) {
		if (sscanf(s, " %d.%d", &one.major, &one.minor) != 2)
			return;
		if (nearest.major == 0 || distance(one, here) < distance(nearest, here))
			nearest = one;
		s += strspn(s, " ");
	}
	if (nearest.major == 0)
		return;
	if (distance(nearest, here) == 0)
		snprintf(ret, PROVEN_TEXT_SIZE, "tested, as Debian's %s", series);
	else
		snprintf(ret, PROVEN_TEXT_SIZE, "not tested; nearest of %s: %d.%d", series,
			 nearest.major, nearest.minor);
}
