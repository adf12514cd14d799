/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Puts "context: " in front of the chain. If it does not fit, the end of the chain is cut. */
static void error_prepend(struct error *e, const char *context)
{
	size_t front = strnlen(context, ERROR_TEXT_BYTES / 2);
	size_t chain = strlen(e->text);

	if (chain > 0) {
		size_t room = ERROR_TEXT_BYTES - 1 - front - 2;

		if (chain > room)
			chain = room;
		memmove(e->text + front + 2, e->text, chain);
		memcpy(e->text + front, ": ", 2);
		chain += 2;
	}
	memcpy(e->text, context, front);
	e->text[front + chain] = '\0';
}

static void error_add(struct error *e, int err, const char *format, va_list args)
{
	char context[ERROR_TEXT_BYTES];

	vsnprintf(context, sizeof(context), format, args);
	error_prepend(e, context);
	if (e->err == 0)
		e->err = abs(err);
}

int error_set(struct error *e, int err, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (e) {
		if (e->text[0] == '\0' && err != 0)
			snprintf(e->text, sizeof(e->text), "%s", strerror(abs(err)));
		va_start(args, format);
		error_add(e, err, format, args);
		va_end(args);
	}
	errno = saved;
	return -abs(err);
}

int error_say(struct error *e, int err, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (e) {
		va_start(args, format);
		error_add(e, err, format, args);
		va_end(args);
	}
	errno = saved;
	return -abs(err);
}

int error_misuse(struct error *e, const char *format, ...)
{
	int saved = errno;
	va_list args;

	if (e) {
		e->misuse = true;
		va_start(args, format);
		error_add(e, EINVAL, format, args);
		va_end(args);
	}
	errno = saved;
	return -EINVAL;
}

void error_hint(struct error *e, const char *format, ...)
{
	size_t length = e ? strlen(e->text) : 0;
	int saved = errno;
	va_list args;

	if (length && length + 2 < sizeof(e->text)) {
		memcpy(e->text + length, "; ", 3);
		va_start(args, format);
		vsnprintf(e->text + length + 2, sizeof(e->text) - length - 2, format, args);
		va_end(args);
	}
	errno = saved;
}

void error_clear(struct error *e)
{
	if (e) {
		e->err = 0;
		e->misuse = false;
		e->text[0] = '\0';
	}
}

const char *error_name(int err)
{
	return strerrorname_np(abs(err));
}
