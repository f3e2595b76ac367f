/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_FILE_HASH_H
#define DP_FORMATS_FILE_HASH_H

/* Size of a hash in hex, with its terminating zero. */
#define FILE_HASH_SIZE (2 * 16 + 1)

/*
 * The hash by which OpenTelemetry names a binary, and which any file has: the first 16 bytes of
 * the SHA-256 of its first and its last 4096 bytes and its length, 8 bytes with the highest first
 * (OpenTelemetry, Profiles Mappings, process.executable.build_id.htlhash). 0 or a negative errno.
 */
int file_hash(int fd, char ret[FILE_HASH_SIZE]);

#endif
