/* SPDX-License-Identifier: Apache-2.0 */
/* Records that describe a span: attributes, events, endpoints. */
#include "lib/record_write.h"

#define TEXT_BYTES 1024
#define NAME_BYTES 512

/* Whether key or value do not fit. `text`: their bytes, at most TEXT_BYTES of each. */
static bool attribute_is_cut(const struct fathom_attribute *a, size_t key, size_t text)
{
	size_t value = text - key;

	if (likely(text < TEXT_BYTES))
		return false;
	if (text > TEXT_BYTES || (key == TEXT_BYTES && a->key[key]))
		return true;
	return value == TEXT_BYTES &&
	       (a->bytes ? a->bytes > value : a->value.string[value] != '\0');
}

/*
 * Whether a signal handler has written an event of the span into this part of our lane. Attributes
 * belong to the last event. Records of the handler are whole, and the reader changes only `seq`.
 */
static bool event_between(const struct app_lane *lane, u64 from, u64 to,
			  const struct fathom_span *span)
{
	if (to - from > APP_RING_SLOTS)
		return true;
	while (unlikely(from != to)) {
		const struct record_span_event *r =
			(const void *)lane->slots[from & (APP_RING_SLOTS - 1)].bytes;

		if (r->head.slots == 0 || r->head.slots > to - from)
			return true;
		if (r->head.kind == RECORD_span_event && memcmp(r->ctx.span, span->span_id, 8) == 0)
			return true;
		from += r->head.slots;
	}
	return false;
}

/*
 * Writes an attribute. `event_end`: where its event, or the event's last attribute, ends; NULL: it
 * belongs to the span. If another event came in between, it is written as one of the span, marked
 * as incomplete.
 */
static void record_attribute(struct fathom_thread *t, const struct fathom_span *s,
			     const struct fathom_attribute *a, u64 *event_end)
{
	size_t key = a->key ? strnlen(a->key, TEXT_BYTES) : 0;
	size_t text = key;
	struct record_span_attribute *r;
	struct write w;
	bool cut, of_event;

	if (a->type == FATHOM_STRING && a->value.string)
		text += a->bytes && a->bytes < TEXT_BYTES ? a->bytes
							  : strnlen(a->value.string, TEXT_BYTES);
	cut = attribute_is_cut(a, key, text);
	if (text > TEXT_BYTES)
		text = TEXT_BYTES;
	if (key == 0 || a->type < FATHOM_STRING || a->type > FATHOM_BOOLEAN)
		return;
	if (!write_begin(&w, t, RECORD_span_attribute,
			 offsetof(struct record_span_attribute, text) + text))
		return;
	of_event = event_end && !event_between(w.lane, *event_end, w.at, s);
	if (of_event)
		*event_end = w.at + w.slots;
	r = (struct record_span_attribute *)(void *)w.to;
	r->type = (u8)a->type;
	r->of_event = of_event;
	r->key_len = (u16)key;
	r->value = 0;
	if (a->type == FATHOM_INTEGER)
		r->value = (u64)a->value.integer;
	else if (a->type == FATHOM_REAL)
		memcpy(&r->value, &a->value.real, 8);
	else if (a->type == FATHOM_BOOLEAN)
		r->value = a->value.boolean;
	memcpy(r->ctx.trace, s->trace_id, 16);
	memcpy(r->ctx.span, s->span_id, 8);
	r->text_len = (u16)text;
	write_text(r->text, a->key, key);
	if (text > key)
		write_text(r->text + key, a->value.string, text - key);
	if (unlikely(cut || (event_end && !of_event)))
		write_cut(&w);
	write_publish(&w);
}

/* Returns the calling thread if records about the span are wanted, else NULL. */
static struct fathom_thread *say_begin(const struct fathom_span *span)
{
	return fathom_span_recorded(span) ? thread_get() : NULL;
}

static void say_one(const struct fathom_span *span, const struct fathom_attribute *a)
{
	struct fathom_thread *t = say_begin(span);

	if (t)
		record_attribute(t, span, a, NULL);
}

void fathom_span_string(const struct fathom_span *span, const char *key, const char *value)
{
	say_one(span, &(struct fathom_attribute){
			      .key = key, .type = FATHOM_STRING, .value.string = value});
}

void fathom_span_integer(const struct fathom_span *span, const char *key, int64_t value)
{
	say_one(span, &(struct fathom_attribute){
			      .key = key, .type = FATHOM_INTEGER, .value.integer = value});
}

