/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_CONFINED_RUN_H
#define DP_CLI_CONFINED_RUN_H

#include "profiler/outputs.h"
#include "sandbox/parsers.h"

/*
 * Runs fn, which reads a recording that may be hostile, in a child process, which gives up its privileges once all
 * files are open (recording_names_confine()). This process waits for it, and serves it as its keeper
 * (sandbox/keeper.h).
 *
 * With --sandbox=off, and if no child can be started, fn runs in this process, unless confinement is required. fn
 * logs failures, closes its copy of the outputs, and returns an exit code; this function returns that, or its own
 * after a message. The caller keeps the outputs.
 */
int confined_run(enum sandbox_mode mode, struct outputs *outputs, int (*fn)(void *arg), void *arg);

#endif
