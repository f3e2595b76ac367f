// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of peers that add, change and list probes, which the process with the privileges reads. Input: whose they
 * are (1: root's, if even), then lines.
 */
#include <fcntl.h>

#include "cfi/tests/fuzz.h"
#include "probes/probe_manager.h"
#include "probes/probe_peer.h"
#include "probes/probe_request.h"
#include "probes/tests/probe_world.h"
#include "samples/call_table.h"
#include "samples/value_table.h"

#define OTHER 1000
/* This program, which has the function of ask_for_one(). */
#define A_BINARY "/proc/self/exe"

/* Sets a probe, if it is root's: else it would show nothing that others' are refused. */
static void ask_for_one(struct probe_manager *manager, struct probe_peer *peer)
{
	json_t *answer;

	strcpy(peer->text, "{\"do\":\"add\",\"kind\":\"uprobe\",\"path\":\"" A_BINARY
			   "\",\"probe\":\"LLVMFuzzerTestOneInput\"}");
	answer = probe_request_answer(manager, peer);
	EXPECT(!json_object_get(answer, "id") == (peer->who.uid != 0));
	json_decref(answer);
}

static void ask(struct probe_manager *manager, struct probe_peer *peer, struct feed *feed)
{
	const size_t left = (size_t)(feed->end - feed->pos);
	const uint8_t *end = memchr(feed->pos, '\n', left);
	size_t size = end ? (size_t)(end - feed->pos) : left;
	json_t *answer;

	size = size < PROBE_REQUEST_MAX ? size : PROBE_REQUEST_MAX;
	memcpy(peer->text, feed->pos, size);
	peer->text[size] = '\0';
	feed->pos += size < left ? size + 1 : size;
	answer = probe_request_answer(manager, peer);
	/* Others than root can prove nothing here. */
	EXPECT(json_is_object(answer));
	EXPECT(peer->who.uid == 0 || !json_object_get(answer, "id"));
	json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	struct probe_peer peer = {
		.fd = -1,
		.file = open(A_BINARY, O_PATH | O_CLOEXEC),
		.given[0].is_readable = true,
		.n_given = 1,
	};
	static bool has_asked[2];
	struct probe_manager *manager;
	struct probe_slots *kernel;
	struct value_table *values;
	struct call_table *calls;

	peer.who.uid = feed_u8(&feed) % 2 == 0 ? 0 : OTHER;
	EXPECT(peer.file >= 0 && probe_slots_new(NULL, &kernel) == 0);
	EXPECT(value_table_new(&values) == 0 && call_table_new(&calls) == 0);
	EXPECT(probe_manager_new(kernel, NULL, values, calls, &manager) == 0);
	if (!has_asked[peer.who.uid == 0])
		ask_for_one(manager, &peer);
	has_asked[peer.who.uid == 0] = true;
	while (feed.pos < feed.end)
		ask(manager, &peer, &feed);
	probe_manager_free(manager);
	call_table_free(calls);
	value_table_free(values);
	close(peer.file);
	return 0;
}
