/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_SANDBOX_OPTIONS_H
#define DP_CLI_SANDBOX_OPTIONS_H

#include <stdio.h>

#include "sandbox/parsers.h"

#define SANDBOX_OPTIONS_HELP                                                                       \
	"auto: parse files in confined processes if possible; require: else refuse to run; "       \
	"off: parse them in this process (auto)"
#define SANDBOX_OPTIONS_ERROR "--sandbox takes auto, require or off, not '%s'"

/* Parses what --sandbox takes. -EINVAL for anything else. */
int sandbox_options_parse(const char *text, enum sandbox_mode *ret);

/* Writes it: "auto, require, off". */
void sandbox_options_list(FILE *to);

#endif
