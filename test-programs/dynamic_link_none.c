// SPDX-License-Identifier: Apache-2.0
/* A static program has no dynamic linker. */
#include "scenario.h"

void scenario_plt(void)
{
}

void scenario_dlopen(void)
{
}
