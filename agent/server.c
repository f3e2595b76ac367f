// SPDX-License-Identifier: Apache-2.0
#include "agent/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/address.h"
#include "agent/http_library.h"
#include "agent/pulls.h"
#include "agent/recent.h"
#include "base/cleanup.h"
#include "base/secret.h"
#include "base/signals.h"
#include "limits/limits.h"
#include "log/log.h"

#define TOKEN_MAX 512
#define CONNECTIONS 64
#define IDLE_SECONDS 60
#define SECONDS_DEFAULT 30
#define BEARER "Bearer "
#define PPROF "pprof"
#define PICTURE "svg"

static struct http_library mhd; /* set once, and read-only from then on */

struct server {
	struct server_options options;
	char *where, *token_file; /* the strings in them */
	struct address address;
	struct unix_listener listener;
	char token[TOKEN_MAX]; /* "": none */
	struct MHD_Daemon *daemon;
};

/* A request from its first line on; the library keeps it for us. */
struct request {
	struct MHD_Connection *connection;
	int fd;           /* its socket; -1: not known */
	bool has_interim; /* it knows interim responses */
	bool is_probed;   /* has got one */
	bool is_settled;  /* the library knows that it is complete */
	struct pull *pull;
	bool is_picture;
	int err; /* of asking for it */
};

static int read_token(struct server *s)
{
	const char *path = s->options.token_file;
	int err = path ? secret_read_line(path, s->token, sizeof(s->token)) : 0;

	if (err < 0 && !s->options.is_again)
		log_error("cannot read the token in %s: %s", path,
			  err == -ENODATA ? "its first line is empty" : strerror(-err));
	return err;
}

