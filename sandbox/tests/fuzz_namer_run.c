// SPDX-License-Identifier: Apache-2.0
/*
 * Names in a file of any bytes, as a namer finds them: its answers are taken, and are those of this
 * process. Input: how names are shown (1), the file's size (2), the file, and requests: the kind (1),
 * the binary's number (1, the lowest bit) and whether names are read (the next bit), and for those
 * with addresses their number and whether with lines (1), the first one (8), the distance to the next
 * (1).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cfi/tests/fuzz.h"
#include "sandbox/message.h"
#include "sandbox/namer.h"

#define PATH "/file"
#define MAX_REQUESTS 16
#define MAX_ADDRESSES 32

/* The namer, and what it is compared with. */
static int socket_there, socket_here, file, result;
static struct names *names;
static struct module *modules[2]; /* by number */
static struct namer_request request;

static void *run(void *arg)
{
	EXPECT(namer_run(socket_there, NULL) == 0);
	close(socket_there);
	return NULL;
}

static int ask(const int *sent, size_t n, struct namer_reply *ret)
{
	int fds[MESSAGE_MAX_FDS];

	EXPECT(message_send(socket_here, &request, sizeof(request), sent, n) == 0);
	EXPECT(message_receive(socket_here, ret, sizeof(*ret), fds) == 0);
	EXPECT(fds[0] < 0);
	return ret->err;
}

static void begin(uint8_t how)
{
	const struct names_options options = {
		.no_inlines = how & 1,
		.no_lines = how & 2,
		.demangle = (enum names_demangle)((how >> 2 & 3) % (NAMES_DEMANGLE_FULL + 1)),
		.no_debuginfod = true,
	};
	struct namer_reply reply;

	request = (struct namer_request){ .kind = NAMER_BEGIN, .options = options };
	EXPECT(ask(NULL, 0, &reply) == 0);
	EXPECT(names_new(&options, &names) == 0);
	modules[0] = modules[1] = NULL;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The start of a function without a name. */
static uint64_t find_start(struct module *module, uint64_t address)
{
	uint64_t start;

	return module_find_start(module, address, &start) < 0 ? NAMER_NO_START : start;
}

/* What the namer has found, and what this process finds. */
static void check_found(const struct location_cache *found, uint64_t start, uint64_t address)
{
	struct module *module = modules[request.number];
	const struct source_location *a, *b;
	size_t n, n_again;

	EXPECT(location_cache_find(found, address, request.lines, &a, &n));
	n_again = module_find_locations(module, address, request.lines, &b);
	EXPECT(n == n_again);
	for (size_t i = 0; i < n; i++) {
		EXPECT(is_same_text(a[i].function, b[i].function));
		EXPECT(is_same_text(a[i].file, b[i].file));
		EXPECT(a[i].line == b[i].line && a[i].inlined == b[i].inlined);
	}
	EXPECT(start ==
	       (n > 0 && b[n - 1].function ? NAMER_NO_START : find_start(module, address)));
}

static void find(void)
{
	struct location_cache found = { 0 };
	uint64_t starts[NAMER_MAX_ADDRESSES];
	struct namer_reply reply;
	int n;

	EXPECT(ftruncate(result, 0) == 0);
	if (ask(&result, 1, &reply) < 0) {
		EXPECT(reply.err == -EINVAL && !modules[request.number]);
		return;
	}
	n = namer_take(&request, &reply, result, &found, starts);
	EXPECT(n == (int)request.n);
	for (int i = 0; i < n; i++)
		check_found(&found, starts[i], request.addresses[i]);
	location_cache_done(&found);
}

static void open_binary(void)
{
	struct module **m = &modules[request.number];
	struct namer_reply reply;

	strcpy(request.binary.path, PATH);
	EXPECT(ask(&file, 1, &reply) == (*m ? -EINVAL : 0));
	if (!*m)
		*m = module_new(names, PATH, "", fcntl(file, F_DUPFD_CLOEXEC, 0));
	EXPECT(*m);
}

/* What has no answer but an error. */
static void tell(void)
{
	struct module **m = &modules[request.number];
	struct namer_reply reply;

	(void)ask(NULL, 0, &reply);
	if (request.kind == NAMER_TRIM)
		names_limit_debug(names, 0);
	if (request.kind == NAMER_CLOSE && *m)
		module_close(*m, request.names);
	if (request.kind == NAMER_FORGET && *m)
		*m = module_free(*m);
}

static void feed_addresses(struct feed *f)
{
	uint8_t n = feed_u8(f);
	uint64_t first = feed_u64(f), step = feed_u8(f);

	request.n = n % MAX_ADDRESSES + 1U;
	request.lines = n & 0x80;
	for (uint32_t i = 0; i < request.n; i++)
		request.addresses[i] = first + i * step;
}

static void feed_request(struct feed *f)
{
	struct namer_reply reply;
	uint8_t which;

	request = (struct namer_request){ .kind = feed_u8(f) % (NAMER_N_KINDS + 1) };
	which = feed_u8(f);
	request.number = which & 1;
	request.names = which & 2;
	switch (request.kind) {
	case NAMER_OPEN:
		open_binary();
		break;
	case NAMER_FIND:
		feed_addresses(f);
		find();
		break;
	case NAMER_START:
		feed_addresses(f);
		if (ask(NULL, 0, &reply) != -EINVAL)
			EXPECT((reply.err == 0 ? reply.start : NAMER_NO_START) ==
			       find_start(modules[request.number], request.addresses[0]));
		break;
	default:
		tell();
	}
}

static void serve(struct feed *f, uint8_t how)
{
	int sockets[2];
	pthread_t thread;

	EXPECT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	socket_here = sockets[0];
	socket_there = sockets[1];
	EXPECT(pthread_create(&thread, NULL, run, NULL) == 0);
	begin(how);
	for (int i = 0; i < MAX_REQUESTS && f->pos < f->end; i++)
		feed_request(f);
	close(socket_here);
	EXPECT(pthread_join(thread, NULL) == 0);
	names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	uint8_t how = feed_u8(&feed);
	size_t file_size = feed_number(&feed, 2), left = (size_t)(feed.end - feed.pos);

	file_size = file_size < left ? file_size : left;
	file = memfd_create("fuzz", MFD_CLOEXEC);
	result = memfd_create("result", MFD_CLOEXEC);
	EXPECT(file >= 0 && result >= 0);
	EXPECT(write(file, feed.pos, file_size) == (ssize_t)file_size);
	feed.pos += file_size;
	serve(&feed, how);
	close(file);
	close(result);
	return 0;
}
