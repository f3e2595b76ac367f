/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_APART_H
#define DP_CLI_APART_H

#include "profiler/outputs.h"
#include "sandbox/parsers.h"

/*
 * Has a recording, which may be a stranger's, read by a process of its own, which gives up its rights
 * once all files are open (recording_names_confine()). This process waits for it, and keeps what it can be
 * asked for (sandbox/keeper.h).
 *
 * With --sandbox=off, and where no process can be had, fn runs in this process; not if confinement is
 * required. fn closes the outputs that it has, and returns an exit code, as this does, after a message for
 * any failure. The caller keeps the outputs.
 */
int apart_run(enum sandbox_mode mode, struct outputs *outputs, int (*fn)(void *arg), void *arg);

#endif
