// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void criterion_tell_failure(const char *file, unsigned int line, char *message, const char *format,
			    ...)
{
	struct criterion_assert_stats stats = { .file = file, .line = line, .message = message };
	char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format + 1, arguments) > 0)
		stats.message = text;
	va_end(arguments);
	criterion_send_assert(&stats);
	free(text);
	cr_asprintf_free(message);
}
