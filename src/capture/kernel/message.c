// SPDX-License-Identifier: Apache-2.0
/* libbpf has one callback for messages in the whole process. Warnings are kept here for errors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "capture/kernel/kernel.h"

static char message_text[400];

static int message_keep(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t used = strlen(message_text);

	if (level != LIBBPF_WARN || used + 3 >= sizeof(message_text))
		return 0;
	if (used) {
		strcpy(message_text + used, "; ");
		used += 2;
	}
	vsnprintf(message_text + used, sizeof(message_text) - used, format, args);
	for (char *at = message_text + used; *at; at++) {
		if (*at == '\n')
			*at = at[1] ? ';' : '\0';
	}
	return 0;
}

void capture_messages_begin(void)
{
	message_text[0] = '\0';
	libbpf_set_print(message_keep);
}

int capture_messages_fail(struct error *e, int err, const char *what)
{
	if (err < 0)
		err = -err;
	if (message_text[0] && err != EMFILE)
		return error_say(e, err, "%s: %s (%s)", what, strerror(err), message_text);
	return error_set(e, err, "%s", what);
}
