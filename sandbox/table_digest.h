/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TABLE_DIGEST_H
#define DP_SANDBOX_TABLE_DIGEST_H

#include "cache/file_digest.h"
#include "elf/elf_file.h"

/*
 * The SHA-256 of everything that determines a file's image: its unwind information, its extent, facts of its
 * runtime, code whose rules come from its bytes, and its build id, which stands for the rest of the code.
 * Without a build id, all of the code is hashed. A build id alone proves nothing: it does not change when a
 * file is modified later, and anyone can set one.
 */
void table_digest(const struct elf_file *file, struct file_digest *ret);

#endif
