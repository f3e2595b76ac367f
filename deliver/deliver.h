/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_DELIVER_DELIVER_H
#define DP_DELIVER_DELIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Delivery to one backend: a spool that survives the process, and a thread that posts its requests in order, with
 * retries while the backend cannot accept them.
 */
struct deliver;

enum deliver_protocol {
	DELIVER_OTLP, /* OpenTelemetry's profiles: grpc:// and grpcs://, or http:// and https:// */
	DELIVER_PYROSCOPE, /* Pyroscope's push.v1: http:// and https:// */
};

/* What backends take at once: for report_parts. */
#define DELIVER_MAX_SIZE ((4U << 20) - (256U << 10))
#define DELIVER_MAX_SAMPLES 16000U

/* NULL, 0 or false: not used. The caller may free everything after deliver_open(). */
struct deliver_options {
	enum deliver_protocol protocol;
	const char *url;            /* without a path, the protocol's is used */
	const char *const *headers; /* "Name: value" */
	size_t n_headers;
	const char *ca_file, *certificate_file, *key_file; /* PEM */
	bool insecure;          /* do not verify the server's certificate */
	const char *token_file; /* a bearer token; read at each request, as the password is */
	const char *user, *password_file;
	const char *tenant;   /* X-Scope-OrgID */
	const char *spool;    /* directory, of this backend alone; NULL: in memory */
	uint64_t spool_bytes; /* its largest size */
	/*
	 * A request that has failed for so long is given up if the backend takes others; 0: ten
	 * minutes.
	 */
	uint64_t patience_ns;
};

/*
 * Posts by other options from now on, of the same protocol, without a pause for what waits. The
 * spool gets another size, but stays where it is. As deliver_open().
 */
int deliver_configure(struct deliver *d, const struct deliver_options *options);

struct deliver_label {
	const char *name, *value;
};

struct deliver_counts {
	/* Requests: refused or given up; without room */
	uint64_t delivered, failed, dropped;
	uint64_t retried, rejected;      /* attempts; profiles that a backend did not want */
	uint64_t spooled, spooled_bytes; /* now */
	uint64_t sent_bytes, latency_ns; /* of delivered ones together */
	/* What is in them, as deliver_put() was told */
	uint64_t delivered_events, failed_events, dropped_events, spooled_events;
};

/* Why the last failed attempt failed. Without the backend's own words, which may repeat a credential. */
struct deliver_error {
	uint64_t real_ns; /* 0: none has */
	char text[128];
};

/* 0 or a negative errno: -EINVAL for the URL, -EBUSY if another process uses the spool, -ENOSYS
 * without libcurl. */
int deliver_open(const struct deliver_options *options, struct deliver **ret);

/*
 * Puts a request for OpenTelemetry, uncompressed, into the spool; it will be delivered even if the
 * process is killed after this. The oldest ones make room. Any thread. n_events: what its samples stand for.
 * 0 or a negative errno, with which it counts as dropped.
 */
int deliver_put(struct deliver *d, const void *request, size_t size, uint64_t n_events);

/*
 * The same of a pprof file for Pyroscope. Its labels have to have `service_name` and `__name__`; id
 * is 16 bytes that identify it.
 */
int deliver_put_pprof(struct deliver *d, const void *file, size_t size, uint64_t n_events,
		      const uint8_t id[16], const struct deliver_label *labels, size_t n);

/* Never blocks, even if the spool's disk or the backend hangs. */
void deliver_counts(struct deliver *d, struct deliver_counts *ret);
void deliver_last_error(struct deliver *d, struct deliver_error *ret);

/*
 * Delivers what the backend accepts at once within time_ns, and frees
 * everything. Returns how many requests are left, which stay in the spool if that is a directory.
 * Accepts NULL.
 */
uint64_t deliver_stop(struct deliver *d, uint64_t time_ns);

#endif
