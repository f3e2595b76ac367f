/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_SLJIT_CODE_H
#define DP_BPF_SLJIT_CODE_H

/*
 * The instructions by which sljit's functions make and leave their frames (sljit_emit_enter() and
 * sljit_emit_return()):
 *
 *   int sljit_code_enters(w)    reads the first ones, in w->code, into w->sljit; negative: they
 *                               are others
 *   int sljit_code_leaves(w)    how many bytes are below the return address of a complete frame, or
 *                               one that is being left, by the next ones, in w->code
 */

#include "bpf/frame_code.h"

#include DP_ARCH_SLJIT_CODE

#endif
