// SPDX-License-Identifier: Apache-2.0
/* `dwarfprof probe': probes of a run that samples. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/probe_client.h"
#include "cli/probe_list.h"
#include "formats/json_value.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"
#include "probes/label_probe.h"
#include "probes/probe_parts.h"
#include "probes/probe_server.h"
#include "profiler/record.h"

enum {
	OPTION_JSON = 256,
	OPTION_MAX_RATE,
	OPTION_NAME,
};

struct probe_options {
	const char *socket, *verb, *name;
	unsigned int max_rate; /* 0: the default */
	unsigned int pids[DP_MAX_PROBE_PIDS];
	size_t n_pids;
	bool json;
	char **words; /* after the verb */
	size_t n_words;
};

static const struct argp_option argp_options[] = {
	{ "socket", 's', "PATH", 0, "the --probe-socket of the run or agent", 0 },
	{ "name", OPTION_NAME, "NAME", 0,
	  "add: the label `probe' of its samples (KIND:PATH:NAME); if you are not root, with `UID:' "
	  "in front",
	  0 },
	{ "max-rate", OPTION_MAX_RATE, "N", 0,
	  "add: at most about N samples per second, chosen at random; a second with a hundred times "
	  "as many hits disables it (1000)",
	  0 },
	{ "pid", 'p', "PID[,PID...]", 0, "add: only hits of these processes", 0 },
	{ "json", OPTION_JSON, NULL, 0, "list, status: JSON", 0 },
	{ 0 },
};

static void parse_pids(struct probe_options *o, struct argp_state *state, char *text)
{
	char *save, *end;

	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		unsigned long pid = strtoul(word, &end, 10);

		if (word[0] < '0' || word[0] > '9' || *end || pid == 0 || pid > INT_MAX)
			argp_error(state, "-p takes numbers of processes, not '%s'", word);
		if (o->n_pids == DP_MAX_PROBE_PIDS)
			argp_error(state, "-p takes up to %d processes", DP_MAX_PROBE_PIDS);
		o->pids[o->n_pids++] = (unsigned int)pid;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct probe_options *o = state->input;

	switch (key) {
	case 's':
		o->socket = arg;
		return 0;
	case OPTION_NAME:
		o->name = arg;
		return 0;
	case OPTION_MAX_RATE:
		o->max_rate = probe_list_parse_rate(arg);
		if (o->max_rate == 0)
			argp_error(state,
				   "--max-rate takes a whole number from 1 to 1000000, not '%s'",
				   arg);
		return 0;
	case 'p':
		parse_pids(o, state, arg);
		return 0;
	case OPTION_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (o->verb)
			return ARGP_ERR_UNKNOWN; /* ARGP_KEY_ARGS follows */
		o->verb = arg;
		return 0;
	case ARGP_KEY_ARGS:
		o->words = state->argv + state->next;
		o->n_words = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state,
			   "nothing to do: give add, list, remove, enable, disable or status");
		return 0;
	case ARGP_KEY_END:
		if (!o->socket)
			argp_error(state,
				   "-s is missing: give the PATH of the run's --probe-socket");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse_option,
	.args_doc = "-s PATH COMMAND [ARG...]",
	.doc = "Add probes to a recording or an agent while it samples, and remove them:\n\n"
	       "  add KIND:PATH:NAME[(VALUES)]|@FILE...\n"
	       "  remove|enable|disable ID|all...\n"
	       "  list|status\n\n"
	       "KIND is uprobe, uretprobe or usdt, as of -e, whose hits become samples; or label (4 at "
	       "a time) or span (one), as of --probe. FILE is TOML: tables "
	       "[probe.NAME] with `probe = \"...\"' and `max-rate = N', a line each.\v"
	       "Exit codes: 0 done; 1 failed; 2 wrong usage.",
};

static json_t *pids_of(const struct probe_options *o)
{
	json_t *pids = json_array();

	for (size_t i = 0; i < o->n_pids; i++)
		json_array_append_new(pids, json_integer(o->pids[i]));
	return pids;
}

static json_t *request_of(const struct probe_options *o, const struct probe_entry *entry,
			  const char *kind, size_t kind_size, const char *path, const char *probe)
{
	const char *name = entry->name ?: o->name;
	unsigned int max_rate = entry->max_rate ?: o->max_rate;
	json_t *request = json_pack("{s:s, s:s%, s:s, s:s}", "do", "add", "kind", kind, kind_size,
				    "path", path, "probe", probe);

	if (max_rate > 0)
		json_object_set_new(request, "max_rate", json_integer(max_rate));
	if (o->n_pids > 0)
		json_object_set_new(request, "pids", pids_of(o));
	if (request && (!name || json_object_set_new(request, "name", json_string(name)) == 0))
		return request;
	json_decref(request);
	log_error("paths and names of probes have to be UTF-8");
	return NULL;
}

