/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_OUTCOME_H
#define DP_REPORT_OUTCOME_H

#include "abi.h"

/* The words and sentences of enum dp_outcome and enum dp_method. Never NULL. */
const char *outcome_word(enum dp_outcome outcome);
const char *outcome_sentence(enum dp_outcome outcome);
const char *method_word(enum dp_method method);

#endif
