// SPDX-License-Identifier: Apache-2.0
#include "text/colours.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Shares above which something is highlighted. */
#define HOT 10.0
#define WARM 2.0

static const struct colours none = { "", "", "", "", "", "" };
static const struct colours of_terminals = { "\x1b[1m",  "\x1b[2m",  "\x1b[31m",
					     "\x1b[33m", "\x1b[32m", "\x1b[0m" };

const struct colours *colours_for(FILE *to)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool wanted = !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);

	return wanted && isatty(fileno(to)) ? &of_terminals : &none;
}

void colours_put_share(const struct colours *c, double share, FILE *to)
{
	const char *colour = share >= HOT ? c->hot : share >= WARM ? c->warm : "";

	fprintf(to, "%s%6.1f %%%s", colour, share, *colour ? c->normal : "");
}
