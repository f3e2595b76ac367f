// SPDX-License-Identifier: Apache-2.0
#include "cli/backend_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/named_labels.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/secret.h"

enum {
	OPTION_AUTH_PASSWORD_FILE = 4608,
	OPTION_AUTH_USER,
	OPTION_BACKEND,
	OPTION_CA_FILE,
	OPTION_CERT_FILE,
	OPTION_HEADER,
	OPTION_INSECURE,
	OPTION_KEY_FILE,
	OPTION_LABEL,
	OPTION_MAX_FRAMES,
	OPTION_OTLP,
	OPTION_PYROSCOPE,
	OPTION_RELABEL,
	OPTION_TENANT,
	OPTION_TOKEN_FILE,
};

#define GROUP BACKEND_OPTIONS_GROUP

static const struct argp_option argp_options[] = {
	{ .doc = "Backends; options after a URL apply to it", .group = GROUP },
	{ "otlp", OPTION_OTLP, "URL", 0,
	  "deliver to an OpenTelemetry receiver, repeatable: grpc://HOST:4317, http://HOST:4318; or "
	  "grpcs, https",
	  GROUP },
	{ "pyroscope", OPTION_PYROSCOPE, "URL", 0, "deliver to Pyroscope, repeatable", GROUP },
	{ "backend", OPTION_BACKEND, "NAME", 0,
	  "options from here on apply to this backend, as in a section [backend NAME]", GROUP },
	{ "ca-file", OPTION_CA_FILE, "FILE", 0, "CA certificates to trust instead of the system's",
	  GROUP },
	{ "cert-file", OPTION_CERT_FILE, "FILE", 0, "the agent's own certificate", GROUP },
	{ "key-file", OPTION_KEY_FILE, "FILE", 0, "the certificate's key", GROUP },
	{ "insecure", OPTION_INSECURE, NULL, 0, "do not check the backend's certificate", GROUP },
	{ "header", OPTION_HEADER, "NAME:VALUE", 0, "send this header, repeatable", GROUP },
	{ "token-file", OPTION_TOKEN_FILE, "FILE", 0,
	  "send the first line of this file, read for each request, as bearer token", GROUP },
	{ "auth-user", OPTION_AUTH_USER, "NAME", 0, "basic authentication", GROUP },
	{ "auth-password-file", OPTION_AUTH_PASSWORD_FILE, "FILE", 0,
	  "the password: the first line of this file, read for each request", GROUP },
	{ "tenant", OPTION_TENANT, "NAME", 0, "send it as X-Scope-OrgID", GROUP },
	{ "label", OPTION_LABEL, "KEY=VALUE", 0, "add a label to all profiles, repeatable", GROUP },
	{ "max-frames", OPTION_MAX_FRAMES, "N", 0,
	  "leave out the middle of deeper stacks (Pyroscope: 1000; others: no limit)", GROUP },
	{ "relabel", OPTION_RELABEL, "RULE", 0,
	  "keep, drop or change by labels, as Prometheus's relabel_config, repeatable; before all "
	  "backends, for all: 'source_labels=service_name regex=test-.* action=drop'",
	  GROUP },
	{ 0 },
};

/* Begins a backend. */
static struct backend_options *add(struct backend_settings *s, struct argp_state *state)
{
	struct backend_options *b;

	if (s->n == AGENT_BACKENDS)
		argp_error(state, "there are more than %d backends", AGENT_BACKENDS);
	b = &s->items[s->n];
	b->deliver.headers = s->headers[s->n];
	b->labels = s->labels[s->n];
	b->all_rules = &s->all_rules;
	b->own_rules = &s->rules[s->n];
	s->n++;
	s->has_current = true;
	return b;
}

static struct backend_options *current(struct backend_settings *s, struct argp_state *state)
{
	if (!s->has_current)
		argp_error(state, "an option of a backend stands before any: give --otlp, "
				  "--pyroscope or --backend first");
	return &s->items[s->n - 1];
}

