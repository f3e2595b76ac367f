// SPDX-License-Identifier: Apache-2.0
#include "report/resource_label.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"

static const char *const prefixes[] = { REPORT_RESOURCE, "service.",   "host.",
					"process.",      "container.", "deployment.",
					"k8s.",          "os.",        "cloud." };

bool resource_label_has_key(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

const char *resource_label_plain(const char *key)
{
	size_t n = strlen(REPORT_RESOURCE);

	return strncmp(key, REPORT_RESOURCE, n) == 0 ? key + n : key;
}
