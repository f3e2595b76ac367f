// SPDX-License-Identifier: Apache-2.0
#include "symbols/names.h"

#include <signal.h>

static struct names_options current;
static volatile sig_atomic_t disabled;

void names_disable(void)
{
	disabled = 1;
}

bool names_disabled(void)
{
	return disabled;
}

void names_set_options(const struct names_options *options)
{
	current = *options;
}

const struct names_options *names_options(void)
{
	return &current;
}
