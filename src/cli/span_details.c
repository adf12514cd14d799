/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/span_details.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/bar.h"

#define PARTS_SHOWN 3

static void attribute_write(const struct terminal *t, const struct attribute_view *a)
{
	switch (a->type) {
	case ATTRIBUTE_VIEW_STRING:
		terminal_text(t, a->string);
		break;
	case ATTRIBUTE_VIEW_INTEGER:
		fprintf(t->file, "%" PRId64, a->integer);
		break;
	case ATTRIBUTE_VIEW_REAL:
		fprintf(t->file, "%g", a->real);
		break;
	case ATTRIBUTE_VIEW_BOOLEAN:
		fputs(a->integer ? "true" : "false", t->file);
		break;
	}
}

void attributes_write(const struct terminal *t, const struct attribute_view *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].key, "process.executable.name") == 0)
			continue; /* the same on each line: the head says whose trace it is */
		fputs("  ", t->file);
		terminal_text(t, list[i].key);
		putc('=', t->file);
		attribute_write(t, &list[i]);
	}
}

static void named_write(const struct terminal *t, const char *before,
			const struct attribute_view *a)
{
	if (!a)
		return;
	fputs(before, t->file);
	attribute_write(t, a);
}

/* "peer 127.0.0.1:80  bytes 0-64": which bytes of the stream, the last one not included */
static void connection_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *peer = span_view_attribute(span, "network.peer.address");

	if (!peer)
		peer = span_view_attribute(span, "peer.fd.name");
	named_write(t, "  peer ", peer);
	named_write(t, ":", span_view_attribute(span, "network.peer.port"));
	named_write(t, "  bytes ", span_view_attribute(span, "bytes.from"));
	named_write(t, "-", span_view_attribute(span, "bytes.to"));
	named_write(t, "  messages ", span_view_attribute(span, "messages.from"));
	named_write(t, "-", span_view_attribute(span, "messages.to"));
	if (span_view_attribute(span, "bytes.unsure"))
		putc('?', t->file);
}

/* Calls that return an address. */
static bool returns_address(const struct span_view *span)
{
	static const char *const calls[] = {"brk", "mmap", "mremap", "shmat"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(span->name, calls[i]) == 0)
			return true;
	return false;
}

/* " = -2 ENOENT  </etc/passwd>": what came of a call or request, and of what file */
static void outcome_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *result = span_view_attribute(span, "result");
	const struct attribute_view *error = span_view_attribute(span, "error.type");
	const struct attribute_view *name = span_view_attribute(span, "file.path");

	if (result) {
		fputs(" = ", t->file);
		if (!error && result->integer && returns_address(span))
			fprintf(t->file, "%#" PRIx64, (uint64_t)result->integer);
		else
			attribute_write(t, result);
	}
	if (error) {
		putc(' ', t->file);
		attribute_write(t, error);
	}
	if (!name)
		name = span_view_attribute(span, "fd.name");
	if (name) {
		fputs("  <", t->file);
		attribute_write(t, name);
		putc('>', t->file);
	}
	connection_write(t, span);
}

/* "(3, 0x7f.., 4096) = 4096  </etc/passwd>" as strace has it */
static void call_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *args = span_view_attribute(span, "args");

	putc('(', t->file);
	if (args)
		attribute_write(t, args);
	putc(')', t->file);
	outcome_write(t, span);
}

static void request_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *fd = span_view_attribute(span, "fd");
	const struct attribute_view *slot = span_view_attribute(span, "io_uring.slot");

	if (fd || slot) {
		fputs(fd ? "fd " : "slot ", t->file);
		attribute_write(t, fd ? fd : slot);
	}
	outcome_write(t, span);
}

/* "disk 253:0 4.00 K at 1234567, queued 12.0 us, sync": what the name does not say. */
static void block_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *bytes = span_view_attribute(span, "disk.bytes");
	const struct attribute_view *queued = span_view_attribute(span, "disk.queued_ns");
	char text[UNITS_TEXT_BYTES];

	named_write(t, "disk ", span_view_attribute(span, "system.device"));
	if (bytes && bytes->integer)
		fprintf(t->file, " %s", units_format_bytes((uint64_t)bytes->integer, text));
	named_write(t, " at ", span_view_attribute(span, "disk.sector"));
	if (queued && queued->integer)
		fprintf(t->file, ", queued %s", units_format_ns(queued->integer, text));
	named_write(t, ", ", span_view_attribute(span, "disk.flags"));
	if (span_view_attribute(span, "error.type"))
		fputs(", failed", t->file);
}

/* A thread as top and gdb have it: its name, and its number in brackets. */
static void waker_write(const struct terminal *t, const struct span_view *span)
{
	const struct attribute_view *waker = span_view_attribute(span, "waker");
	const struct attribute_view *tid = span_view_attribute(span, "waker.tid");
	const char *slash = waker && tid ? strrchr(waker->string, '/') : NULL;
	char name[64];

	if (!waker)
		return;
	fputs("woken by ", t->file);
	if (slash)
		snprintf(name, sizeof(name), "%.*s[%" PRId64 "]", (int)(slash - waker->string),
			 waker->string, tid->integer);
	terminal_text(t, slash ? name : waker->string);
}

static void details_write(const struct terminal *t, const struct span_view *span)
{
	if (strcmp(span->kind, "syscall") == 0) {
		call_write(t, span);
	} else if (strcmp(span->kind, "io_uring") == 0) {
		request_write(t, span);
	} else if (strcmp(span->kind, "block") == 0) {
		block_write(t, span);
	} else if (strcmp(span->kind, "wait") != 0) {
		bar_percents(t, &span->time, PARTS_SHOWN);
		attributes_write(t, span->attributes, span->attributes_count);
	}
	if (strcmp(span->kind, "wait") == 0)
		waker_write(t, span);
	if (span->begin_soft)
		fputs("  began earlier", t->file);
	if (span->end_soft)
		fputs("  was not seen to end", t->file);
}

void span_details_write(const struct terminal *t, const struct span_view *span, int room)
{
	char *text = NULL;
	size_t size = 0;
	struct terminal memory = {0};

	if (!t->cut) {
		memory.file = t->file;
		details_write(&memory, span);
		return;
	}
	memory.file = open_memstream(&text, &size);
	if (!memory.file)
		return;
	details_write(&memory, span);
	fclose(memory.file);
	terminal_rest(t, text, room);
	free(text);
}
