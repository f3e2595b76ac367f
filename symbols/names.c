// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <signal.h>

static volatile sig_atomic_t disabled;

void names_disable(void)
{
	disabled = 1;
}

bool names_disabled(void)
{
	return disabled;
}
