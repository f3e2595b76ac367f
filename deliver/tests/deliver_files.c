// SPDX-License-Identifier: Apache-2.0
/*
 * usage: deliver_files KEY=VALUE... < COMMANDS
 *
 * Delivers files with the options of these keys, for tests. Commands: `put FILE`, `pprof FILE
 * SERVICE`, `counts`, `stop MS`. Each answers with a line of JSON.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "deliver/deliver.h"

static const struct {
	const char *key;
	size_t at;
} texts[] = {
	{ "url", offsetof(struct deliver_options, url) },
	{ "ca", offsetof(struct deliver_options, ca_file) },
	{ "certificate", offsetof(struct deliver_options, certificate_file) },
	{ "key", offsetof(struct deliver_options, key_file) },
	{ "token", offsetof(struct deliver_options, token_file) },
	{ "user", offsetof(struct deliver_options, user) },
	{ "password", offsetof(struct deliver_options, password_file) },
	{ "tenant", offsetof(struct deliver_options, tenant) },
	{ "spool", offsetof(struct deliver_options, spool) },
};

static const char *headers[8];

static void set_option(struct deliver_options *o, char *argument)
{
	char *value = strchr(argument, '=');

	if (!value)
		exit(2);
	*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(texts[i].key, argument) == 0)
			*(const char **)(void *)((char *)o + texts[i].at) = value;
	if (strcmp(argument, "protocol") == 0)
		o->protocol = strcmp(value, "pyroscope") == 0 ? DELIVER_PYROSCOPE : DELIVER_OTLP;
	if (strcmp(argument, "bytes") == 0)
		o->spool_bytes = strtoull(value, NULL, 10);
	if (strcmp(argument, "patience_ms") == 0)
		o->patience_ns = strtoull(value, NULL, 10) * 1000000;
	if (strcmp(argument, "insecure") == 0)
		o->insecure = true;
	if (strcmp(argument, "header") == 0 && o->n_headers < ARRAY_SIZE(headers))
		headers[o->n_headers++] = value;
}

static char *read_file(const char *path, size_t *ret_size)
{
	_cleanup_fclose_ FILE *file = fopen(path, "r");
	char *data = malloc(64 << 20);

	if (!file || !data)
		exit(2);
	*ret_size = fread(data, 1, 64 << 20, file);
	return data;
}

static int put(struct deliver *d, const char *path, const char *service)
{
	const struct deliver_label labels[] = { { "__name__", "process_cpu" },
						{ "service_name", service } };
	static uint8_t id[16];
	size_t size;
	_cleanup_free_ char *data = read_file(path, &size);

	id[15]++;
	return service ? deliver_put_pprof(d, data, size, 1, id, labels, 2) :
			 deliver_put(d, data, size, 1);
}

static void print_counts(struct deliver *d)
{
	struct deliver_counts c;

	deliver_counts(d, &c);
	printf("{\"delivered\": %" PRIu64 ", \"failed\": %" PRIu64 ", \"dropped\": %" PRIu64
	       ", \"retried\": %" PRIu64 ", \"rejected\": %" PRIu64 ", \"spooled\": %" PRIu64
	       ", \"spooled_bytes\": %" PRIu64 ", \"sent_bytes\": %" PRIu64
	       ", \"latency_ns\": %" PRIu64 "}\n",
	       c.delivered, c.failed, c.dropped, c.retried, c.rejected, c.spooled, c.spooled_bytes,
	       c.sent_bytes, c.latency_ns);
}

int main(int argc, char **argv)
{
	struct deliver_options options = { .spool_bytes = 64 << 20, .headers = headers };
	char line[8192], *words[3];
	struct deliver *d;
	int err;

	for (int i = 1; i < argc; i++)
		set_option(&options, argv[i]);
	err = deliver_open(&options, &d);
	printf("{\"error\": %d}\n", err);
	fflush(stdout);
	while (err == 0 && fgets(line, sizeof(line), stdin)) {
		char *rest = line;

		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			words[i] = strsep(&rest, " \n");
		if (strcmp(words[0], "counts") == 0)
			print_counts(d);
		else if (strcmp(words[0], "put") == 0)
			printf("{\"error\": %d}\n", put(d, words[1], NULL));
		else if (strcmp(words[0], "pprof") == 0)
			printf("{\"error\": %d}\n", put(d, words[1], words[2]));
		else
			break;
		fflush(stdout);
	}
	if (err == 0)
		deliver_stop(d, strtoull(words[1] ? words[1] : "0", NULL, 10) * 1000000);
	return err < 0;
}