static void set_url(struct backend_settings *s, struct argp_state *state,
		    enum deliver_protocol protocol, const char *url)
{
	const char *const forms[] = { "http://", "https://", "grpc://", "grpcs://" };
	size_t n = protocol == DELIVER_OTLP ? ARRAY_SIZE(forms) : 2, i = 0;
	_cleanup_free_ char *shown = secret_mask_url(url);
	struct backend_options *b;

	while (i < n && strncmp(url, forms[i], strlen(forms[i])) != 0)
		i++;
	if (i == n)
		argp_error(state, "%s takes a URL such as %s, not '%s'",
			   protocol == DELIVER_OTLP ? "--otlp" : "--pyroscope",
			   protocol == DELIVER_OTLP ? "grpc://127.0.0.1:4317" :
						      "http://127.0.0.1:4040",
			   shown ? shown : "");
	b = backend_settings_lack_url(s) ? &s->items[s->n - 1] : add(s, state);
	b->deliver.protocol = protocol;
	b->deliver.url = url;
}

static void begin(struct backend_settings *s, struct argp_state *state, const char *name)
{
	if (!*name)
		argp_error(state, "a backend's name is empty");
	if (backend_settings_lack_url(s))
		argp_error(state, "the backend before it lacks a URL");
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].name && strcmp(s->items[i].name, name) == 0)
			argp_error(state, "there are two backends '%s'", name);
	add(s, state)->name = name;
}

/* RFC 9110 §5.1: a token, a colon, and no control characters. */
static void add_header(struct backend_settings *s, struct argp_state *state, const char *text)
{
	struct backend_options *b = current(s, state);
	size_t n = strcspn(text, ":");

	if (n == 0 || text[n] != ':' || strcspn(text, " \t\"(),/;<=>?@[\\]{}") < n ||
	    strpbrk(text, "\r\n"))
		argp_error(state, "--header takes NAME:VALUE");
	if (b->deliver.n_headers == BACKEND_HEADERS)
		argp_error(state, "there are more than %d headers", BACKEND_HEADERS);
	s->headers[s->n - 1][b->deliver.n_headers++] = text;
}

/* Takes the text apart. */
static void add_label(struct backend_settings *s, struct argp_state *state, char *text)
{
	struct backend_options *b = current(s, state);
	char *equals = strchr(text, '=');

	if (!equals || equals == text)
		argp_error(state, "--label takes KEY=VALUE, not '%s'", text);
	if (b->n_labels == BACKEND_LABELS)
		argp_error(state, "there are more than %d labels", BACKEND_LABELS);
	*equals = '\0';
	if (named_label_is_fact(text))
		argp_error(state, "%s", NAMED_LABELS_FACTS);
	s->labels[s->n - 1][b->n_labels++] = (struct deliver_label){ text, equals + 1 };
}

static void add_rule(struct backend_settings *s, struct argp_state *state, const char *text)
{
	struct relabel *rules = s->has_current ? &s->rules[s->n - 1] : &s->all_rules;
	struct relabel_error error = { 0 };
	int err = relabel_add(rules, text, &error);

	s->wrong_at = err < 0 ? error.at : 0;
	if (err == -ENOMEM)
		argp_failure(state, 1, ENOMEM, "--relabel");
	if (err < 0)
		argp_error(state, "%s, at '%s'", error.why, text + error.at);
}

