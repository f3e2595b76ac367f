// SPDX-License-Identifier: Apache-2.0
/* The names of what security modules bind processes by: as the kernel says. */
#include "sandbox/security_domain.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

Test(security_domain, is_what_the_kernel_says)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/attr/current", "re");
	_cleanup_free_ char *domain = NULL;
	char text[8192];
	size_t n;

	errno = 0;
	n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = '\0';
	cr_assert_eq(security_domain_read((unsigned int)getpid(), &domain), 0);
	if (errno == EINVAL || errno == ENOENT)
		cr_assert_null(domain, "no module of this machine has names");
	else
		cr_assert_str_eq(domain, text);
}

Test(security_domain, is_that_of_no_process)
{
	char *domain = NULL;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert_eq(security_domain_read((unsigned int)child, &domain), 0);
	cr_assert_null(domain);
}

Test(security_domain, has_a_digest)
{
	static const uint8_t zeros[SECURITY_DOMAIN_DIGEST_SIZE];
	uint8_t none[sizeof(zeros)], unread[sizeof(zeros)], some[sizeof(zeros)],
		same[sizeof(zeros)];

	security_domain_digest(NULL, none);
	security_domain_digest("", unread);
	security_domain_digest("unconfined\n", some);
	security_domain_digest("unconfined\n", same);
	cr_assert(memcmp(none, zeros, sizeof(zeros)) == 0);
	cr_assert(memcmp(unread, zeros, sizeof(zeros)) != 0);
	cr_assert(memcmp(some, unread, sizeof(some)) != 0);
	cr_assert(memcmp(some, same, sizeof(some)) == 0);
}
