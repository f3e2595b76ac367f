/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_OUTCOME_H
#define DP_REPORT_OUTCOME_H

#include "bpf/abi.h"

/* The words and sentences of enum dp_outcome and enum dp_method. Never NULL. */
const char *outcome_word(enum dp_outcome outcome);
const char *outcome_sentence(enum dp_outcome outcome);
const char *method_word(enum dp_method method);
/* The letter of enum dp_state; and the same as a text. */
char state_letter(enum dp_state state);
const char *state_text(enum dp_state state);

/* "addresses_hidden", or the name of an errno, "EFAULT"; NULL if the error is 0. */
const char *kernel_error_word(int error);

#endif
