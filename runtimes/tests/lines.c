// SPDX-License-Identifier: Apache-2.0
/*
 * Reads code objects, one a line: VERSION FIRST-LINE N TABLE, in hex but for FIRST-LINE and N. Prints the
 * lines of N instructions of two bytes of each. For check_lines.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/python/python.h"

int main(void)
{
	static char hex[1 << 20];
	static uint8_t table[sizeof(hex) / 2];
	unsigned int version, n;
	int first;

	while (scanf("%x %d %u %1048575s", &version, &first, &n, hex) == 4) {
		size_t size = strcmp(hex, "-") == 0 ? 0 : strlen(hex) / 2;

		for (size_t i = 0; i < size; i++)
			if (sscanf(hex + 2 * i, "%2hhx", &table[i]) != 1)
				return EXIT_FAILURE;
		for (unsigned int i = 0; i < n; i++)
			printf("%u ", python_line(version, table, size, first, 2 * (int64_t)i));
		putchar('\n');
	}
	return EXIT_SUCCESS;
}
