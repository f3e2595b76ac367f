// SPDX-License-Identifier: Apache-2.0
#include "go/build_info.h"

#include <string.h>

/*
 *   0                                14         15      16            32
 *   +--------------------------------+----------+-------+-------------+------------------------
 *   | "\xff Go buildinf:"            | 8 (size  | flags | addresses,  | size (7 bits in a byte),
 *   |                                | of words)|       | not used    | and "go1.26.8"; more
 *   +--------------------------------+----------+-------+-------------+------------------------
 */
#define MAGIC "\xff Go buildinf:"
#define MAGIC_SIZE 14
#define FLAGS_AT 15
#define TEXT_AT 32
#define ALIGN 16
#define HAS_TEXT 2

/* In developers' versions: "devel go1.27-f00d". */
#define VERSION "go1."

static unsigned int minor_of(const char *text, size_t size)
{
	const char *at = memmem(text, size, VERSION, strlen(VERSION)), *end = text + size;
	unsigned int minor = 0;

	for (at = at ? at + strlen(VERSION) : end; at < end && *at >= '0' && *at <= '9'; at++) {
		minor = minor * 10 + (unsigned int)(*at - '0');
		if (minor > 1000)
			return 0;
	}
	return minor;
}

unsigned int build_info_minor(const uint8_t *bytes, size_t size, uint64_t address)
{
	unsigned int minor = 0;

	for (uint64_t at = -address & (ALIGN - 1); size >= TEXT_AT + 1 && at < size - TEXT_AT;
	     at += ALIGN) {
		const uint8_t *info = bytes + at;
		uint8_t length = info[TEXT_AT];

		if (memcmp(info, MAGIC, MAGIC_SIZE) != 0 || !(info[FLAGS_AT] & HAS_TEXT))
			continue;
		/* No version has more than 127 bytes. */
		if (length < 0x80 && length < size - at - TEXT_AT)
			minor = minor_of((const char *)info + TEXT_AT + 1, length);
		if (minor > 0)
			return minor;
	}
	return 0;
}
