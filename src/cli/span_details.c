/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/span_details.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/bar.h"

#define PARTS_SHOWN 3

static void attribute_write(const struct terminal *t, const struct attribute *a)
{
	switch (a->type) {
	case VALUE_STRING:
		terminal_text(t, a->string);
		break;
	case VALUE_INTEGER:
		fprintf(t->file, "%" PRId64, a->integer);
		break;
	case VALUE_REAL:
		fprintf(t->file, "%g", a->real);
		break;
	case VALUE_BOOLEAN:
		fputs(a->integer ? "true" : "false", t->file);
		break;
	case VALUE_BYTES:
	case VALUE_ARRAY:
	case VALUE_MAP:
		fprintf(t->file, "%zu values", a->count);
		break;
	case VALUE_NONE:
		break;
	}
}

void attributes_write(const struct terminal *t, const struct attribute *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i].key, "process.executable.name") == 0 ||
		    strcmp(list[i].key, "process.command_line") == 0)
			continue; /* the same on each line, and in the head of the trace */
		fputs("  ", t->file);
		terminal_text(t, list[i].key);
		putc('=', t->file);
		attribute_write(t, &list[i]);
	}
}

static void named_write(const struct terminal *t, const char *before, const struct attribute *a)
{
	if (!a)
		return;
	fputs(before, t->file);
	attribute_write(t, a);
}

/* "peer 127.0.0.1:80  bytes 0-64": a range of the stream, whose end is exclusive */
static void connection_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *peer = span_attribute_find(span, "network.peer.address");

	if (!peer)
		peer = span_attribute_find(span, "peer.fd.name");
	named_write(t, "  peer ", peer);
	named_write(t, ":", span_attribute_find(span, "network.peer.port"));
	named_write(t, "  bytes ", span_attribute_find(span, "bytes.from"));
	named_write(t, "-", span_attribute_find(span, "bytes.to"));
	named_write(t, "  messages ", span_attribute_find(span, "messages.from"));
	named_write(t, "-", span_attribute_find(span, "messages.to"));
	if (span_attribute_find(span, "bytes.unsure"))
		putc('?', t->file);
}

/* Calls that return an address. */
static bool returns_address(const struct span *span)
{
	static const char *const calls[] = {"brk", "mmap", "mremap", "shmat"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(span->name, calls[i]) == 0)
			return true;
	return false;
}

static void file_write(const struct terminal *t, const char *before, const struct attribute *name)
{
	fprintf(t->file, "%s<", before);
	attribute_write(t, name);
	putc('>', t->file);
}

/* " = -2 ENOENT  </etc/passwd>": the result of a call or request, and its file */
static void outcome_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *result = span_attribute_find(span, "result");
	const struct attribute *error = span_attribute_find(span, "error.type");
	const struct attribute *name = span_attribute_find(span, "file.path");
	const struct attribute *ready = span_attribute_find(span, "poll.ready");
	/* the second file of a call, and how it is related to the first one */
	static const struct {
		const char *key, *before;
	} others[] = {{"file.path.new", " -> "},
		      {"file.symbolic_link.target_path", " -> "},
		      {"mount.source", " of "},
		      {"from.fd.name", " from "},
		      {"to.fd.name", " to "}};

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
	if (ready) {
		fputs(" (", t->file);
		attribute_write(t, ready);
		putc(')', t->file);
	}
	if (span_attribute_find(span, "restarted"))
		fputs(result ? " (began again behind a signal)"
			     : " = ? begins again behind a signal",
		      t->file);
	if (!name)
		name = span_attribute_find(span, "fd.name");
	if (name)
		file_write(t, "  ", name);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (span_attribute_find(span, others[i].key))
			file_write(t, others[i].before, span_attribute_find(span, others[i].key));
	connection_write(t, span);
}

/* "(3, 0x7f.., 4096) = 4096  </etc/passwd>", like strace */
static void call_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *args = span_attribute_find(span, "args");

	putc('(', t->file);
	if (args)
		attribute_write(t, args);
	else /* it has not returned */
		fputs("…", t->file);
	putc(')', t->file);
	outcome_write(t, span);
}

static void request_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *fd = span_attribute_find(span, "fd");
	const struct attribute *slot = span_attribute_find(span, "io_uring.slot");

	if (fd || slot) {
		fputs(fd ? "fd " : "slot ", t->file);
		attribute_write(t, fd ? fd : slot);
	}
	outcome_write(t, span);
}