static void set_max_frames(struct backend_settings *s, struct argp_state *state, const char *text)
{
	struct backend_options *b = current(s, state);
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || n < 2 || n > DP_MAX_FRAMES)
		argp_error(state, "--max-frames takes a whole number from 2 to %d, not '%s'",
			   DP_MAX_FRAMES, text);
	b->max_frames = n;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct backend_settings *s = state->input;

	switch (key) {
	case OPTION_OTLP:
		set_url(s, state, DELIVER_OTLP, arg);
		return 0;
	case OPTION_PYROSCOPE:
		set_url(s, state, DELIVER_PYROSCOPE, arg);
		return 0;
	case OPTION_BACKEND:
		begin(s, state, arg);
		return 0;
	case OPTION_CA_FILE:
		current(s, state)->deliver.ca_file = arg;
		return 0;
	case OPTION_CERT_FILE:
		current(s, state)->deliver.certificate_file = arg;
		return 0;
	case OPTION_KEY_FILE:
		current(s, state)->deliver.key_file = arg;
		return 0;
	case OPTION_INSECURE:
		current(s, state)->deliver.insecure = true;
		return 0;
	case OPTION_HEADER:
		add_header(s, state, arg);
		return 0;
	case OPTION_TOKEN_FILE:
		current(s, state)->deliver.token_file = arg;
		return 0;
	case OPTION_AUTH_USER:
		current(s, state)->deliver.user = arg;
		return 0;
	case OPTION_AUTH_PASSWORD_FILE:
		current(s, state)->deliver.password_file = arg;
		return 0;
	case OPTION_TENANT:
		current(s, state)->deliver.tenant = arg;
		return 0;
	case OPTION_MAX_FRAMES:
		set_max_frames(s, state, arg);
		return 0;
	case OPTION_RELABEL:
		add_rule(s, state, arg);
		return 0;
	case OPTION_LABEL:
		add_label(s, state, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp backend_options_argp = { .options = argp_options, .parser = parse_option };

void backend_settings_end(struct backend_settings *s)
{
	s->has_current = false;
}

bool backend_settings_lack_url(const struct backend_settings *s)
{
	return s->n > 0 && !s->items[s->n - 1].deliver.url;
}

void backend_settings_done(struct backend_settings *s)
{
	for (size_t i = 0; i < AGENT_BACKENDS; i++)
		relabel_done(&s->rules[i]);
	relabel_done(&s->all_rules);
}

/* A secret in a header or a password would be seen by all on the way. */
static bool has_tls(const struct deliver_options *o)
{
	return strncmp(o->url, "https:", 6) == 0 || strncmp(o->url, "grpcs:", 6) == 0;
}

static void check(const struct deliver_options *o, struct argp_state *state)
{
	bool is_about_tls = o->ca_file || o->certificate_file || o->key_file || o->insecure;
	_cleanup_free_ char *shown = secret_mask_url(o->url);

	if (is_about_tls && !has_tls(o))
		argp_error(state, "%s has no TLS: its URL has to begin with https or grpcs",
			   shown ? shown : "a backend");
	if (!o->certificate_file != !o->key_file)
		argp_error(state, "--cert-file and --key-file are given together");
	if (o->password_file && !o->user)
		argp_error(state, "--auth-password-file is given with --auth-user");
	if (o->user && o->token_file)
		argp_error(state, "--auth-user and --token-file exclude each other");
}

/* Whether they are one. Two that would be told apart by what is not shown need names. */
static bool is_same_backend(const struct backend_options *a, const struct backend_options *b,
			    struct argp_state *state)
{
	_cleanup_free_ char *shown = secret_mask_url(a->deliver.url);
	_cleanup_free_ char *other = secret_mask_url(b->deliver.url);
	bool is_one = backend_options_are_of_one(a, b);
	bool looks_same = shown && other && !a->name && !b->name && strcmp(shown, other) == 0 &&
			  strcmp(a->deliver.url, b->deliver.url) != 0;

	if (looks_same || (is_one && !backend_options_are_equal(a, b)))
		argp_error(state, "%s is given twice: name one of them with --backend",
			   shown ? shown : "a backend");
	return is_one;
}

void backend_settings_complete(struct backend_settings *s, struct argp_state *state)
{
	size_t n = 0;

	if (backend_settings_lack_url(s))
		argp_error(state, "the backend '%s' lacks a URL: give --otlp or --pyroscope",
			   s->items[s->n - 1].name);
	for (size_t i = 0; i < s->n; i++)
		check(&s->items[i].deliver, state);
	/* The same given twice is one. */
	for (size_t i = 0; i < s->n; i++) {
		size_t k = 0;

		while (k < n && !is_same_backend(&s->items[k], &s->items[i], state))
			k++;
		if (k == n)
			s->items[n++] = s->items[i];
	}
	s->n = n;
}
