// SPDX-License-Identifier: Apache-2.0
#include "profiler/event.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

static const struct event_source *const sources[] = {
	&event_cpu,          &event_off_cpu,          &event_wall,
	&event_uprobe,       &event_page_faults,      &event_minor_faults,
	&event_major_faults, &event_context_switches, &event_cpu_migrations,
};

bool event_has_off_cpu(const struct event *event)
{
	return event->source->programs & EVENT_BIT(DP_EVENT_OFF_CPU);
}

bool event_is_mixed(const struct event *event)
{
	return event_has_off_cpu(event) && event->source->programs != EVENT_BIT(DP_EVENT_OFF_CPU);
}

unsigned int event_states(const struct event *event)
{
	if (event_is_mixed(event))
		return (1U << DP_N_STATES) - 1;
	return 1U << DP_STATE_SLEEPING | 1U << DP_STATE_DISK_SLEEP;
}

int event_parse(const char *text, struct event *ret)
{
	size_t length = strcspn(text, ":");
	const char *argument = text[length] ? text + length + 1 : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct event_source *s = sources[i];

		if (strlen(s->name) != length || strncmp(s->name, text, length) != 0 ||
		    !s->argument != !argument)
			continue;
		*ret = (struct event){ .source = s, .argument = argument };
		return s->check ? s->check(argument) : 0;
	}
	return -EINVAL;
}

void event_list(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		fprintf(to, "%s%s%s%s", i ? ", " : "", sources[i]->name,
			sources[i]->argument ? ":" : "",
			sources[i]->argument ? sources[i]->argument : "");
}