/* Takes as long for any text of the same length. */
static bool is_equal(const char *a, const char *b)
{
	size_t n = strlen(b);
	unsigned char differs = 0;

	if (strlen(a) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return differs == 0;
}

static bool may_ask(const struct server *s, struct MHD_Connection *connection)
{
	const char *given =
		mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

	if (!s->token[0])
		return true;
	return given && strncmp(given, BEARER, strlen(BEARER)) == 0 &&
	       is_equal(given + strlen(BEARER), s->token);
}

/*
 * A page of the web may make a browser ask for a name of its own that leads here. Only names of this
 * machine's loopback are answered, unless a token proves more.
 */
static bool is_known_host(const struct server *s, struct MHD_Connection *connection)
{
	const char *host = mhd.lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	char name[64];
	struct in_addr v4;

	if (s->token[0] || s->address.socket.ss_family == AF_UNIX || !host)
		return true;
	snprintf(name, sizeof(name), "%s", host);
	if (name[0] == '[')
		return strncmp(name, "[::1]", 5) == 0;
	name[strcspn(name, ":")] = '\0';
	return strcmp(name, "localhost") == 0 ||
	       (inet_pton(AF_INET, name, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET);
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int status,
			     const char *type, const void *data, size_t size)
{
	struct MHD_Response *response =
		mhd.create_response_from_buffer(size, (void *)data, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	mhd.add_response_header(response, "Content-Type", type);
	mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
	mhd.add_response_header(response, "Cache-Control", "no-store");
	if (status == MHD_HTTP_UNAUTHORIZED)
		mhd.add_response_header(response, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(response, "Allow", "GET, HEAD");
	result = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return result;
}

/* net/http/pprof answers errors like this, and `go tool pprof` shows the text. */
static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status,
			      const char *why)
{
	return reply(connection, status, "text/plain; charset=utf-8", why, strlen(why));
}

static enum MHD_Result reply_figures(struct server *s, struct MHD_Connection *connection,
				     const char *type,
				     void (*write)(const struct figures *figures, FILE *to))
{
	_cleanup_free_ char *text = NULL;
	struct figures figures;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return MHD_NO;
	s->options.figures(s->options.arg, &figures);
	write(&figures, to);
	if (fclose(to) != 0)
		return MHD_NO;
	return reply(connection, MHD_HTTP_OK, type, text, size);
}

static enum MHD_Result reply_health(struct server *s, struct MHD_Connection *connection)
{
	struct figures figures;

	s->options.figures(s->options.arg, &figures);
	return figures.is_healthy ?
		       refuse(connection, MHD_HTTP_OK, "ok\n") :
		       refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no samples are read\n");
}

static const char *argument(struct MHD_Connection *connection, const char *name)
{
	return mhd.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* A number from 1 to max, or of a missing argument the default. False: it is none. */
static bool read_number(struct MHD_Connection *connection, const char *name, long max, long *ret)
{
	const char *text = argument(connection, name);
	char *end;

	if (!text)
		return true;
	*ret = strtol(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *ret > 0 && *ret <= max;
}

static bool read_text(struct MHD_Connection *connection, const char *name, char *ret, size_t size)
{
	const char *text = argument(connection, name);

	return !text || (size_t)snprintf(ret, size, "%s", text) < size;
}

/* NULL, or what is wrong. */
static const char *read_request(struct MHD_Connection *connection, struct pull_request *ret)
{
	long seconds = SECONDS_DEFAULT, pid = 0;

	if (!read_number(connection, "seconds", PULLS_MAX_SECONDS, &seconds))
		return "seconds= takes a whole number from 1 to 3600\n";
	if (!read_number(connection, "pid", INT32_MAX, &pid))
		return "pid= takes the number of a process\n";
	if (!read_text(connection, "comm", ret->comm, sizeof(ret->comm)))
		return "comm= takes the name of a process\n";
	if (!read_text(connection, "cgroup", ret->cgroup, sizeof(ret->cgroup)) ||
	    (ret->cgroup[0] && ret->cgroup[0] != '/'))
		return "cgroup= takes a path as in /proc/PID/cgroup\n";
	ret->duration_ns = (uint64_t)seconds * 1000000000;
	ret->pid = (pid_t)pid;
	return NULL;
}

static void on_done(void *arg)
{
	struct request *request = arg;

	mhd.resume_connection(request->connection);
}

static short poll_client(const struct request *request)
{
	struct pollfd client = { .fd = request->fd, .events = POLLRDHUP };

	if (poll(&client, 1, 0) <= 0)
		return 0;
	return client.revents;
}

#define INTERIM "HTTP/1.1 100 Continue\r\n\r\n"

/*
 * The library does not look at a connection that is suspended. A client that has closed its sending
 * side may be reading, or gone: its machine refuses an interim response if so. HTTP 1.0 has none.
 */
static bool is_gone(void *arg)
{
	struct request *request = arg;
	short events = poll_client(request);

	if (events == POLLRDHUP && !request->is_probed && request->has_interim) {
		request->is_probed = true;
		(void)send(request->fd, INTERIM, strlen(INTERIM), MSG_DONTWAIT | MSG_NOSIGNAL);
		events = poll_client(request);
	}
	return events & (POLLHUP | POLLERR | POLLNVAL);
}

/*
 * Asks those that are silent whether they are still there. The machine of one that has closed its
 * connection answers for it for tcp_fin_timeout, a minute, so it holds its place for 5 seconds longer
 * at most; one that has vanished, for 50 (with tcp_keepalive_probes = 9).
 */
static void keep_alive(int fd)
{
	const int on = 1, seconds = 5;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
}

void server_look(struct server *s)
{
	if (s)
		pulls_drop(s->options.pulls, is_gone);
}

/* There may be room once those that nobody waits for are gone. */
static int ask_for(struct server *s, struct request *request, const struct pull_request *wanted)
{
	int err = pulls_ask(s->options.pulls, wanted, on_done, request, &request->pull);

	if (err != -EBUSY)
		return err;
	server_look(s);
	return pulls_ask(s->options.pulls, wanted, on_done, request, &request->pull);
}

static enum MHD_Result ask(struct server *s, struct request *request, struct pull_request wanted)
{
	struct MHD_Connection *connection = request->connection;
	const char *wrong = read_request(connection, &wanted);

	if (wrong)
		return refuse(connection, MHD_HTTP_BAD_REQUEST, wrong);
	/*
	 * A connection that was last read from is read from again when it is resumed, and closed if its client
	 * has closed its sending side. Without an answer, the library asks again at once, and reads no more.
	 */
	if (!request->is_settled) {
		request->is_settled = true;
		return MHD_YES;
	}
	request->is_picture = strcmp(wanted.format, PICTURE) == 0;
	keep_alive(request->fd);
	mhd.suspend_connection(connection);
	request->err = ask_for(s, request, &wanted);
	if (request->err < 0) {
		request->pull = NULL;
		mhd.resume_connection(connection);
	}
	return MHD_YES;
}

static enum MHD_Result reply_error(struct MHD_Connection *connection, int err)
{
	switch (err) {
	case -EBUSY:
		return refuse(connection, MHD_HTTP_TOO_MANY_REQUESTS,
			      "too many profiles are being taken\n");
	case -ENODATA:
		return refuse(connection, MHD_HTTP_NOT_FOUND, "CPU time is not sampled\n");
	case -ECANCELED:
	case -ESHUTDOWN:
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the agent is stopping\n");
	}
	return refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(-err));
}

static enum MHD_Result reply_profile(struct request *request)
{
	const char *data;
	size_t size;
	int err = request->err < 0 ? request->err : pull_result(request->pull, &data, &size);

	if (err < 0)
		return reply_error(request->connection, err);
	return reply(request->connection, MHD_HTTP_OK,
		     request->is_picture ? "image/svg+xml" : "application/octet-stream", data,
		     size);
}

static enum MHD_Result reply_recent(struct server *s, struct MHD_Connection *connection)
{
	const char *process = argument(connection, "comm");
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to;
	int err;

	if (argument(connection, "pid") || argument(connection, "cgroup"))
		return refuse(connection, MHD_HTTP_BAD_REQUEST, "pid= and cgroup= need seconds=\n");
	to = open_memstream(&text, &size);
	if (!to)
		return MHD_NO;
	err = recent_write(s->options.recent, process ? process : "", to);
	if (fclose(to) != 0)
		return MHD_NO;
	if (err == -ENODATA)
		return refuse(
			connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			"there is no flame graph yet: try in ten seconds, or with seconds=\n");
	return err < 0 ? reply_error(connection, err) :
			 reply(connection, MHD_HTTP_OK, "image/svg+xml", text, size);
}

static enum MHD_Result answer(struct server *s, struct request *request, const char *url)
{
	struct MHD_Connection *connection = request->connection;

	if (strcmp(url, "/debug/pprof/profile") == 0)
		return ask(s, request, (struct pull_request){ .format = PPROF });
	if (strcmp(url, "/debug/pprof/fgprof") == 0)
		return ask(s, request, (struct pull_request){ .format = PPROF, .blocked = true });
	if (strcmp(url, "/flame-graph") == 0 && !argument(connection, "seconds"))
		return reply_recent(s, connection);
	if (strcmp(url, "/flame-graph") == 0)
		return ask(s, request, (struct pull_request){ .format = PICTURE });
	if (strcmp(url, "/metrics") == 0)
		return reply_figures(s, connection,
				     "application/openmetrics-text; version=1.0.0; charset=utf-8",
				     figures_write_metrics);
	if (strcmp(url, "/status") == 0 || strcmp(url, "/") == 0)
		return reply_figures(s, connection, "text/html; charset=utf-8", figures_write_page);
	if (strcmp(url, "/healthz") == 0)
		return reply_health(s, connection);
	return refuse(connection, MHD_HTTP_NOT_FOUND,
		      "not found; try /debug/pprof/profile, /debug/pprof/fgprof, /flame-graph, "
		      "/metrics, /healthz or /status\n");
}

static int socket_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	struct server *s = arg;
	struct request *request = *state;

	if (!request) {
		request = *state = calloc(1, sizeof(*request));
		if (!request)
			return MHD_NO;
		request->connection = connection;
		request->fd = socket_of(connection);
		request->has_interim = strcmp(version, "HTTP/1.1") == 0;
		return MHD_YES;
	}
	if (*size > 0) {
		*size = 0; /* no request has a body that is of use */
		return MHD_YES;
	}
	if (request->pull || request->err < 0)
		return reply_profile(request);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (!is_known_host(s, connection))
		return refuse(connection, MHD_HTTP_FORBIDDEN,
			      "this host name is not the agent's: use localhost or an address\n");
	if (!may_ask(s, connection))
		return refuse(connection, MHD_HTTP_UNAUTHORIZED, "a token is missing, or wrong\n");
	return answer(s, request, url);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct request *request = *state;

	if (!request)
		return;
	if (request->pull)
		pull_free(request->pull);
	free(request);
	*state = NULL;
}

static int start(struct server *s, int fd)
{
	sigset_t old;
	int err = mhd.start_daemon ? 0 : http_library_open(&mhd);

	if (err < 0)
		return err;
	signals_block(&old);
	s->daemon = mhd.start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
		NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)IDLE_SECONDS, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL,
		MHD_OPTION_END);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return s->daemon ? 0 : -EIO;
}

static int open_socket(struct server *s)
{
	const char *where = s->options.address;
	int fd, err = address_parse(where, &s->address);

	if (err == 0)
		err = read_token(s);
	else
		log_error("cannot listen at %s: it is neither ADDRESS:PORT nor unix:PATH", where);
	if (err < 0)
		return err;
	if (!s->address.is_local && !s->token[0]) {
		log_error("cannot listen at %s without a token: other machines can reach it",
			  where);
		log_detail("try:  --pull-token-file FILE, or --pull 127.0.0.1:PORT");
		return -EACCES;
	}
	fd = address_listen(&s->address, &s->listener);
	if (fd < 0 && !s->options.is_again)
		log_error("cannot listen at %s: %s", where, strerror(-fd));
	return fd;
}

static int copy_options(struct server *s, const struct server_options *options)
{
	s->options = *options;
	s->options.address = s->where = strdup(options->address);
	if (options->token_file)
		s->options.token_file = s->token_file = strdup(options->token_file);
	return s->where && !s->token_file == !options->token_file ? 0 : -ENOMEM;
}

static void free_server(struct server *s)
{
	free(s->where);
	free(s->token_file);
	explicit_bzero(s->token, sizeof(s->token));
	free(s);
}

int server_open(const struct server_options *options, struct server **ret)
{
	struct server *s = calloc(1, sizeof(*s));
	int fd, err;

	*ret = NULL;
	if (!s)
		return -ENOMEM;
	err = copy_options(s, options);
	fd = err < 0 ? err : open_socket(s);
	err = fd < 0 ? fd : start(s, fd);
	if (fd >= 0 && err < 0) {
		unix_listener_remove(&s->listener);
		close(fd);
		log_error("cannot listen at %s: %s", options->address,
			  err == -ENOSYS ? HTTP_LIBRARY_SONAME
				  " is not installed, or too old: install it" :
					   "the HTTP server did not start");
	}
	if (err < 0) {
		free_server(s);
		return err;
	}
	*ret = s;
	return 0;
}

bool server_has_token(const struct server *s, const char *token_file)
{
	char token[TOKEN_MAX] = "";
	int err = token_file ? secret_read_line(token_file, token, sizeof(token)) : 0;
	bool is_same = err == 0 && is_equal(token, s->token);

	explicit_bzero(token, sizeof(token));
	return is_same;
}

const struct server_options *server_options(const struct server *s)
{
	return &s->options;
}

struct server *server_close(struct server *s)
{
	if (!s)
		return NULL;
	unix_listener_remove(&s->listener);
	mhd.stop_daemon(s->daemon);
	free_server(s);
	return NULL;
}
