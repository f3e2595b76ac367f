// SPDX-License-Identifier: Apache-2.0
#include "cli/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int quantity_parse_duration(const char *text, uint64_t *ret)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 },   { "s", 1e9 },    { "ms", 1e6 },
		      { "m", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 } };
	char *end;
	double value;

	/* strtod() also accepts "inf", "nan" and hexadecimal. */
	if (strspn(text, "0123456789.") == 0)
		return -EINVAL;
	value = strtod(text, &end);
	if (end != text + strspn(text, "0123456789."))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		double ns = value * units[i].ns;

		if (strcmp(end, units[i].suffix) != 0)
			continue;
		if (ns < 1 || ns > 1e18)
			return -EINVAL;
		*ret = (uint64_t)ns;
		return 0;
	}
	return -EINVAL;
}

int quantity_parse_size(const char *text, uint64_t *ret)
{
	static const char suffixes[] = "KMG";
	unsigned long long value;
	const char *suffix;
	int shift = 0;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || errno)
		return -EINVAL;
	if (*end != '\0') {
		suffix = strchr(suffixes, toupper(*end));
		if (!suffix || end[1] != '\0')
			return -EINVAL;
		shift = 10 * (int)(suffix - suffixes + 1);
	}
	if (value > UINT64_MAX >> shift)
		return -EINVAL;
	*ret = (uint64_t)value << shift;
	return 0;
}

int quantity_parse_percent(const char *text, double *ret)
{
	char *end;
	double percent = strtod(text, &end);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || percent < 0.01 || percent > 100000)
		return -EINVAL;
	*ret = percent / 100;
	return 0;
}
