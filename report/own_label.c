// SPDX-License-Identifier: Apache-2.0
#include "report/own_label.h"

#include <string.h>

#include "base/array.h"
#include "report/frame_kind.h"
#include "report/outcome.h"
#include "report/profile.h"

static bool get_cpu(const struct sample *sample, struct label *ret)
{
	ret->number = sample->cpu;
	return true;
}

static bool get_pid(const struct sample *sample, struct label *ret)
{
	ret->number = sample->pid;
	return true;
}

static bool get_tid(const struct sample *sample, struct label *ret)
{
	ret->number = sample->tid;
	return !sample->is_folded;
}

static bool get_comm(const struct sample *sample, struct label *ret)
{
	ret->text = sample->comm;
	return true;
}

static bool get_thread_name(const struct sample *sample, struct label *ret)
{
	ret->text = sample->thread_name;
	return true;
}

static bool get_outcome(const struct sample *sample, struct label *ret)
{
	ret->text = outcome_word(sample->outcome);
	return !sample->is_folded;
}

static bool get_state(const struct sample *sample, struct label *ret)
{
	ret->text = state_text(sample->state);
	return sample->event == DP_EVENT_OFF_CPU && !sample->is_folded;
}

static bool get_language(const struct sample *sample, struct label *ret)
{
	enum frame_kind kind;
	bool has_kind = frame_kind_of_sample(sample, &kind);

	ret->text = has_kind ? frame_kind_word(kind) : NULL;
	return has_kind;
}

static const struct own_label rows[] = {
	{ "cpu", PROFILE_CPU, NULL, get_cpu },
	{ "pid", PROFILE_THREAD, NULL, get_pid },
	{ "tid", PROFILE_THREAD, NULL, get_tid },
	{ "comm", 0, NULL, get_comm },
	{ "thread_name", PROFILE_THREAD, NULL, get_thread_name },
	{ "outcome", 0, "complete", get_outcome },
	{ "state", 0, NULL, get_state },
	{ "language", 0, "native", get_language },
};

const struct own_label *own_label(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : NULL;
}

bool own_label_get(const struct own_label *own, const struct sample *sample, struct label *ret)
{
	*ret = (struct label){ .key = own->key, .unit = "" };
	return own->get(sample, ret);
}

bool own_label_is_usual(const struct own_label *own, const struct label *label)
{
	return own->usual && label->text && strcmp(label->text, own->usual) == 0;
}

bool own_label_has_key(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (strcmp(rows[i].key, key) == 0)
			return true;
	return false;
}
