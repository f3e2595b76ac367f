// SPDX-License-Identifier: Apache-2.0
/*
 * Reads any bytes as /proc/kallsyms. What is found at an address stands in the file, and begins
 * where the offset says.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "symbols/kallsyms.h"
#include "symbols/names.h"

/* It is in the file, and ends before these characters. */
static void check_text(const uint8_t *bytes, size_t size, const char *text, const char *ends)
{
	EXPECT(strlen(text) <= size && !strpbrk(text, ends));
	EXPECT(memmem(bytes, size, text, strlen(text)));
}

static void look_up(const struct kallsyms *kallsyms, const uint8_t *bytes, size_t size,
		    uint64_t address)
{
	uint64_t offset = 0, none = UINT64_MAX;
	const char *name = kallsyms_find(kallsyms, address, &offset);
	const char *module = kallsyms_find_module(kallsyms, address);

	if (module && strcmp(module, "bpf") != 0)
		check_text(bytes, size, module, "]\n");
	if (!name)
		return;
	check_text(bytes, size, name, "\t\n");
	EXPECT(offset < address); /* no function is at 0 */
	EXPECT(kallsyms_find(kallsyms, address - offset, &none) == name && none == 0);
	EXPECT(kallsyms_find_module(kallsyms, address - offset) == module);
}

static void check_all(const struct kallsyms *kallsyms, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size && i < 512; i++) {
		char digits[17] = "";
		uint64_t address;

		memcpy(digits, bytes + i, size - i < 16 ? size - i : 16);
		address = strtoull(digits, NULL, 16);
		look_up(kallsyms, bytes, size, address);
		look_up(kallsyms, bytes, size, address - 1);
		look_up(kallsyms, bytes, size, address + 0xfff);
	}
	look_up(kallsyms, bytes, size, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct names_options options = { 0 };
	struct kallsyms *kallsyms = NULL;
	struct names *names;
	char path[32];
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;

	EXPECT(names_new(&options, &names) == 0);
	EXPECT(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = kallsyms_new(names, path, &kallsyms);
	EXPECT(err == 0 || err == -EACCES);
	if (err == 0)
		check_all(kallsyms, bytes, size);
	kallsyms_free(kallsyms);
	names_free(names);
	close(fd);
	return 0;
}
