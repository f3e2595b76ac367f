// SPDX-License-Identifier: Apache-2.0
#include "samples/labels.h"

#include <errno.h>

#include "base/array.h"
#include "samples/redaction.h"

static const struct label_source *const sources[] = {
	&label_go,
	&label_crash,
	&label_custom,
	&label_trace,
};

bool label_was_looked_for(const struct label_context *c, unsigned int forms)
{
	return c->sample->n_user == 0 || !c->walked ||
	       binary_has_labels(snapshot_labelled(c->in_kernel), forms) ||
	       !snapshot_has_labels(c->walked, forms);
}

int label_add_record(const struct dp_labels *labels, struct label_list *list)
{
	int err = labels ? label_list_add_raw(list, labels) : 0;

	list->is_cut |= err == -EBADMSG;
	return err == -EBADMSG ? 0 : err;
}

static int add_labels(const struct label_source *const *items, size_t n,
		      const struct label_context *context, struct label_list *list)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < n; i++)
		err = items[i]->add(items[i], context, list);
	return err;
}

int labels_new(const struct label_sources *host, const struct label_context *context,
	       struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	int err = add_labels(sources, ARRAY_SIZE(sources), context, &list);

	*ret = NULL;
	if (err == 0)
		err = add_labels(host->items, host->n, context, &list);
	if (err == 0 && host->values)
		err = host->values->source.add(&host->values->source, context, &list);
	if (err == 0 && host->redaction)
		err = redaction_apply(host->redaction, &list);
	if (err == 0 && host->metrics)
		err = host->metrics->add(host->metrics, context, &list);
	if (err == 0 && host->event)
		err = host->event->add(host->event, context, &list);
	if (err < 0 || (list.n == 0 && !list.is_cut))
		return err;
	return label_set_new(&list, ret);
}
