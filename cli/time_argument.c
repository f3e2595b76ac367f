// SPDX-License-Identifier: Apache-2.0
#include "cli/time_argument.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "cli/quantity.h"

#define SECOND UINT64_C(1000000000)

/* Reads "14:00" or "14:00:30", and perhaps a date before it. False: it is something else. */
static bool read_time(const char *text, struct tm *tm, bool *ret_utc)
{
	static const char *const forms[] = { "%H:%M",          "%H:%M:%S",
					     "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
					     "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S" };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm read = *tm;
		const char *end;

		read.tm_sec = 0;
		end = strptime(text, forms[i], &read);
		*ret_utc = end && *end == 'Z';
		if (!end || end[*ret_utc] != '\0')
			continue;
		*tm = read;
		return true;
	}
	return false;
}

/* The same time of another day. */
static time_t move_day(struct tm tm, int days, bool is_utc)
{
	tm.tm_mday += days;
	tm.tm_isdst = -1;
	return is_utc ? timegm(&tm) : mktime(&tm);
}

int time_argument_parse(const char *text, uint64_t now_ns, uint64_t after_ns, uint64_t *ret)
{
	time_t now = (time_t)(now_ns / SECOND), after = (time_t)(after_ns / SECOND), time;
	bool is_utc, has_date = strchr(text, '-');
	uint64_t before_ns;
	struct tm tm;

	if (text[0] == '-') {
		if (quantity_parse_duration(text + 1, &before_ns) < 0 || before_ns > now_ns)
			return -EINVAL;
		*ret = now_ns - before_ns;
		return 0;
	}
	is_utc = text[strcspn(text, "Z")] == 'Z';
	if (!(is_utc ? gmtime_r(&now, &tm) : localtime_r(&now, &tm)) ||
	    !read_time(text, &tm, &is_utc))
		return -EINVAL;
	time = move_day(tm, 0, is_utc);
	if (!has_date && !after_ns && time > now)
		time = move_day(tm, -1, is_utc);
	for (int days = -1; !has_date && after_ns && days <= 1; days++) {
		time = move_day(tm, days, is_utc);
		if (time > after)
			break;
	}
	if (time < 0)
		return -EINVAL;
	*ret = (uint64_t)time * SECOND;
	return 0;
}
