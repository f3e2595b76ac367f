// SPDX-License-Identifier: Apache-2.0
#include "cli/sandbox_options.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

static const char *const modes[] = {
	[SANDBOX_AUTO] = "auto",
	[SANDBOX_REQUIRE] = "require",
	[SANDBOX_OFF] = "off",
};

int sandbox_options_parse(const char *text, enum sandbox_mode *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strcmp(text, modes[i]) == 0) {
			*ret = (enum sandbox_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

void sandbox_options_list(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		fprintf(to, "%s%s", i ? ", " : "", modes[i]);
}