/* Descriptors that prove what the user may do. */
struct proofs {
	int fds[PROBE_REQUEST_FDS];
	size_t n;
};

static void proofs_done(struct proofs *p)
{
	while (p->n > 0)
		close(p->fds[--p->n]);
}

/* Who may open the memory of a process may trace it; root need not prove that. */
static int open_processes(const struct probe_options *o, struct proofs *p)
{
	for (size_t i = 0; geteuid() != 0 && i < o->n_pids; i++) {
		char path[32];
		int fd, err;

		snprintf(path, sizeof(path), "/proc/%u/mem", o->pids[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			err = -errno;
			log_error("you may not trace process %u: %s", o->pids[i], strerror(-err));
			return err;
		}
		p->fds[p->n++] = fd;
	}
	return 0;
}

/* The file is opened here: who may not read it may not probe it. */
static int ask_to_add(const struct probe_options *o, int fd, const struct probe_entry *entry,
		      const struct probe_parts *parts, size_t kind_size)
{
	_cleanup_uprobe_places_ struct uprobe_places file = UPROBE_PLACES_NONE;
	_cleanup_(proofs_done) struct proofs proofs = { .n = 0 };
	_cleanup_(json_decrefp) json_t *answer = NULL;
	char path[PATH_MAX];
	json_t *request;
	int err = uprobe_places_open(parts->path, NULL, &file);

	if (err < 0)
		return err;
	if (!realpath(file.path, path)) {
		err = -errno;
		log_error("cannot find %s: %s", file.path, strerror(-err));
		return err;
	}
	request = request_of(o, entry, entry->probe, kind_size, path,
			     entry->probe + kind_size + 1 + strlen(parts->path) + 1);
	if (!request)
		return -EINVAL;
	proofs.fds[proofs.n++] = steal_fd(&file.fd);
	err = open_processes(o, &proofs);
	if (err < 0)
		json_decref(request);
	else
		err = probe_client_ask(fd, request, proofs.fds, proofs.n, &answer);
	if (err == 0)
		printf("%d\n", (int)json_integer_value(json_object_get(answer, "id")));
	return err;
}

static int split(const char *text, size_t kind_size, enum probe_kind kind, struct probe_parts *ret,
		 char ret_why[ARGUMENTS_WHY_SIZE])
{
	_cleanup_free_ char *copy = strdup(text + kind_size + 1);
	uint64_t min_ns;
	int err = copy ? 0 : -ENOMEM;

	if (err == 0 && strncmp(text, PROBE_SPAN ":", kind_size + 1) == 0)
		err = label_probe_take_min(copy, &min_ns, ret_why);
	return err < 0 ? err : probe_parts_split(copy, kind, ret, ret_why);
}

static int add_one(const struct probe_options *o, int fd, const struct probe_entry *entry)
{
	_cleanup_(probe_parts_done) struct probe_parts parts = { 0 };
	size_t kind_size = strcspn(entry->probe, ":");
	char why[ARGUMENTS_WHY_SIZE] = "";
	enum probe_kind kind;
	int err = -EINVAL;

	if (entry->probe[kind_size] == ':' && probe_kind_find(entry->probe, kind_size, &kind))
		err = split(entry->probe, kind_size, kind, &parts, why);
	if (err < 0) {
		log_error("%s: %s", entry->probe, why[0] ? why : PROBE_KINDS_ERROR);
		return err;
	}
	return ask_to_add(o, fd, entry, &parts, kind_size);
}

static int add(const struct probe_options *o, int fd)
{
	_cleanup_(probe_list_done) struct probe_list list = { 0 };
	int err = 0;

	for (size_t i = 0; err == 0 && i < o->n_words; i++)
		err = o->words[i][0] == '@' ? probe_list_read(&list, o->words[i] + 1) :
					      probe_list_add(&list, o->words[i], NULL, 0);
	for (size_t i = 0; err == 0 && i < list.n; i++)
		err = add_one(o, fd, &list.items[i]);
	return err;
}

/* An id of 0: all. */
static int change_one(const struct probe_options *o, int fd, unsigned int id)
{
	_cleanup_(json_decrefp) json_t *answer = NULL;
	json_t *request = json_pack("{s:s}", "do", o->verb);

	if (request && id > 0)
		json_object_set_new(request, "id", json_integer(id));
	return probe_client_ask(fd, request, NULL, 0, &answer);
}

static int change(const struct probe_options *o, int fd)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < o->n_words; i++) {
		char *end;
		unsigned long id = strtoul(o->words[i], &end, 10);
		bool is_all = strcmp(o->words[i], "all") == 0;

		if (!is_all && (*end || id == 0 || id > INT_MAX)) {
			log_error("'%s' is not a probe number", o->words[i]);
			return -EINVAL;
		}
		err = change_one(o, fd, is_all ? 0 : (unsigned int)id);
	}
	return err;
}

