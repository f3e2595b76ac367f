// SPDX-License-Identifier: Apache-2.0
#include "kernel/capability.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

static const struct {
	int number;
	const char *name;
} capabilities[] = {
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_SYSLOG, "CAP_SYSLOG" },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
};

void capability_read(struct capability_sets *ret)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	int number;

	*ret = (struct capability_sets){ 0 };
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %" SCNx64, &ret->effective) == 1 ||
		    sscanf(line, "CapBnd: %" SCNx64, &ret->bounding) == 1)
			continue;
		if (sscanf(line, "NoNewPrivs: %d", &number) == 1)
			ret->no_new_privileges = number != 0;
	}
}

const char *capability_name(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++)
		if (capabilities[i].number == number)
			return capabilities[i].name;
	return "?";
}

static void put_path(FILE *to)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0) {
		fputs("$(command -v dwarfprof)", to);
		return;
	}
	path[n] = '\0';
	fputs(path, to);
}

char *capability_command(uint64_t set)
{
	char *text = NULL;
	const char *separator = "";
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fputs("sudo setcap ", to);
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		if (!capability_in(set, capabilities[i].number))
			continue;
		fputs(separator, to);
		for (const char *c = capabilities[i].name; *c; c++)
			fputc(tolower(*c), to);
		separator = ",";
	}
	fputs("=ep ", to);
	put_path(to);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
