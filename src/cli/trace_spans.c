/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_spans.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "map/query.h"
#include "model/event_format.h"
#include "model/syscall_format.h"

void making_reset(struct making *m)
{
	for (size_t i = 0; i < m->attributes.count; i++)
		free(m->attributes.data[i]);
	for (size_t i = 0; i < m->events.count; i++)
		free(m->events.data[i]);
	for (size_t i = 0; i < m->texts.count; i++)
		free(m->texts.data[i]);
	m->attributes.count = m->events.count = m->texts.count = m->spans.count = 0;
}

static void formats_free(struct map *formats)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(formats, &at, &entry))
		event_format_free(entry.value);
	map_free(formats);
}

void making_free(struct making *m)
{
	making_reset(m);
	vec_free(&m->spans);
	vec_free(&m->attributes);
	vec_free(&m->events);
	vec_free(&m->texts);
	vec_free(&m->current);
	formats_free(&m->formats);
}

__attribute__((format(printf, 2, 3))) static const char *text_keep(struct making *m,
								   const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n >= 0 && vec_push(&m->texts, text) == 0)
		return text;
	if (n >= 0)
		free(text);
	m->failed = true;
	return "";
}

static void add_string(struct making *m, const char *key, const char *value)
{
	if (vec_push(&m->current, (struct attribute_view){.key = key,
							  .string = value,
							  .type = ATTRIBUTE_VIEW_STRING}))
		m->failed = true;
}

static void add_integer(struct making *m, const char *key, s64 value)
{
	if (vec_push(&m->current, (struct attribute_view){.key = key,
							  .integer = value,
							  .type = ATTRIBUTE_VIEW_INTEGER}))
		m->failed = true;
}

static void add_boolean(struct making *m, const char *key, bool value)
{
	if (vec_push(&m->current, (struct attribute_view){.key = key,
							  .integer = value,
							  .type = ATTRIBUTE_VIEW_BOOLEAN}))
		m->failed = true;
}

/* Moves the collected attributes into an array of their own. */
static const struct attribute_view *attributes_take(struct making *m, size_t *count)
{
	struct attribute_view *array;

	*count = m->current.count;
	if (!m->current.count)
		return NULL;
	array = malloc(m->current.count * sizeof(*array));
	if (!array || vec_push(&m->attributes, array)) {
		free(array);
		m->failed = true;
		*count = 0;
		return NULL;
	}
	memcpy(array, m->current.data, m->current.count * sizeof(*array));
	m->current.count = 0;
	return array;
}

/* ---- kernel spans ---- */

static void add_peer(struct making *m, const struct file_ref *file)
{
	const struct fact_socket *s = query_socket(m->p, file);
	char address[INET6_ADDRSTRLEN] = "";
	u8 bytes[16];

	if (!s || (s->socket.family != AF_INET && s->socket.family != AF_INET6))
		return;
	add_string(m, "network.transport", file->kind == FILE_KIND_udp ? "udp" : "tcp");
	if (!s->socket.remote_port)
		return;
	memcpy(bytes, &s->socket.remote_hi, 8);
	memcpy(bytes + 8, &s->socket.remote_lo, 8);
	if (s->socket.family == AF_INET)
		inet_ntop(AF_INET, bytes + 12, address, sizeof(address));
	else
		inet_ntop(AF_INET6, bytes, address, sizeof(address));
	add_string(m, "network.peer.address", text_keep(m, "%s", address));
	add_integer(m, "network.peer.port", s->socket.remote_port);
}

/* Which argument is the fd that a call works on, -1: none. */
static int call_fd_argument(const struct kspan *k)
{
	static const u8 arguments[SYSCALL_TABLE_SIZE] = SYSCALL_FDARG_INIT; /* from 1 */
	int nr = k->mode & SYSCALL_COMPAT ? syscall_native(k->nr) : k->nr;

	return nr >= 0 && nr < SYSCALL_TABLE_SIZE ? arguments[nr] - 1 : -1;
}

/* What the call was asked for; an exec that succeeded says it in its own record. */
static const char *call_path(struct making *m, const struct kspan *k)
{
	const struct fact_process *process;
	int nr = k->mode & SYSCALL_COMPAT ? syscall_native(k->nr) : k->nr;
	size_t name;

	if (k->open || (nr != SYSCALL_NR_execve && nr != SYSCALL_NR_execveat) || k->result != 0)
		return query_call_path(m->p, k->tid, k->begin_ns, k->nr);
	process = query_process(m->p, k->pid, k->end_ns);
	if (!process || process->time_ns < k->begin_ns)
		return NULL;
	name = strlen(process->command) + 1;
	return name < process->command_bytes && process->command[name] == '/'
		       ? process->command + name
		       : NULL;
}

#define FD_WORKING_DIRECTORY -100

