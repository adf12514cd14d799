/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/span_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/process_name.h"
#include "answer/span_kernel.h"
#include "map/fact/query.h"
#include "map/unknown.h"
#include "model/event_format.h"

/* ---- events ---- */

static const struct event_format *format_of(struct span_builder *b, u32 id)
{
	struct event_format *format = map_get(&b->formats, id);
	const struct event_text *text = format ? NULL : query_event_format(b->p, id);

	if (!text || event_format_parse(text->text, text->bytes, &format))
		return format;
	if (map_put(&b->formats, id, format) == 0)
		return format;
	event_format_free(format);
	b->failed = true;
	return NULL;
}

static struct event kernel_event(struct span_builder *b, const struct kevent *k)
{
	const struct event_format *format = format_of(b, k->format);
	struct event view = {.time_ns = k->time_ns, .level = EVENT_NO_LEVEL};

	view.name = format ? format->name : builder_text(b, "event:%u", k->format);
	for (unsigned int i = 0; format && i < format->count; i++) {
		const struct event_field *field = &format->fields[i];
		char text[4096];
		s64 integer;

		if (event_field_integer(field, k->payload, k->bytes, &integer))
			builder_integer(b, field->name, integer);
		else if (event_field_print(field, k->payload, k->bytes, text, sizeof(text)))
			builder_string(b, field->name, builder_copy(b, text));
	}
	builder_integer(b, "thread.id", k->tid);
	view.attributes = builder_take(b, &view.attributes_count);
	return view;
}

static int event_compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* The events of the application, and the kernel events that fired in the span or thread. */
static const struct event *events_make(struct span_builder *b, const struct node *n, size_t *count)
{
	const struct app_span *s = node_app(b->p, n);
	size_t kernel, told = s ? s->events.count : 0;
	const struct kevent *k = s ? query_span_events(b->p, &s->ctx, &kernel)
				   : query_thread_events(b->p, n->of, n->tid, &kernel);
	struct event *events;

	*count = 0;
	if (told + kernel == 0)
		return NULL;
	b->events = events = calloc(told + kernel, sizeof(*events));
	if (!events) {
		b->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < told; i++) {
		const struct span_event *e = &s->events.data[i];
		struct event *v = &events[(*count)++];

		for (size_t j = 0; j < e->attributes.count; j++)
			builder_given(b, &e->attributes.data[j]);
		*v = (struct event){.time_ns = e->time_ns ? e->time_ns
							  : n->begin_ns, /* 0: it was not seen */
				    .level = e->level,
				    .name = e->name ? e->name : "?"};
		v->attributes = builder_take(b, &v->attributes_count);
	}
	for (size_t i = 0; i < kernel; i++)
		events[(*count)++] = kernel_event(b, &k[i]);
	qsort(events, *count, sizeof(*events), event_compare);
	return events;
}

/* ---- spans of the application ---- */

static void text_unless_given(struct span_builder *b, const char *key, const char *value)
{
	if (value && !builder_has(b, key))
		builder_string(b, key, value);
}

/* The attributes that OpenTelemetry defines for a status without a field. */
static void status_attributes(struct span_builder *b, const struct app_span *s)
{
	if (s->status != 1 && s->status != 2)
		return;
	text_unless_given(b, "otel.status_code", s->status == 1 ? "OK" : "ERROR");
	text_unless_given(b, "otel.status_description", s->message);
}

static void app_view(struct span_builder *b, const struct node *n, const struct app_span *s,
		     struct span *v)
{
	static const char *const kinds[] = {"internal", "server", "client", "producer", "consumer"};

	v->kind = n->kind == NODE_CONTEXT ? "context" : s->kind < 5 ? kinds[s->kind] : "internal";
	v->name = s->name ? s->name : v->span_id;
	v->service = query_resource(b->p, n->pid, n->begin_ns, "service.name");
}

static void app_attributes(struct span_builder *b, const struct node *n, const struct app_span *s,
			   struct span *v)
{
	v->events = events_make(b, n, &v->events_count);
	for (size_t i = 0; i < s->attributes.count; i++)
		builder_given(b, &s->attributes.data[i]);
	if (s->events_deleted && !builder_has(b, "events.deleted"))
		builder_integer(b, "events.deleted", (s64)s->events_deleted);
	if (s->attributes_deleted && !builder_has(b, "attributes.deleted"))
		builder_integer(b, "attributes.deleted", (s64)s->attributes_deleted);
	status_attributes(b, s);
}

static void container_attribute(struct span_builder *b, u32 pid, u64 time_ns)
{
	text_unless_given(b, "container.id", pid ? query_container(b->p, pid, time_ns) : NULL);
}

#define DELETED " (deleted)" /* in /proc, for a file that was deleted or replaced */

