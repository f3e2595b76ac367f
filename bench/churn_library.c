// SPDX-License-Identifier: Apache-2.0
#include "bench/churn.h"

const char churn_contents[] = CHURN_CONTENTS;

static __attribute__((noinline)) void churn_function_000000(void)
{
	churn_spend(CHURN_NS, churn_contents);
}

__attribute__((visibility("default"))) void churn_run(void);
void churn_run(void)
{
	churn_function_000000();
}
