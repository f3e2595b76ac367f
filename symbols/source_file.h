/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_SOURCE_FILE_H
#define DP_SYMBOLS_SOURCE_FILE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The text of source files. Binaries choose the names, so a name may be that of any file, also on a file system that
 * does not answer.
 */
struct names;

/*
 * Copies the text of the file with an absolute path to the beginning of another one. Of a regular file
 * alone, and as much as its size says: those of the kernel have 0, and to read some has effects. Unless
 * `links`, there is no symbolic link on the way (linkless_file_open()). Returns how many bytes, -ESTALE if it is no
 * regular file, -EFBIG, or another negative errno. May wait.
 */
int source_file_copy(const char *path, bool links, int to);

/*
 * The same by who reads the names, if it is not this process, into memory. Returns a descriptor, or
 * an error as above or of name_reader.copy_source.
 */
int source_file_open(const struct names *names, const char *path);

#endif