static void add_fd(struct making *m, const struct kspan *k)
{
	const char *asked = call_path(m, k);
	int index = call_fd_argument(k);
	const char *name;
	s32 fd;

	if (asked)
		add_string(m, "file.path", asked);
	if (index < 0)
		return;
	fd = (s32)k->args[index];
	if (fd == FD_WORKING_DIRECTORY)
		return;
	add_integer(m, "fd", fd);
	name = query_fd_name(m->p, k->pid, fd, k->begin_ns, &k->file);
	if (name) {
		add_string(m, "fd.name", name);
		if (name[0] == '/' && !asked)
			add_string(m, "file.path", name);
	}
	if (k->file.kind == FILE_KIND_tcp || k->file.kind == FILE_KIND_udp)
		add_peer(m, &k->file);
}

static void syscall_attributes(struct making *m, const struct kspan *k)
{
	struct record_syscall r = {.nr = k->nr,
				   .flags = k->mode,
				   .result = k->result,
				   .arg0 = k->args[0],
				   .arg1 = k->args[1],
				   .arg2 = k->args[2],
				   .arg3 = k->args[3],
				   .arg4 = k->args[4],
				   .arg5 = k->args[5],
				   .file = k->file};
	char args[1024];

	if (!k->open) {
		syscall_args_format(args, sizeof(args), &r);
		add_string(m, "args", text_keep(m, "%s", args));
		add_integer(m, "result", k->result);
		if (syscall_is_restart(k->result))
			add_boolean(m, "restarted", true);
		else if (syscall_result_is_error(k->result))
			add_string(m, "error.type", syscall_errno_name((int)-k->result));
	}
	add_fd(m, k);
}

static void wait_attributes(struct making *m, const struct kspan *k)
{
	static const char *const contexts[] = {
#define V(name, value) [value] = #name,
		RECORD_WAKE_CONTEXTS(V)
#undef V
	};
	const char *comm;

	add_string(m, "cause", split_part_name(k->part));
	if (k->reason && k->reason[0])
		add_string(m, "cause.reason", k->reason);
	if (!k->woken_ns)
		return;
	if (k->wake_context != WAKE_task && k->wake_context != WAKE_kernel_thread) {
		add_string(m, "waker", contexts[k->wake_context]);
		return;
	}
	comm = query_comm(m->p, k->waker_tid, k->woken_ns);
	add_string(m, "waker",
		   comm ? text_keep(m, "%s/%u", comm, k->waker_tid)
			: text_keep(m, "%u", k->waker_tid));
}

static const char *fault_attributes(struct making *m, const struct kspan *k)
{
	add_string(m, "address", text_keep(m, "0x%llx", (unsigned long long)k->args[0]));
	add_boolean(m, "write", k->args[2] & FAULT_WRITE);
	return k->args[2] & FAULT_MAJOR ? "major fault" : "minor fault";
}

/* A number that no table knows has the name that strace gives it. */
static const char *call_name(struct making *m, u8 abi_flags, u16 nr)
{
	const char *name = syscall_name(abi_flags, nr);

	return name ? name : text_keep(m, "syscall_0x%x", nr);
}

static void kernel_view(struct making *m, const struct node *n, struct span_view *v)
{
	const struct kspan *k = n->kernel;

	if (n->kind == NODE_SYSCALL) {
		v->kind = "syscall";
		v->name = call_name(m, k->mode & SYSCALL_COMPAT, k->nr);
		syscall_attributes(m, k);
	} else if (n->kind == NODE_WAIT) {
		v->kind = "wait";
		v->name = split_part_name(k->part);
		wait_attributes(m, k);
	} else {
		v->kind = "fault";
		v->name = fault_attributes(m, k);
	}
}

/* ---- spans of the application ---- */

static void attribute_add(struct making *m, const struct span_attribute *a)
{
	const char *key = text_keep(m, "%.*s", (int)a->key_bytes, a->text);
	struct attribute_view view = {.key = key, .integer = (s64)a->value};

	switch (a->type) {
	case ATTRIBUTE_integer:
		view.type = ATTRIBUTE_VIEW_INTEGER;
		break;
	case ATTRIBUTE_real:
		view.type = ATTRIBUTE_VIEW_REAL;
		memcpy(&view.real, &a->value, sizeof(view.real));
		break;
	case ATTRIBUTE_boolean:
		view.type = ATTRIBUTE_VIEW_BOOLEAN;
		break;
	default:
		view.type = ATTRIBUTE_VIEW_STRING;
		view.string = text_keep(m, "%.*s", (int)(a->text_bytes - a->key_bytes),
					a->text + a->key_bytes);
	}
	if (vec_push(&m->current, view))
		m->failed = true;
}

