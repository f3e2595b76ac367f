// SPDX-License-Identifier: Apache-2.0
#include "symbols/tests/mutation.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

static void add_region(struct original *o, uint64_t start, uint64_t size)
{
	if (o->n_regions == MAX_REGIONS - 1 || start >= o->size || size == 0)
		return;
	if (size > o->size - start)
		size = o->size - start;
	o->regions[o->n_regions++] = (struct region){ start, size };
}

static void find_regions(struct original *o)
{
	Elf64_Ehdr e;

	memcpy(&e, o->data, sizeof(e));
	add_region(o, 0, sizeof(e));
	add_region(o, e.e_phoff, (uint64_t)e.e_phnum * sizeof(Elf64_Phdr));
	add_region(o, e.e_shoff, (uint64_t)e.e_shnum * sizeof(Elf64_Shdr));
	for (int i = 0; i < e.e_shnum; i++) {
		uint64_t at = e.e_shoff + (uint64_t)i * sizeof(Elf64_Shdr);
		Elf64_Shdr s;

		if (at > o->size || sizeof(s) > o->size - at)
			break;
		memcpy(&s, o->data + at, sizeof(s));
		/* Nearly all of the read-only PROGBITS sections are unwind information. */
		if (s.sh_type == SHT_NOTE || s.sh_type == SHT_DYNSYM || s.sh_type == SHT_STRTAB ||
		    s.sh_type == SHT_X86_64_UNWIND ||
		    (s.sh_type == SHT_PROGBITS && s.sh_flags == SHF_ALLOC) ||
		    /* Sections that are not loaded have debug information. */
		    (s.sh_type == SHT_PROGBITS && !(s.sh_flags & SHF_ALLOC)))
			add_region(o, s.sh_offset, s.sh_size);
	}
	o->regions[o->n_regions++] = (struct region){ 0, o->size };
}

int original_init(struct original *ret, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ uint8_t *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(Elf64_Ehdr))
		return -1;
	data = malloc((size_t)st.st_size);
	if (!data || read(fd, data, (size_t)st.st_size) != st.st_size ||
	    memcmp(data, ELFMAG, SELFMAG) != 0 || data[EI_CLASS] != ELFCLASS64)
		return -1;
	*ret = (struct original){ .data = steal_ptr(data), .size = (size_t)st.st_size };
	find_regions(ret);
	return 0;
}

void original_done(struct original *original)
{
	free(original->data);
}

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators (SplitMix64). */
static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* A random number below n; 0 if n is 0. */
static size_t below(uint64_t *state, size_t n)
{
	return n ? next(state) % n : 0;
}

static struct region some_region(const struct original *o, uint64_t *state)
{
	return o->regions[below(state, o->n_regions)];
}

/* A random offset in the mutant, which may be truncated. */
static size_t some_place(const struct mutant *m, const struct original *o, uint64_t *state,
			 size_t align)
{
	struct region r = some_region(o, state);
	size_t at = (r.start + below(state, r.size)) & ~(align - 1);

	return at < m->size ? at : below(state, m->size);
}

static void flip_bits(struct mutant *m, const struct original *o, uint64_t *state)
{
	for (size_t n = 1 + below(state, 8); n > 0; n--)
		m->data[some_place(m, o, state, 1)] ^= (uint8_t)(1 << below(state, 8));
}

static void overwrite_bytes(struct mutant *m, const struct original *o, uint64_t *state)
{
	size_t at = some_place(m, o, state, 1), n = 1 + below(state, 16);

	for (; n > 0 && at < m->size; n--, at++)
		m->data[at] = (uint8_t)next(state);
}

/* A field of 2, 4 or 8 bytes; all those of the ELF format are aligned. */
static void set_extreme(struct mutant *m, const struct original *o, uint64_t *state)
{
	size_t width = 2UL << below(state, 3), at = some_place(m, o, state, width);
	uint64_t power = UINT64_C(1) << below(state, 64), any = next(state) >> below(state, 64);
	const uint64_t extremes[] = {
		0,
		1,
		UINT64_MAX,
		UINT64_MAX - 1,
		INT64_MAX,
		(uint64_t)INT64_MAX + 1,
		UINT32_MAX,
		INT32_MAX,
		0xfffffff0,
		m->size,
		m->size - 1,
		m->size + 1,
		m->size - at,
		m->size - at - width,
		UINT64_MAX - m->size,
		power,
		any,
	};
	uint64_t value = extremes[below(state, ARRAY_SIZE(extremes))];

	if (at < m->size && width <= m->size - at)
		memcpy(m->data + at, &value, width);
}

static void truncate_file(struct mutant *m, const struct original *o, uint64_t *state)
{
	size_t size = some_place(m, o, state, 1);

	if (below(state, 4) == 0)
		m->size = size;
}

/* Copies a piece of this or another file over something else. */
static void copy_piece(struct mutant *m, const struct original *o, const struct original *from,
		       uint64_t *state)
{
	struct region source = some_region(from, state), target = some_region(o, state);
	size_t n = 1 + below(state, source.size), skip = below(state, source.size - n + 1);

	if (below(state, 2))
		target.start += below(state, target.size);
	if (target.start >= m->size)
		return;
	if (n > m->size - target.start)
		n = m->size - target.start;
	memcpy(m->data + target.start, from->data + source.start + skip, n);
}

void mutant_init(struct mutant *ret, const struct original *originals, size_t n, uint64_t seed,
		 uint64_t number)
{
	uint64_t state = seed * 0xd1342543de82ef95 + number;
	const struct original *o = &originals[below(&state, n)];
	struct mutant m = { malloc(o->size), o->size };
	uint8_t *cut;

	if (!m.data)
		abort();
	memcpy(m.data, o->data, o->size);
	for (size_t i = 1 + below(&state, 4); i > 0 && m.size > 0; i--) {
		switch (below(&state, 6)) {
		case 0:
			flip_bits(&m, o, &state);
			break;
		case 1:
			overwrite_bytes(&m, o, &state);
			break;
		case 2:
		case 3:
			set_extreme(&m, o, &state);
			break;
		case 4:
			truncate_file(&m, o, &state);
			break;
		default:
			copy_piece(&m, o, &originals[below(&state, n)], &state);
		}
	}
	/* Allocates exactly the size, so that a sanitizer detects reads beyond the end. */
	cut = realloc(m.data, m.size ? m.size : 1);
	if (!cut)
		abort();
	m.data = cut;
	*ret = m;
}

void mutant_done(struct mutant *mutant)
{
	free(mutant->data);
}