/* "disk 253:0 4.00 K at 1234567, queued 12.0 us, sync": details that are not in the name. */
static void block_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *bytes = span_attribute_find(span, "disk.bytes");
	const struct attribute *queued = span_attribute_find(span, "disk.queued_ns");
	char text[UNITS_TEXT_BYTES];

	named_write(t, "disk ", span_attribute_find(span, "system.device"));
	if (bytes && bytes->integer)
		fprintf(t->file, " %s", units_format_bytes((uint64_t)bytes->integer, text));
	named_write(t, " at ", span_attribute_find(span, "disk.sector"));
	if (queued && queued->integer)
		fprintf(t->file, ", queued %s", units_format_ns(queued->integer, text));
	named_write(t, ", ", span_attribute_find(span, "disk.flags"));
	if (span_attribute_find(span, "error.type"))
		fputs(", failed", t->file);
}

/* Writes a thread like top and gdb: its name, and its tid in brackets. */
static void thread_write(const struct terminal *t, const struct attribute *thread,
			 const struct attribute *tid)
{
	const char *slash = tid ? strrchr(thread->string, '/') : NULL;
	char name[64];

	if (slash)
		snprintf(name, sizeof(name), "%.*s[%" PRId64 "]", (int)(slash - thread->string),
			 thread->string, tid->integer);
	else if (tid)
		snprintf(name, sizeof(name), "thread %" PRId64, tid->integer);
	terminal_text(t, tid ? name : thread->string);
}

/* "held by make[12]  woken by make[12]" */
static void waker_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *waker = span_attribute_find(span, "waker");
	const struct attribute *owner = span_attribute_find(span, "lock.owner");

	if (owner) {
		fputs("held by ", t->file);
		thread_write(t, owner, span_attribute_find(span, "lock.owner.tid"));
		fputs(waker ? "  " : "", t->file);
	}
	if (!waker)
		return;
	fputs("woken by ", t->file);
	thread_write(t, waker, span_attribute_find(span, "waker.tid"));
}

/* "CPU taken by make[12]": which thread had the CPU that this one waited for; else it was idle */
static void had_cpu_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *thread = span_attribute_find(span, "on_cpu_instead");
	const struct attribute *tid = span_attribute_find(span, "on_cpu_instead.tid");

	if (!thread)
		return;
	if (span_attribute_find(span, "waker") || span_attribute_find(span, "ended_by.fd.name"))
		fputs("  ", t->file);
	fputs(tid ? "CPU taken by " : "CPU idle", t->file);
	if (tid)
		thread_write(t, thread, tid);
}

/* "  ended by <socket:[7]>  peer 10.0.0.1:80": of a wait for many, what ended it */
static void ended_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *name = span_attribute_find(span, "ended_by.fd.name");

	if (name)
		file_write(t, "  ended by ", name);
	if (name && !span_attribute_find(span, "syscall")) /* a call shows the peer itself */
		connection_write(t, span);
}

/* "read  </var/log/x>  woken by cron[7]": the call only if the wait says it (--detail waits) */
static void wait_write(const struct terminal *t, const struct span *span)
{
	const struct attribute *call = span_attribute_find(span, "syscall");

	if (call) {
		attribute_write(t, call);
		outcome_write(t, span);
		if (span_attribute_find(span, "waker") ||
		    span_attribute_find(span, "on_cpu_instead"))
			fputs("  ", t->file);
	}
	waker_write(t, span);
	ended_write(t, span);
	had_cpu_write(t, span);
}

static void details_write(const struct terminal *t, const struct span *span)
{
	bool split_is_shown = false; /* and all attributes, among them unknown.reason */

	if (strcmp(span->kind, "syscall") == 0) {
		call_write(t, span);
	} else if (strcmp(span->kind, "io_uring") == 0) {
		request_write(t, span);
	} else if (strcmp(span->kind, "block") == 0) {
		block_write(t, span);
	} else if (strcmp(span->kind, "wait") == 0) {
		wait_write(t, span);
	} else {
		bar_percents(t, &span->time, PARTS_SHOWN);
		attributes_write(t, span->attributes, span->attributes_count);
		split_is_shown = true;
	}
	if (!split_is_shown)
		named_write(t, "  unknown: ", span_attribute_find(span, "unknown.reason"));
	if (span->begin_soft)
		fputs("  began earlier", t->file);
	if (span->end_soft)
		fputs("  was not seen to end", t->file);
}

void span_details_write(const struct terminal *t, const struct span *span, int room)
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
