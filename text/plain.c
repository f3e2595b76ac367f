// SPDX-License-Identifier: Apache-2.0
#include "text/plain.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

int plain_print(const char *text, FILE *to)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	text_make_plain(copy);
	fputs(copy, to);
	return 0;
}
