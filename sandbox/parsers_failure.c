// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sandbox/parsers.h"

const char *parsers_failure(int err)
{
	switch (err) {
	case -ETIME:
		return "parser took too long";
	case -EPROTO:
		return "parser gave a wrong answer";
	case -ECONNABORTED:
		return "parser crashed or was ended";
	default:
		return NULL;
	}
}

const char *parsers_explain(int err)
{
	switch (err) {
	case -ETIME:
		return "its parser took too long; --sandbox=off waits, for files that can be trusted";
	case -EPROTO:
	case -ECONNABORTED:
		return "its parser crashed or was ended, as by a damaged file";
	case -EAGAIN:
		return "no parser can be started now; try again";
	case -EBUSY:
	case -ETIMEDOUT:
		return "its file system does not answer";
	case -EBADMSG:
		return "it is damaged";
	case -ENOEXEC:
		return "it is not an ELF file of 64 bits";
	case -ENOTSUP:
		return "it is for another kind of machine";
	case -EFBIG:
		return "it has too many names; give a longer one, or a glob for fewer";
	case -E2BIG:
		return "that line has code at too many places";
	case -ENAMETOOLONG:
		return "that name is too long";
	default:
		return strerror(-err);
	}
}
