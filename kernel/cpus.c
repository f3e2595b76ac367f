// SPDX-License-Identifier: Apache-2.0
#include "kernel/cpus.h"

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

bool cpus_has(const char *list, unsigned long cpu)
{
	while (isdigit((unsigned char)*list)) {
		char *rest;
		unsigned long first = strtoul(list, &rest, 10), last = first;

		if (*rest == '-')
			last = strtoul(rest + 1, &rest, 10);
		if (first <= cpu && cpu <= last)
			return true;
		list = rest + (*rest == ',');
	}
	return false;
}

int cpus_find_new(const char *list, const char *before)
{
	unsigned int n = cpus_count_list(list);

	for (unsigned int cpu = 0; cpu < n; cpu++)
		if (cpus_has(list, cpu) && !cpus_has(before, cpu))
			return (int)cpu;
	return -1;
}

static unsigned int read_list(const char *path, char ret_list[CPUS_LIST_SIZE])
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	unsigned int n = 0;

	ret_list[0] = '\0';
	if (file && fgets(ret_list, CPUS_LIST_SIZE, file))
		n = cpus_count_list(ret_list);
	return n > 0 ? n : (unsigned int)sysconf(_SC_NPROCESSORS_CONF);
}

unsigned int cpus_read(char ret_list[CPUS_LIST_SIZE])
{
	return read_list("/sys/devices/system/cpu/online", ret_list);
}

unsigned int cpus_count_present(void)
{
	char list[CPUS_LIST_SIZE];
	unsigned int present = read_list("/sys/devices/system/cpu/present", list);
	unsigned int online = cpus_read(list);

	return present > online ? present : online;
}
