/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with a level of detail of their own, as a user names them. */
#ifndef RECORDER_DETAIL_SCOPE_H
#define RECORDER_DETAIL_SCOPE_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "capture/capture.h"

#define DETAIL_SCOPE_BYTES 192

/*
 * Reads a scope: a pid, the path of a cgroup, service:NAME, spans, or the name of a program or
 * thread.
 * `*scope` borrows the text. 0 or a negative errno.
 */
static inline int detail_scope_read(const char *text, struct capture_detail_scope *scope,
				    struct error *e)
{
	size_t length = strlen(text);
	struct capture_detail_scope read = {0};
	unsigned long pid;

	if (!length || length >= DETAIL_SCOPE_BYTES || strpbrk(text, ",=\n"))
		return error_say(e, EINVAL, "'%s' is no pid, cgroup or name of a program", text);
	if (strcmp(text, "spans") == 0) {
		read.spans = true;
	} else if (strncmp(text, "service:", 8) == 0) {
		if (!text[8])
			return error_say(e, EINVAL, "'%s' names no service", text);
		read.service = text + 8;
	} else if (strchr(text, '/')) {
		read.cgroup = text;
	} else if (strspn(text, "0123456789") < length) {
		read.name = text;
	} else {
		pid = strtoul(text, NULL, 10);
		if (!pid || pid > INT32_MAX)
			return error_say(e, EINVAL, "'%s' is no pid", text);
		read.pid = (pid_t)pid;
	}
	read.calls = scope->calls;
	*scope = read;
	return 0;
}

#endif