static const struct event_format *format_of(struct making *m, u32 id)
{
	struct event_format *format = map_get(&m->formats, id);
	const struct event_text *text = format ? NULL : query_event_format(m->p, id);

	if (!text || event_format_parse(text->text, text->bytes, &format))
		return format;
	if (map_put(&m->formats, id, format) == 0)
		return format;
	event_format_free(format);
	m->failed = true;
	return NULL;
}

static struct event_view kernel_event_view(struct making *m, const struct kevent *k)
{
	const struct event_format *format = format_of(m, k->format);
	struct event_view view = {.time_ns = k->time_ns, .level = EVENT_VIEW_NO_LEVEL};

	view.name = format ? format->name : text_keep(m, "event:%u", k->format);
	for (unsigned int i = 0; format && i < format->count; i++) {
		const struct event_field *field = &format->fields[i];
		char text[4096];
		s64 integer;

		if (event_field_integer(field, k->payload, k->bytes, &integer))
			add_integer(m, field->name, integer);
		else if (event_field_print(field, k->payload, k->bytes, text, sizeof(text)))
			add_string(m, field->name, text_keep(m, "%s", text));
	}
	add_integer(m, "thread.id", k->tid);
	view.attributes = attributes_take(m, &view.attributes_count);
	return view;
}

static int event_view_compare(const void *a, const void *b)
{
	const struct event_view *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The events of the application, and those of the kernel that fired in the span or thread. */
static const struct event_view *events_make(struct making *m, const struct node *n, size_t *count)
{
	static const struct context none;
	const struct app_span *s = n->app;
	size_t kernel, told = s ? s->events.count : 0;
	const struct kevent *k = query_events(m->p, s ? &s->ctx : &none, n->tid, &kernel);
	struct event_view *events;

	*count = 0;
	if (told + kernel == 0)
		return NULL;
	events = calloc(told + kernel, sizeof(*events));
	if (!events || vec_push(&m->events, events)) {
		free(events);
		m->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < told; i++) {
		const struct span_event *e = &s->events.data[i];
		struct event_view *v = &events[(*count)++];

		for (size_t j = 0; j < e->attributes.count; j++)
			attribute_add(m, &e->attributes.data[j]);
		*v = (struct event_view){
			.time_ns = e->time_ns, .level = e->level, .name = e->name ? e->name : "?"};
		v->attributes = attributes_take(m, &v->attributes_count);
	}
	for (size_t i = 0; i < kernel; i++) { /* a thread's number may have been another's before */
		if (s || (k[i].time_ns >= n->begin_ns && k[i].time_ns <= n->end_ns))
			events[(*count)++] = kernel_event_view(m, &k[i]);
	}
	qsort(events, *count, sizeof(*events), event_view_compare);
	return events;
}

static void app_view(struct making *m, const struct node *n, struct span_view *v)
{
	static const char *const kinds[] = {"internal", "server", "client", "producer", "consumer"};
	const struct app_span *s = n->app;

	v->kind = n->kind == NODE_CONTEXT ? "context" : s->kind < 5 ? kinds[s->kind] : "internal";
	v->name = s->name ? s->name : text_keep(m, "%s", v->span_id);
	v->service = query_resource(m->p, n->pid, n->begin_ns, "service.name");
	v->events = events_make(m, n, &v->events_count);
	for (size_t i = 0; i < s->attributes.count; i++)
		attribute_add(m, &s->attributes.data[i]);
	if (s->status == 2)
		add_string(m, "error.type", s->message ? s->message : "error");
}

/* ---- all ---- */

void making_add(struct making *m, const struct node *n)
{
	struct span_view v = {.host = m->host,
			      .pid = n->pid,
			      .tid = n->tid,
			      .begin_ns = n->begin_ns,
			      .end_ns = n->end_ns,
			      .begin_soft = n->begin_soft,
			      .end_soft = n->end_soft,
			      .threads = n->threads,
			      .time = n->split};

	snprintf(v.span_id, sizeof(v.span_id), "%016llx", (unsigned long long)n->id);
	if (n->parent)
		snprintf(v.parent_id, sizeof(v.parent_id), "%016llx",
			 (unsigned long long)n->parent);
	if (!v.pid)
		v.pid = query_pid(m->p, n->tid, n->begin_ns);
	v.process = query_comm(m->p, v.pid, n->begin_ns);
	v.thread = query_comm(m->p, n->tid, n->begin_ns);
	if (n->kernel) {
		kernel_view(m, n, &v);
	} else if (n->app) {
		app_view(m, n, &v);
	} else {
		v.kind = "thread";
		v.name = v.thread ? v.thread : "?";
		v.events = events_make(m, n, &v.events_count);
	}
	v.attributes = attributes_take(m, &v.attributes_count);
	if (vec_push(&m->spans, v))
		m->failed = true;
}
