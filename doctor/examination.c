// SPDX-License-Identifier: Apache-2.0
#include "doctor/examination.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

struct finding *examination_add(struct examination *e, const char *what, enum finding_state state,
				const char *need)
{
	struct doctor *d = e->doctor;
	struct finding *f;

	if (e->err < 0 || array_reserve(d->findings, d->n, d->size) < 0) {
		e->err = -ENOMEM;
		return &e->nowhere;
	}
	f = &d->findings[d->n];
	*f = (struct finding){ e->group, strdup(what), NULL, state, strdup(need), NULL };
	d->n++;
	if (!f->what || !f->need) {
		e->err = -ENOMEM;
		return &e->nowhere;
	}
	return f;
}

void examination_set(struct examination *e, char **to, const char *format, ...)
{
	va_list args;

	if (e->err < 0)
		return;
	va_start(args, format);
	if (vasprintf(to, format, args) < 0) {
		*to = NULL;
		e->err = -ENOMEM;
	}
	va_end(args);
}

bool examination_has(const struct examination *e, int capability)
{
	if (!e->users)
		return false;
	if (capability_in(e->caps.effective, capability))
		return true;
	switch (capability) {
	case CAP_BPF:
	case CAP_PERFMON:
	case CAP_CHECKPOINT_RESTORE:
		return capability_in(e->caps.effective, CAP_SYS_ADMIN);
	}
	return false;
}

void examination_advise(struct examination *e, struct finding *f, int capability)
{
	_cleanup_free_ char *command = NULL;

	if (!e->users) {
		examination_set(e, &f->fix, "docker run --userns=host ...");
		return;
	}
	if (!capability_in(e->caps.bounding, capability)) {
		examination_set(e, &f->fix,
				"docker run --cap-add=%s ... (this container may not have it)",
				capability_name(capability) + strlen("CAP_"));
		return;
	}
	/*
	 * setcap replaces the file's whole set, so each command includes the capabilities advised
	 * earlier.
	 */
	e->advised |=
		UINT64_C(1) << CAP_BPF | UINT64_C(1) << CAP_PERFMON | UINT64_C(1) << capability;
	command = capability_command(e->caps.effective | e->advised);
	if (!command)
		e->err = -ENOMEM;
	else
		examination_set(e, &f->fix, "%s", command);
}

/* A short word, to keep lines short. */
static const char *error_word(int err)
{
	const char *name = strerrorname_np(-err);

	if (err == -ENOSYS)
		return "not in this kernel";
	if (err == -EPERM || err == -EACCES)
		return "refused";
	return name ? name : "failed";
}

struct finding *examination_try(struct examination *e, const char *what, int err,
				enum finding_state without, const char *need)
{
	bool forbidden = (err == -EPERM || err == -EACCES) &&
			 !(examination_has(e, CAP_BPF) && examination_has(e, CAP_PERFMON));
	struct finding *f = examination_add(e, what,
					    err == 0  ? FINDING_OK :
					    forbidden ? FINDING_UNKNOWN :
							without,
					    need);

	if (forbidden)
		examination_set(e, &f->value, "(not permitted)");
	else if (err < 0)
		examination_set(e, &f->value, "(%s)", error_word(err));
	if (err == -EPERM && !forbidden)
		examination_set(e, &f->fix,
				"docker run --security-opt seccomp=unconfined ..., or see dmesg: "
				"something refuses it");
	return f;
}
