// SPDX-License-Identifier: Apache-2.0
#include "bench/recorded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"

static int read_binary(struct recording *r, const char *line)
{
	struct recorded_binary b = { 0 };
	unsigned int has_table;

	if (sscanf(line, "binary %" SCNx64 " %" SCNx64 " %u", &b.start, &b.size, &has_table) != 3)
		return -EBADMSG;
	if (array_reserve(r->binaries, r->n_binaries, r->binaries_size) < 0)
		return -ENOMEM;
	b.has_table = has_table;
	r->binaries[r->n_binaries++] = b;
	return 0;
}

static int read_sample(struct recording *r, const char *line, unsigned int process)
{
	struct recorded_sample s = { .process = process, .first = r->n_frames };
	unsigned int in_syscall;

	if (sscanf(line, "sample %" SCNx32 " %u", &s.sp, &in_syscall) != 2)
		return -EBADMSG;
	if (array_reserve(r->samples, r->n_samples, r->samples_size) < 0)
		return -ENOMEM;
	s.in_syscall = in_syscall;
	r->samples[r->n_samples++] = s;
	return 0;
}

static int read_frame(struct recording *r, const char *line)
{
	struct recorded_frame f = { 0 };
	char rule;

	if (r->n_samples == 0 ||
	    sscanf(line, "frame %u %" SCNx64 " %c %" SCNx32 " %" SCNu32 " %" SCNx32, &f.binary,
		   &f.address, &rule, &f.size, &f.below, &f.fp) != 6 ||
	    f.binary >= r->n_binaries)
		return -EBADMSG;
	if (array_reserve(r->frames, r->n_frames, r->frames_size) < 0)
		return -ENOMEM;
	f.rule = (enum recorded_rule)rule;
	r->frames[r->n_frames++] = f;
	r->samples[r->n_samples - 1].n_frames++;
	return 0;
}

int recording_read(const char *path, struct recording *ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	struct recording r = { 0 };
	unsigned int process = 0;
	char line[128];
	int err = file ? 0 : -errno;

	while (err == 0 && fgets(line, sizeof(line), file)) {
		if (line[0] == 'b')
			err = read_binary(&r, line);
		else if (line[0] == 's')
			err = read_sample(&r, line, process);
		else if (line[0] == 'f')
			err = read_frame(&r, line);
		else if (line[0] == 'p')
			process++;
		else if (line[0] != '#')
			err = -EBADMSG;
	}
	if (err < 0)
		recording_done(&r);
	else
		*ret = r;
	return err;
}

void recording_done(struct recording *r)
{
	free(r->binaries);
	free(r->frames);
	free(r->samples);
}

uint64_t recorded_lookup(const struct recording *r, const struct recorded_sample *s, size_t n)
{
	return r->frames[s->first + n].address - (n > 0 || s->in_syscall);
}
