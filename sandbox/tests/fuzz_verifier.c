// SPDX-License-Identifier: Apache-2.0
/*
 * Answers of a verifier that was taken over. Input: how many frames are asked for (1), the error (1, signed), the
 * number of frames (2), whether the copy has ended (1), a length (1) and as many bytes of the reason, behind
 * which is the file for frames.
 */
#include <ctype.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "sandbox/verifier.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	size_t max_frames = feed_u8(&feed), left;
	struct verifier_reply reply = { .err = (int8_t)feed_u8(&feed) };
	struct second_frame *frames = calloc(max_frames + 1, sizeof(*frames));
	int file = memfd_create("fuzz", MFD_CLOEXEC), err;
	struct second_result result;
	size_t n_end;

	reply.n_frames = (uint32_t)feed_number(&feed, 2);
	reply.is_beyond_copy = feed_u8(&feed);
	n_end = feed_u8(&feed);
	for (size_t i = 0; i < n_end; i++) {
		uint8_t c = feed_u8(&feed);

		if (i < sizeof(reply.end))
			reply.end[i] = (char)c;
	}
	left = (size_t)(feed.end - feed.pos);
	EXPECT(frames && file >= 0 && write(file, feed.pos, left) == (ssize_t)left);
	err = verifier_take(&reply, file, max_frames, frames, &result);
	EXPECT(err <= 0 && (err == 0 || result.n_frames == 0));
	EXPECT(result.n_frames <= max_frames && result.n_frames * sizeof(*frames) <= left);
	for (size_t i = 0; i < result.n_frames; i++)
		EXPECT(frames[i].is_activation <= 1);
	EXPECT(memchr(result.end, '\0', sizeof(result.end)));
	for (const char *c = result.end; *c; c++)
		EXPECT(isprint((unsigned char)*c));
	free(frames);
	close(file);
	return 0;
}
