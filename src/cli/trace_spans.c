/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace_spans.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frames.h"
#include "map/fact/query.h"
#include "model/event_format.h"

/* Forgets the span, for the next one. */
static void making_reset(struct making *m)
{
	for (size_t i = 0; i < m->attributes.count; i++)
		free(m->attributes.data[i]);
	for (size_t i = 0; i < m->texts.count; i++)
		free(m->texts.data[i]);
	free(m->events);
	frames_free((struct frame_view *)m->span.frames, m->span.frames_count);
	m->events = NULL;
	m->attributes.count = m->texts.count = m->current.count = 0;
	m->span = (struct span_view){.host = m->host};
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
	vec_free(&m->attributes);
	vec_free(&m->texts);
	vec_free(&m->current);
	formats_free(&m->formats);
	symbolizer_free(m->symbolizer);
}

const char *making_text(struct making *m, const char *format, ...)
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

const char *making_copy(struct making *m, const char *of)
{
	char *text = strdup(of);

	if (text && vec_push(&m->texts, text) == 0)
		return text;
	free(text);
	m->failed = true;
	return "";
}

void making_string(struct making *m, const char *key, const char *value)
{
	if (vec_push(&m->current, (struct attribute_view){.key = key,
							  .string = value,
							  .type = ATTRIBUTE_VIEW_STRING}))
		m->failed = true;
}

void making_integer(struct making *m, const char *key, s64 value)
{
	if (vec_push(&m->current, (struct attribute_view){.key = key,
							  .integer = value,
							  .type = ATTRIBUTE_VIEW_INTEGER}))
		m->failed = true;
}

void making_boolean(struct making *m, const char *key, bool value)
{
	if (vec_push(&m->current, (struct attribute_view){.key = key,
							  .integer = value,
							  .type = ATTRIBUTE_VIEW_BOOLEAN}))
		m->failed = true;
}

/* Moves the collected attributes of an event into an array of their own. */
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

/* ---- spans of the application ---- */

/* One that is given again takes the place of the one before, as OpenTelemetry has it. */
static void attribute_set(struct making *m, const struct attribute_view *view)
{
	for (size_t i = 0; i < m->current.count; i++) {
		if (strcmp(m->current.data[i].key, view->key) == 0) {
			m->current.data[i] = *view;
			return;
		}
	}
	if (vec_push(&m->current, *view))
		m->failed = true;
}

static void attribute_add(struct making *m, const struct span_attribute *a)
{
	const char *key = making_text(m, "%.*s", (int)a->key_bytes, a->text);
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
		view.string = making_text(m, "%.*s", (int)(a->text_bytes - a->key_bytes),
					  a->text + a->key_bytes);
	}
	attribute_set(m, &view);
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

	view.name = format ? format->name : making_text(m, "event:%u", k->format);
	for (unsigned int i = 0; format && i < format->count; i++) {
		const struct event_field *field = &format->fields[i];
		char text[4096];
		s64 integer;

		if (event_field_integer(field, k->payload, k->bytes, &integer))
			making_integer(m, field->name, integer);
		else if (event_field_print(field, k->payload, k->bytes, text, sizeof(text)))
			making_string(m, field->name, making_copy(m, text));
	}
	making_integer(m, "thread.id", k->tid);
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
	const struct app_span *s = node_app(m->p, n);
	size_t kernel, told = s ? s->events.count : 0;
	const struct kevent *k = s ? query_span_events(m->p, &s->ctx, &kernel)
				   : query_thread_events(m->p, n->of, n->tid, &kernel);
	struct event_view *events;

	*count = 0;
	if (told + kernel == 0)
		return NULL;
	m->events = events = calloc(told + kernel, sizeof(*events));
	if (!events) {
		m->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < told; i++) {
		const struct span_event *e = &s->events.data[i];
		struct event_view *v = &events[(*count)++];

		for (size_t j = 0; j < e->attributes.count; j++)
			attribute_add(m, &e->attributes.data[j]);
		*v = (struct event_view){
			.time_ns = e->time_ns ? e->time_ns : n->begin_ns, /* 0: it was not seen */
			.level = e->level,
			.name = e->name ? e->name : "?"};
		v->attributes = attributes_take(m, &v->attributes_count);
	}
	for (size_t i = 0; i < kernel; i++)
		events[(*count)++] = kernel_event_view(m, &k[i]);
	qsort(events, *count, sizeof(*events), event_view_compare);
	return events;
}

/* Whether the program says it itself: that holds. */
static bool is_given(const struct making *m, const char *key)
{
	for (size_t i = 0; i < m->current.count; i++)
		if (strcmp(m->current.data[i].key, key) == 0)
			return true;
	return false;
}

static void text_unless_given(struct making *m, const char *key, const char *value)
{
	if (value && !is_given(m, key))
		making_string(m, key, value);
}

/* As OpenTelemetry names them where a span has no place for them. */
static void status_attributes(struct making *m, const struct app_span *s)
{
	if (s->status != 1 && s->status != 2)
		return;
	text_unless_given(m, "otel.status_code", s->status == 1 ? "OK" : "ERROR");
	text_unless_given(m, "otel.status_description", s->message);
}

