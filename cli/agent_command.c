// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_all.h"
#include "cli/agent_options.h"
#include "cli/command.h"
#include "cli/fetch_options.h"
#include "elf/bus_guard.h"
#include "log/log.h"
#include "sandbox/helper.h"

struct agent_command {
	int argc;
	char **argv;
	struct agent_settings *settings; /* those that the agent asked for last */
	char *config;                    /* the path of its file; NULL: none */
	bool has_begun;
	int fd; /* of signals */
};

static enum agent_order next_order(void *arg)
{
	struct agent_command *c = arg;
	struct signalfd_siginfo info;

	if (read(c->fd, &info, sizeof(info)) != sizeof(info))
		return AGENT_NONE;
	return info.ssi_signo == SIGHUP ? AGENT_RELOAD : AGENT_END;
}

/* Copies the text of the file, which may be written just now, so that it is read once. */
static int copy_config(const char *path, int *ret)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = memfd_create("config", MFD_CLOEXEC);
	char part[4096];
	ssize_t n = from < 0 || to < 0 ? -1 : 1;
	int err = 0;

	while (n > 0 && err == 0) {
		n = read(from, part, sizeof(part));
		if (n > 0)
			err = write_all(to, part, (size_t)n);
	}
	if (n < 0)
		err = -errno;
	if (err < 0)
		log_error("cannot read %s: %s", path, strerror(-err));
	else
		*ret = steal_fd(&to);
	return err;
}

static int run_self(char **words, int inherited)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int err, status;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	/* To itself: this lets it through. */
	if (inherited >= 0)
		posix_spawn_file_actions_adddup2(&actions, inherited, inherited);
	err = -posix_spawn(&pid, HELPER_SELF, &actions, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (err < 0)
		return err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EINVAL;
}

/*
 * Parsing ends the program where the configuration is wrong: another one tries it first.
 * config_fd: -1: there is no file.
 */
static int check_elsewhere(const struct agent_command *c, int config_fd)
{
	_cleanup_free_ char **words = calloc((size_t)c->argc + 4, sizeof(*words));
	char check[] = "--check", as_read[32];

	if (!words)
		return -ENOMEM;
	memcpy(words, c->argv - 1, ((size_t)c->argc + 1) * sizeof(*words));
	words[c->argc + 1] = check;
	snprintf(as_read, sizeof(as_read), "--as-read=%d", config_fd);
	if (config_fd >= 0)
		words[c->argc + 2] = as_read;
	return run_self(words, config_fd);
}

/* NULL: no servers are to be asked; "": those that are set. */
static const char *urls_of(const struct agent_settings *settings)
{
	return settings->options.names.options.no_debuginfod ? NULL : settings->debuginfod;
}

/* libdebuginfod takes them from the environment, which does not change while there are threads. */
static int check_urls(const struct agent_settings *settings)
{
	const char *set = getenv("DEBUGINFOD_URLS"), *urls = urls_of(settings);

	if (!urls || !*urls || (set && strcmp(urls, set) == 0))
		return 0;
	log_error("debuginfod: other servers can only be asked after a restart");
	return -EINVAL;
}

DEFINE_CLEANUP(struct agent_settings *, agent_settings_free)

static int load_anew(struct agent_command *c)
{
	_cleanup_(agent_settings_freep) struct agent_settings *settings = NULL;
	_cleanup_close_ int config_fd = -1;
	int err = c->config ? copy_config(c->config, &config_fd) : 0;

	if (err == 0)
		err = check_elsewhere(c, config_fd);
	if (err == 0)
		err = agent_settings_new(c->argc, c->argv, config_fd, &settings);
	if (err == 0)
		err = check_urls(settings);
	if (err < 0)
		log_error("the new configuration is not used");
	else
		c->settings = steal_ptr(settings);
	return err;
}

static int load(void *arg, const struct agent_options **ret)
{
	struct agent_command *c = arg;
	int err = c->has_begun ? load_anew(c) : 0;

	c->has_begun = true;
	if (err == 0) {
		log_set_level(c->settings->options.names.verbose ? LOG_DEBUG : LOG_INFO);
		*ret = &c->settings->agent;
	}
	return err;
}

static void drop(void *arg, const struct agent_options *options)
{
	agent_settings_free(
		(struct agent_settings *)(void *)((char *)options -
						  offsetof(struct agent_settings, agent)));
}

static int take_signals(struct agent_command *c)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	c->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->fd < 0 ? -errno : bus_guard_install();
}

static int agent_command(int argc, char **argv)
{
	struct agent_command c = { .argc = argc, .argv = argv, .fd = -1 };
	struct agent_control control = {
		.order = next_order, .load = load, .drop = drop, .arg = &c
	};
	int code = EXIT_CODE_FAILED, err;

	err = agent_settings_new(argc, argv, -1, &c.settings);
	if (err < 0)
		return code;
	if (c.settings->check) {
		agent_settings_free(c.settings);
		return EXIT_CODE_OK;
	}
	log_set_priorities(log_is_journal());
	err = take_signals(&c);
	/* The settings go with the next ones. */
	if (err == 0 && c.settings->config && !(c.config = strdup(c.settings->config)))
		err = -ENOMEM;
	if (err == 0)
		err = fetch_options_apply(urls_of(c.settings),
					  c.settings->options.names.options.debuginfod_ns);
	if (err == 0) {
		control.fd = c.fd;
		code = agent_run(&control);
	} else {
		log_error("cannot start: %s", strerror(-err));
		agent_settings_free(c.settings);
	}
	if (c.fd >= 0)
		close(c.fd);
	free(c.config);
	return code;
}

const struct command command_agent = {
	.name = "agent",
	.summary = "profile the machine continuously",
	.argp = &agent_options_argp,
	.run = agent_command,
};
