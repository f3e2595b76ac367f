/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_LABELS_H
#define DP_ELF_ELF_LABELS_H

#include "bpf/abi.h"
#include "elf/elf_file.h"

/*
 * Finds the thread-local variable by which threads publish labels for profilers: OpenTelemetry's
 * (DP_CONTEXT_VARIABLE), otherwise that of Polar Signals' library (DP_CUSTOM_VERSION and its variables),
 * whose name does not matter. DP_LABELS_NONE, and kind NONE: there is none. *ret_others: further forms that
 * the file has, a bit for each.
 */
enum dp_labels_form elf_labels_find(const struct elf_file *file, struct dp_tls *ret,
				    unsigned int *ret_others);

#endif