static void app_view(struct making *m, const struct node *n, const struct app_span *s,
		     struct span_view *v)
{
	static const char *const kinds[] = {"internal", "server", "client", "producer", "consumer"};

	v->kind = n->kind == NODE_CONTEXT ? "context" : s->kind < 5 ? kinds[s->kind] : "internal";
	v->name = s->name ? s->name : v->span_id;
	v->service = query_resource(m->p, n->pid, n->begin_ns, "service.name");
}

static void app_attributes(struct making *m, const struct node *n, const struct app_span *s,
			   struct span_view *v)
{
	v->events = events_make(m, n, &v->events_count);
	for (size_t i = 0; i < s->attributes.count; i++)
		attribute_add(m, &s->attributes.data[i]);
	if (s->events_deleted && !is_given(m, "events.deleted"))
		making_integer(m, "events.deleted", (s64)s->events_deleted);
	if (s->attributes_deleted && !is_given(m, "attributes.deleted"))
		making_integer(m, "attributes.deleted", (s64)s->attributes_deleted);
	status_attributes(m, s);
}

static void container_attribute(struct making *m, u32 pid, u64 time_ns)
{
	text_unless_given(m, "container.id", pid ? query_container(m->p, pid, time_ns) : NULL);
}

#define DELETED " (deleted)" /* as /proc tells of a file that is gone or was replaced */

static void executable_attribute(struct making *m, u32 pid, u64 time_ns)
{
	const char *path = pid ? query_executable(m->p, pid, time_ns) : NULL;
	const char *name = path ? strrchr(path, '/') : NULL;
	size_t len = name ? strlen(name + 1) : 0;

	if (len > strlen(DELETED) && strcmp(name + 1 + len - strlen(DELETED), DELETED) == 0)
		len -= strlen(DELETED);
	if (name)
		text_unless_given(m, "process.executable.name",
				  making_text(m, "%.*s", (int)len, name + 1));
}

/* ---- threads ---- */

/* How it ended, as wait tells of a process. Of a thread that is not the leader only its own. */
static void thread_attributes(struct making *m, const struct life *l)
{
	bool leader = l->tid == l->pid;
	int signal = l->exit_code & 0x7f;
	const char *name = signal ? sigabbrev_np(signal) : NULL;

	if (!l->exit_ns)
		return;
	if (!signal)
		making_integer(m, leader ? "process.exit.code" : "thread.exit.code",
			       l->exit_code >> 8 & 0xff);
	else
		making_string(m, leader ? "process.exit.signal" : "thread.exit.signal",
			      name ? making_text(m, "SIG%s", name) : making_text(m, "%d", signal));
}

static void thread_view(struct making *m, const struct node *n, struct span_view *v)
{
	const struct life *life = node_life(m->p, n);

	v->events = events_make(m, n, &v->events_count);
	if (life)
		thread_attributes(m, life);
	executable_attribute(m, v->pid, n->end_ns);
	container_attribute(m, v->pid, n->end_ns); /* it is made outside and put there */
}

/* ---- all ---- */

static void id_format(char text[17], u64 id)
{
	for (int i = 16; i-- > 0; id >>= 4)
		text[i] = "0123456789abcdef"[id & 15];
	text[16] = '\0';
}

/* What is no span of the kernel. */
static void other_view(struct making *m, const struct node *n, struct span_view *v, bool brief)
{
	const struct app_span *app = node_app(m->p, n);

	v->time = node_split(m->p, m->tree, n);
	if (app) {
		app_view(m, n, app, v);
		if (brief)
			return;
		app_attributes(m, n, app, v);
		executable_attribute(m, v->pid, n->begin_ns);
		container_attribute(m, v->pid, n->begin_ns);
	} else if (n->kind == NODE_CONTEXT) {
		v->kind = "context";
		v->name = v->span_id;
	} else {
		v->kind = "thread";
		v->name = v->thread ? v->thread : "?";
		if (!brief)
			thread_view(m, n, v);
	}
}

const struct span_view *making_span(struct making *m, const struct node *n, bool brief)
{
	struct span_view *v = &m->span;

	making_reset(m);
	v->pid = n->pid ? n->pid : query_pid(m->p, n->tid, n->begin_ns);
	v->process = query_comm(m->p, v->pid, n->begin_ns);
	if (brief && node_is_kernel(n)) {
		making_kernel(m, n, v, true);
		return m->failed ? NULL : v;
	}
	v->tid = n->tid;
	v->begin_ns = n->begin_ns;
	v->end_ns = n->end_ns;
	v->begin_soft = n->begin_soft;
	v->end_soft = n->end_soft;
	v->threads = node_threads(m->tree, n);
	id_format(v->span_id, n->id);
	if (n->parent)
		id_format(v->parent_id, n->parent);
	v->thread = query_comm(m->p, n->tid, n->begin_ns);
	if (node_is_kernel(n))
		making_kernel(m, n, v, brief);
	else
		other_view(m, n, v, brief);
	v->attributes = m->current.data;
	v->attributes_count = m->current.count;
	return m->failed ? NULL : v;
}