static long long number_of(const json_t *json, const char *key)
{
	return json_integer_value(json_object_get(json, key));
}

static void print_text(const json_t *probe, const char *key)
{
	const char *text = json_string_value(json_object_get(probe, key));

	text_print_plain(stdout, text ? text : "");
	putchar('\n');
}

static void print_list(const json_t *answer)
{
	const json_t *probes = json_object_get(answer, "probes"), *probe;
	size_t i;

	printf("%5s  %-5s %12s %12s %8s  %s\n", "ID", "STATE", "HITS", "THINNED", "RATE", "PROBE");
	json_array_foreach(probes, i, probe)
	{
		const char *state = json_string_value(json_object_get(probe, "state"));

		printf("%5lld  %-5s %12lld %12lld %8lld  ", number_of(probe, "id"),
		       state ? state : "", number_of(probe, "hits"), number_of(probe, "thinned"),
		       number_of(probe, "max_rate"));
		print_text(probe, "name");
	}
}

/* "probe ID IS: WHY", of each */
static void print_reasons(const json_t *probes, const char *is)
{
	const json_t *probe;
	size_t i;

	json_array_foreach(probes, i, probe)
	{
		printf("probe %lld%s: ", number_of(probe, "id"), is);
		print_text(probe, "why");
	}
}

static void print_status(const json_t *answer)
{
	printf("process %lld has %lld of up to %lld probes\n", number_of(answer, "pid"),
	       number_of(answer, "probes"), number_of(answer, "limit"));
	print_reasons(json_object_get(answer, "ended"), " is disabled");
	print_reasons(json_object_get(answer, "changed"), "");
}

static int show(const struct probe_options *o, int fd, void (*print)(const json_t *answer))
{
	json_t *answer;
	int err = probe_client_ask(fd, json_pack("{s:s}", "do", o->verb), NULL, 0, &answer);

	if (err < 0)
		return err;
	if (o->json) {
		err = json_write(answer, JSON_INDENT(1), stdout);
		putchar('\n');
		return err;
	}
	print(answer);
	json_decref(answer);
	return 0;
}

static int list(const struct probe_options *o, int fd)
{
	return show(o, fd, print_list);
}

static int status(const struct probe_options *o, int fd)
{
	return show(o, fd, print_status);
}

static const struct verb {
	const char *word;
	bool takes_words;
	int (*run)(const struct probe_options *o, int fd);
} verbs[] = {
	{ "add", true, add },       { "list", false, list },     { "remove", true, change },
	{ "enable", true, change }, { "disable", true, change }, { "status", false, status },
};

static const struct verb *find_verb(const struct probe_options *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].word, o->verb) != 0)
			continue;
		if (verbs[i].takes_words == (o->n_words > 0))
			return &verbs[i];
		log_error("probe %s %s", o->verb,
			  verbs[i].takes_words ? "needs arguments" : "takes no arguments");
		return NULL;
	}
	log_error("probe takes add, list, remove, enable, disable or status, not '%s'", o->verb);
	return NULL;
}

static int probe_command(int argc, char **argv)
{
	struct probe_options options = { 0 };
	const struct verb *verb;
	_cleanup_close_ int fd = -1;

	command_parse(&command_probe, argc, argv, &options);
	verb = find_verb(&options);
	if (!verb)
		return EXIT_CODE_USAGE;
	fd = probe_client_connect(options.socket);
	if (fd < 0 || verb->run(&options, fd) < 0)
		return EXIT_CODE_FAILED;
	return fflush(stdout) == EOF ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

const struct command command_probe = {
	.name = "probe",
	.summary = "add probes to a run while it samples, and remove them",
	.argp = &argp,
	.run = probe_command,
};
