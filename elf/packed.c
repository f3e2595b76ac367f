// SPDX-License-Identifier: Apache-2.0
#include "elf/packed.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "limits/limits.h"
#include "log/log.h"

/*
 * What UPX writes to a file, little-endian (its src/stub/src/include/linux.h and src/p_unix.cpp).
 * It precedes the packed data and describes the unpacking code and the packed file. In a program it
 * follows the program headers.
 */
struct upx_info {
	uint32_t sum;
	uint8_t magic[4];
	uint16_t unpacker_size;
	uint8_t version, format;
	uint32_t program, file_size, block_size;
};

#define UPX_MAGIC "UPX!"
#define UPX_FORMAT_ELF64_AMD64 22

/*
 * The end of a packed file (src/packhead.cpp). Libraries are unpacked from there, as their program
 * headers are followed by something else.
 */
struct upx_end {
	uint8_t magic[4];
	uint8_t version, format, method, level;
	uint8_t sums_and_sizes[20], filters[4];
	uint32_t data; /* its offset, that of `program` above */
};

_Static_assert(sizeof(struct upx_info) == 24 && sizeof(struct upx_end) == 36, "as in the file");

struct file {
	const uint8_t *bytes;
	size_t size;
};

static bool read_at(const struct file *file, uint64_t offset, void *ret, size_t size)
{
	if (offset > file->size || size > file->size - offset)
		return false;
	memcpy(ret, file->bytes + offset, size);
	return true;
}

static bool is_upx_at(const struct file *file, uint64_t offset)
{
	struct upx_info info;

	return read_at(file, offset, &info, sizeof(info)) &&
	       memcmp(info.magic, UPX_MAGIC, sizeof(info.magic)) == 0 &&
	       info.format == UPX_FORMAT_ELF64_AMD64 && info.file_size > 0 && info.block_size > 0;
}

static bool ends_as_upx(const struct file *file)
{
	const uint64_t before = offsetof(struct upx_info, program);
	struct upx_end end;

	return file->size >= sizeof(end) &&
	       read_at(file, file->size - sizeof(end), &end, sizeof(end)) &&
	       memcmp(end.magic, UPX_MAGIC, sizeof(end.magic)) == 0 &&
	       is_upx_at(file, end.data - before);
}

const char *packed_by(const void *bytes, size_t size)
{
	const struct file file = { bytes, size };
	Elf64_Ehdr header;

	if (!read_at(&file, 0, &header, sizeof(header)))
		return NULL;
	if (is_upx_at(&file, header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize) ||
	    ends_as_upx(&file))
		return "UPX";
	return NULL;
}

static bool is_reported(struct packed_reported *reported, dev_t device, ino_t inode)
{
	for (size_t i = 0; i < reported->n; i++)
		if (reported->programs[i].device == device && reported->programs[i].inode == inode)
			return true;
	if (reported->n == PACKED_MAX_REPORTED)
		return true;
	reported->programs[reported->n].device = device;
	reported->programs[reported->n++].inode = inode;
	return false;
}

void packed_report(struct packed_reported *reported, const char *packer, dev_t device, ino_t inode,
		   pid_t pid, const char *path)
{
	if (packer[0] == '\0' || is_reported(reported, device, inode))
		return;
	log_warning("process %d runs %s, which is packed by %s: its code is only in memory, and "
		    "stacks end there; `upx -d` unpacks the file",
		    pid, path, packer);
}
