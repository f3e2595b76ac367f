// SPDX-License-Identifier: Apache-2.0
#include "recording/block_stream.h"

#include <endian.h>
#include <errno.h>

/* Without zlib's own header and checksum (zlib.h, inflateInit2). */
#define WINDOW_BITS (-15)
#define MEMORY_LEVEL 8

static uint32_t head_crc(const struct block_head *head, const uint8_t *data, size_t size)
{
	uLong crc = crc32(0, (const Bytef *)head, offsetof(struct block_head, crc));

	return (uint32_t)crc32(crc, data, (uInt)size);
}

/* Makes room for `size` more bytes. */
static int bytes_make_room(struct bytes *b, size_t size)
{
	uint8_t *grown;

	if (size <= b->room - b->size)
		return 0;
	grown = realloc(b->data, b->size + size);
	if (!grown)
		return -ENOMEM;
	b->data = grown;
	b->room = b->size + size;
	return 0;
}

int block_writer_init(struct block_writer *w, FILE *to)
{
	*w = (struct block_writer){ .to = to };
	if (deflateInit2(&w->deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	w->begun = true;
	return 0;
}

void block_writer_done(struct block_writer *w)
{
	if (w->begun)
		deflateEnd(&w->deflate);
	bytes_done(&w->raw);
	bytes_done(&w->packed);
}

/* Compresses the pending bytes up to a byte boundary. */
static int block_pack(struct block_writer *w)
{
	z_stream *z = &w->deflate;
	int err;

	w->packed.size = 0;
	z->next_in = w->raw.data;
	z->avail_in = (uInt)w->raw.size;
	do {
		/* deflate() has flushed everything if it leaves room. */
		err = bytes_make_room(&w->packed, BLOCK_SIZE / 2);
		if (err < 0)
			return err;
		z->next_out = w->packed.data + w->packed.size;
		z->avail_out = (uInt)(w->packed.room - w->packed.size);
		deflate(z, Z_SYNC_FLUSH);
		w->packed.size = w->packed.room - z->avail_out;
	} while (z->avail_out == 0);
	return 0;
}

int block_writer_flush(struct block_writer *w)
{
	struct block_head head;
	int err;

	if (w->raw.failed)
		return -ENOMEM;
	if (w->raw.size == 0)
		return 0;
	err = block_pack(w);
	if (err < 0)
		return err;
	head.size = htole32((uint32_t)w->packed.size);
	head.raw_size = htole32((uint32_t)w->raw.size);
	head.crc = htole32(head_crc(&head, w->packed.data, w->packed.size));
	w->raw.size = 0;
	errno = 0;
	if (fwrite(&head, sizeof(head), 1, w->to) != 1 ||
	    fwrite(w->packed.data, 1, w->packed.size, w->to) != w->packed.size ||
	    fflush(w->to) != 0)
		return errno ? -errno : -EIO;
	return 0;
}

int block_reader_init(struct block_reader *r, FILE *from, uint64_t position)
{
	*r = (struct block_reader){ .from = from, .position = position };
	if (inflateInit2(&r->inflate, WINDOW_BITS) != Z_OK)
		return -ENOMEM;
	r->begun = true;
	return 0;
}

void block_reader_done(struct block_reader *r)
{
	if (r->begun)
		inflateEnd(&r->inflate);
	bytes_done(&r->raw);
	bytes_done(&r->packed);
}

/* The compressed bytes must give exactly raw_size bytes. */
static int block_unpack(struct block_reader *r)
{
	z_stream *z = &r->inflate;

	z->next_in = r->packed.data;
	z->avail_in = (uInt)r->packed.size;
	z->next_out = r->raw.data;
	z->avail_out = (uInt)r->raw.size;
	if (inflate(z, Z_SYNC_FLUSH) != Z_OK || z->avail_in > 0 || z->avail_out > 0)
		return -EBADMSG;
	return 0;
}

/* Returns 1; 0 at the end of the file; -ENODATA if it ends before `size` bytes. */
static int read_all(FILE *from, void *to, size_t size)
{
	size_t n;

	errno = 0;
	n = fread(to, 1, size, from);
	if (n == size)
		return 1;
	if (ferror(from))
		return errno ? -errno : -EIO;
	return n == 0 ? 0 : -ENODATA;
}

int block_reader_next(struct block_reader *r, struct view *ret)
{
	struct block_head head;
	uint32_t size, raw_size;
	int err;

	err = read_all(r->from, &head, sizeof(head));
	if (err <= 0)
		return err;
	size = le32toh(head.size);
	raw_size = le32toh(head.raw_size);
	if (size == 0 || size > BLOCK_MAX || raw_size == 0 || raw_size > BLOCK_MAX)
		return -EBADMSG;
	r->packed.size = r->raw.size = 0;
	if (bytes_make_room(&r->packed, size) < 0 || bytes_make_room(&r->raw, raw_size) < 0)
		return -ENOMEM;
	r->packed.size = size;
	r->raw.size = raw_size;
	err = read_all(r->from, r->packed.data, size);
	if (err <= 0)
		return err < 0 ? err : -ENODATA;
	if (head_crc(&head, r->packed.data, size) != le32toh(head.crc))
		return -EBADMSG;
	err = block_unpack(r);
	if (err < 0)
		return err;
	r->position += sizeof(head) + size;
	*ret = (struct view){ .pos = r->raw.data, .end = r->raw.data + raw_size };
	return 1;
}
