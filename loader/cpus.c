// SPDX-License-Identifier: Apache-2.0
#include "cpus.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

unsigned int cpus_count_list(const char *list)
{
	const char *last = list + strcspn(list, "\n");

	while (last > list && isdigit((unsigned char)last[-1]))
		last--;
	return isdigit((unsigned char)*last) ? (unsigned int)strtoul(last, NULL, 10) + 1 : 0;
}

unsigned int cpus_count(void)
{
	_cleanup_fclose_ FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	char list[4096];
	unsigned int n = 0;

	if (file && fgets(list, sizeof(list), file))
		n = cpus_count_list(list);
	return n > 0 ? n : (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
}
