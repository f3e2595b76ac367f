// SPDX-License-Identifier: Apache-2.0
#include "report/frame_kind.h"

static const struct {
	const char *word, *otel_word;
	enum dp_method method; /* of a language */
} kinds[FRAME_N_KINDS] = { [FRAME_NATIVE] = { "native", "native" },
			   [FRAME_KERNEL] = { "kernel", "kernel" },
#define X(name, word, otel, method, firefox, red, green, blue)                                     \
	[FRAME_##name] = { word, otel, method },
			   FRAME_LANGUAGES(X)
#undef X
};

enum frame_kind frame_kind(const struct frame *frame)
{
	enum dp_method method = frame_is_near(frame) ? DP_METHOD_JAVA : frame->method;

	for (int i = FRAME_FIRST_LANGUAGE; i < FRAME_N_KINDS; i++)
		if (method == kinds[i].method)
			return (enum frame_kind)i;
	return FRAME_NATIVE;
}

const char *frame_kind_word(enum frame_kind kind)
{
	return kinds[kind].word;
}

const char *frame_kind_otel_word(enum frame_kind kind)
{
	return kinds[kind].otel_word;
}

bool frame_kind_of_sample(const struct sample *sample, enum frame_kind *ret)
{
	bool is_blocked = sample->event == DP_EVENT_OFF_CPU;

	if (sample->n_kernel > 0 && !(is_blocked && sample->n_user > 0))
		*ret = FRAME_KERNEL;
	else if (sample->n_user > 0)
		*ret = frame_kind(&sample->user[0]);
	return sample->n_kernel > 0 || sample->n_user > 0;
}