void fathom_span_real(const struct fathom_span *span, const char *key, double value)
{
	say_one(span,
		&(struct fathom_attribute){.key = key, .type = FATHOM_REAL, .value.real = value});
}

void fathom_span_boolean(const struct fathom_span *span, const char *key, bool value)
{
	say_one(span, &(struct fathom_attribute){
			      .key = key, .type = FATHOM_BOOLEAN, .value.boolean = value});
}

void fathom_span_attributes(const struct fathom_span *span,
			    const struct fathom_attribute *attributes, size_t count)
{
	struct fathom_thread *t = say_begin(span);

	for (size_t i = 0; t && attributes && i < count; i++)
		record_attribute(t, span, &attributes[i], NULL);
}

struct endpoint_keys {
	const char *name, *address, *port;
};
static const struct endpoint_keys keys_local = {"service.name", "network.local.address",
						"network.local.port"};
static const struct endpoint_keys keys_peer = {"peer.service", "network.peer.address",
					       "network.peer.port"};

static void record_endpoint(struct fathom_thread *t, const struct fathom_span *span,
			    const struct fathom_endpoint *e, const struct endpoint_keys *keys,
			    u64 *event_end)
{
	struct fathom_attribute name = {.key = keys->name, .type = FATHOM_STRING};
	struct fathom_attribute address = {.key = keys->address, .type = FATHOM_STRING};
	struct fathom_attribute port = {.key = keys->port, .type = FATHOM_INTEGER};

	name.value.string = e->name;
	address.value.string = e->address;
	port.value.integer = e->port;
	if (e->name)
		record_attribute(t, span, &name, event_end);
	if (e->address)
		record_attribute(t, span, &address, event_end);
	if (e->port)
		record_attribute(t, span, &port, event_end);
}

void fathom_span_endpoint(const struct fathom_span *span, const struct fathom_endpoint *endpoint)
{
	struct fathom_thread *t = endpoint ? say_begin(span) : NULL;

	if (t)
		record_endpoint(t, span, endpoint, &keys_local, NULL);
}

void fathom_span_peer(const struct fathom_span *span, const struct fathom_endpoint *endpoint)
{
	struct fathom_thread *t = endpoint ? say_begin(span) : NULL;

	if (t)
		record_endpoint(t, span, endpoint, &keys_peer, NULL);
}

/* Writes an event. *end gets its end in the lane. False: it is lost, and attributes have no event.
 */
static bool record_event(struct fathom_thread *t, const struct fathom_span *span,
			 const struct fathom_event *event, u64 *end)
{
	size_t bytes = event->name_bytes;
	struct record_span_event *r;
	struct write w;

	if (event->name && bytes == 0)
		bytes = strnlen(event->name, NAME_BYTES);
	if (!event->name || bytes > NAME_BYTES)
		bytes = event->name ? NAME_BYTES : 0;
	if (!write_begin(&w, t, RECORD_span_event,
			 offsetof(struct record_span_event, name) + bytes))
		return false;
	r = (struct record_span_event *)(void *)w.to;
	r->level = (u8)event->level;
	r->pad = 0;
	r->pad2 = 0;
	memcpy(r->ctx.trace, span->trace_id, 16);
	memcpy(r->ctx.span, span->span_id, 8);
	r->name_len = (u16)bytes;
	if (bytes)
		write_text(r->name, event->name, bytes);
	if (bytes == NAME_BYTES &&
	    (event->name_bytes ? event->name_bytes > bytes : event->name[bytes] != '\0'))
		write_cut(&w);
	write_publish(&w);
	*end = w.at + w.slots;
	return true;
}

void fathom_span_tell(const struct fathom_span *span, const struct fathom_event *event)
{
	struct fathom_thread *t;
	u64 end;

	if (!event || (unsigned)event->level > (unsigned)fathom_level_get())
		return;
	t = say_begin(span);
	if (!t || !record_event(t, span, event, &end))
		return;
	for (size_t i = 0; event->attributes && i < event->count; i++)
		record_attribute(t, span, &event->attributes[i], &end);
	if (event->endpoint)
		record_endpoint(t, span, event->endpoint, &keys_local, &end);
}

void fathom_span_event(const struct fathom_span *span, enum fathom_level level, const char *name)
{
	fathom_span_tell(span, &(struct fathom_event){.name = name, .level = level});
}
