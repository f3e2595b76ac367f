// SPDX-License-Identifier: Apache-2.0
/* This process publishes what it says of itself, as the specification tells it to. */
#include "process/context_reader.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"

#define SIZE (1 << 17)

static struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published_ns;
	const char *payload;
} * header;

/* ProcessContext{resource: {attributes: [{"service.name", {string_value: "shop"}}]}} */
static const char payload[] = "\x0a\x18\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop";

static void publish(void)
{
	_cleanup_close_ int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	cr_assert_eq(ftruncate(fd, SIZE), 0);
	header = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_assert_neq(header, MAP_FAILED);
	*header = (struct header){
		.version = 2, .size = sizeof(payload) - 1, .published_ns = 1, .payload = payload
	};
	memcpy(header->signature, "OTEL_CTX", sizeof(header->signature));
}

static int read_own(void)
{
	_cleanup_free_ struct process_context *context = NULL;
	uint64_t known = 0;
	int err = context_reader_read(NULL, NULL, NULL, getpid(), &known, &context);

	cr_assert_eq(known, err == 0 ? header->published_ns : 0);

	cr_assert_eq(err == 0, context != NULL);
	if (context)
		cr_assert_str_eq(context->service_name, header->size ? "shop" : "");
	return err;
}

Test(context_reader, reads_what_is_published)
{
	cr_assert_eq(read_own(), -ENODATA);
	publish();
	cr_assert_eq(read_own(), 0);
	header->size = 0;
	cr_assert_eq(read_own(), 0);
}

/* Behind the header, too. */
Test(context_reader, follows_the_payload)
{
	publish();
	header->payload = memcpy(header + 1, payload, sizeof(payload));
	cr_assert_eq(read_own(), 0);
	header->payload = (const char *)0x1000;
	cr_assert_eq(read_own(), -EFAULT);
}

Test(context_reader, leaves_what_is_being_written)
{
	publish();
	header->published_ns = 0;
	cr_assert_eq(read_own(), -EAGAIN);
	header->published_ns = 2;
	cr_assert_eq(read_own(), 0);
}

Test(context_reader, does_not_parse_the_same_again)
{
	struct process_context *context;
	uint64_t known = 1;

	publish();
	cr_assert_eq(context_reader_read(NULL, NULL, NULL, getpid(), &known, &context), -EALREADY);
	cr_assert_null(context);
	header->published_ns = 2;
	cr_assert_eq(context_reader_read(NULL, NULL, NULL, getpid(), &known, &context), 0);
	cr_assert_eq(known, 2);
	free(context);
}

Test(context_reader, leaves_other_mappings_of_the_name)
{
	struct header *first;

	publish();
	header->signature[7] = 'x';
	cr_assert_eq(read_own(), -ENODATA);
	header->signature[7] = 'X';
	header->version = 3;
	cr_assert_eq(read_own(), -ENODATA);
	header->version = 1;
	cr_assert_eq(read_own(), -ENODATA);
	header->version = 2;
	header->size = PROCESS_CONTEXT_MAX_SIZE + 1;
	cr_assert_eq(read_own(), -ENODATA);
	header->size = sizeof(payload) - 1;
	/* One that is behind such a one is found. */
	first = header;
	publish();
	(first < header ? first : header)->signature[0] = 'x';
	header = first < header ? header : first;
	cr_assert_eq(read_own(), 0);
}

Test(context_reader, says_if_it_is_nothing_that_is_known)
{
	publish();
	header->payload = "\x0a\x7f";
	header->size = 2;
	cr_assert_eq(read_own(), -EBADMSG);
}

Test(context_reader, knows_that_a_process_has_ended)
{
	struct process_context *context;
	uint64_t known = 0;

	cr_assert_eq(context_reader_read(NULL, NULL, NULL, 0x7ffffffe, &known, &context), -ESRCH);
	cr_assert_null(context);
}
