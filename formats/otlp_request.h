/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_OTLP_REQUEST_H
#define DP_FORMATS_OTLP_REQUEST_H

#include "formats/otlp_dictionary.h"
#include "report/report.h"
#include "report/value.h"

/*
 * A request of OpenTelemetry's profiles being made: a resource for each process, with a profile of
 * each type that it has samples of, and a sample for each stack with the same attributes.
 */

/* What the values of a profile are. */
struct otlp_type {
	const char *name, *unit;
	const char *period_name, *period_unit; /* NULL: none */
	uint64_t period;
	struct value value; /* which samples have it, and its number */
	bool has_times;     /* a time for each event, else a sum */
	bool has_values;    /* of each event; else they are 1 */
};

struct otlp_request {
	const struct report_context *context; /* the caller keeps it, and the types */
	const struct otlp_type *types;
	size_t n_types;
	struct otlp_dictionary dictionary;
	struct otlp_resource *resources;
	size_t n_samples;     /* so far */
	size_t size;          /* about: of these */
	unsigned int written; /* requests */
	uint64_t lost;        /* samples, of all processes; the first request says so */
};

/* What distinguishes the samples of a profile, besides numbers. */
struct otlp_identity {
	int32_t stack, link;
	const int32_t *attributes; /* sorted */
	size_t n_attributes;
};

/* 0 or -ENOMEM; otlp_request_done() after success. */
int otlp_request_init(struct otlp_request *r, const struct report_context *context,
		      const struct otlp_type *types, size_t n_types);
void otlp_request_done(struct otlp_request *r);

/*
 * Returns the resource of a sample: its process, and those of its labels that describe that, such
 * as `service.name` (resource_label.h). It remains after otlp_request_write(). 0 or -ENOMEM.
 */
int otlp_request_resource(struct otlp_request *r, const struct sample *sample,
			  struct otlp_resource **ret);

/* Notes that a process uses a binary. One with the process's name is taken for its program. */
void otlp_resource_use(struct otlp_resource *resource, const struct module *module);

/* Adds an event to the profile of a type, by number. 0, -ENOMEM, or -EOVERFLOW. */
int otlp_request_add(struct otlp_request *r, struct otlp_resource *resource, size_t type,
		     const struct otlp_identity *identity, uint64_t time_ns, uint64_t value);

/* The approximate size that it has when written. */
size_t otlp_request_size(const struct otlp_request *r);

/* Writes it as profiles of that duration, and begins another one. 0, -ENOMEM or -EIO. */
int otlp_request_write(struct otlp_request *r, uint64_t duration_ns, FILE *to);

#endif
