/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TABLE_DIGEST_H
#define DP_SANDBOX_TABLE_DIGEST_H

#include "cache/file_digest.h"
#include "elf/elf_file.h"

/*
 * The SHA-256 of what a file's image is made of: its unwind information, its extent, what is known of its
 * runtime, code that has its rules from its bytes, and its build id, which stands for the rest of the code;
 * without one, all of the code. A build id alone proves nothing: it does not change when a file is modified
 * later, and anyone can set one.
 */
void table_digest(const struct elf_file *file, struct file_digest *ret);

#endif
