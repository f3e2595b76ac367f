/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_TEXT_H
#define DP_TEXT_TEXT_H

#include "report/report.h"

int report_text_new(struct report **ret);

/* Those that are not chosen by name: of `dwarfprof dump`, of `dwarfprof top`, of --crashes. */
extern const struct report_format report_stacks;
extern const struct report_format report_top;
extern const struct report_format report_crashes;

#endif