static void executable_attribute(struct span_builder *b, u32 pid, u64 time_ns)
{
	const char *path = pid ? query_executable(b->p, pid, time_ns) : NULL;
	const char *name = path ? strrchr(path, '/') : NULL;
	size_t len = name ? strlen(name + 1) : 0;

	if (len > strlen(DELETED) && strcmp(name + 1 + len - strlen(DELETED), DELETED) == 0)
		len -= strlen(DELETED);
	if (name)
		text_unless_given(b, "process.executable.name",
				  builder_text(b, "%.*s", (int)len, name + 1));
}

/* ---- threads ---- */

/* Adds the command that the process ran last, which can be longer than an attribute's usual text.
 */
static void command_attribute(struct span_builder *b, u32 pid, u64 time_ns)
{
	char text[4096];

	if (pid)
		text_unless_given(
			b, "process.command_line",
			builder_copy(b, name_command(b->p, pid, time_ns, text, sizeof(text))));
}

/* Adds how it ended, as wait() reports it: for the process or, if not the leader, the thread. */
static void thread_attributes(struct span_builder *b, const struct life *l)
{
	bool leader = l->tid == l->pid;
	int signal = l->exit_code & 0x7f;
	const char *name = signal ? sigabbrev_np(signal) : NULL;

	if (!l->exit_ns)
		return;
	if (!signal)
		builder_integer(b, leader ? "process.exit.code" : "thread.exit.code",
				l->exit_code >> 8 & 0xff);
	else
		builder_string(b, leader ? "process.exit.signal" : "thread.exit.signal",
			       name ? builder_text(b, "SIG%s", name)
				    : builder_text(b, "%d", signal));
}

static void thread_view(struct span_builder *b, const struct node *n, struct span *v)
{
	const struct life *life = node_life(b->p, n);

	v->events = events_make(b, n, &v->events_count);
	if (life)
		thread_attributes(b, life);
	command_attribute(b, v->pid, n->end_ns);
	executable_attribute(b, v->pid, n->end_ns);
	container_attribute(
		b, v->pid,
		n->end_ns); /* at its end: a thread is made outside and then moved into it */
}

/* ---- all ---- */

/* Makes a span that is not a kernel span. */
static void other_view(struct span_builder *b, const struct node *n, struct span *v, bool brief)
{
	const struct app_span *app = node_app(b->p, n);

	v->time = node_split(b->p, b->tree, n);
	if (app) {
		app_view(b, n, app, v);
		if (brief)
			return;
		app_attributes(b, n, app, v);
		executable_attribute(b, v->pid, n->begin_ns);
		container_attribute(b, v->pid, n->begin_ns);
	} else if (n->kind == NODE_CONTEXT) {
		v->kind = "context";
		v->name = v->span_id;
	} else {
		v->kind = "thread";
		v->name = v->thread ? v->thread : "?";
		if (!brief)
			thread_view(b, n, v);
	}
}

/* Says why some of its time is unknown: "loss", or several with commas. */
static void unknown_attribute(struct span_builder *b, const struct node *n, const struct span *v)
{
	const struct unknown_of of = {n->pid, n->tid, n->begin_ns, n->end_ns,
				      !node_is_kernel(n) && n->kind != NODE_THREAD};
	unsigned int reasons;
	char text[64];
	size_t length = 0;

	if (v->time.ns[SPLIT_unknown] <= 0)
		return;
	reasons = unknown_reasons(b->p, &of);
	for (unsigned int i = 0; unknown_reason_name(i); i++)
		if (reasons & 1u << i)
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
						   length ? "," : "", unknown_reason_name(i));
	builder_string(b, "unknown.reason", builder_copy(b, text));
}

const struct span *span_make(struct span_builder *b, const struct node *n, bool brief)
{
	struct span *v = &b->span;

	builder_reset(b);
	v->pid = n->pid ? n->pid : query_pid(b->p, n->tid, n->begin_ns);
	v->process = query_comm(b->p, v->pid, n->begin_ns);
	if (brief && node_is_kernel(n)) {
		span_make_kernel(b, n, v, true);
		return b->failed ? NULL : v;
	}
	trace_id_format(v->trace_id, n->trace);
	v->tid = n->tid;
	v->begin_ns = n->begin_ns;
	v->end_ns = n->end_ns;
	v->begin_soft = n->begin_soft;
	v->end_soft = n->end_soft;
	v->threads = node_threads(b->tree, n);
	span_id_format(v->span_id, n->id);
	if (n->parent)
		span_id_format(v->parent_id, n->parent);
	v->thread = query_comm(b->p, n->tid, n->begin_ns);
	if (node_is_kernel(n))
		span_make_kernel(b, n, v, brief);
	else
		other_view(b, n, v, brief);
	if (!brief)
		unknown_attribute(b, n, v);
	v->attributes = b->current.data;
	v->attributes_count = b->current.count;
	return b->failed ? NULL : v;
}
