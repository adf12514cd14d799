/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a span's begin and end. */
#ifndef LIB_SPAN_RECORD_H
#define LIB_SPAN_RECORD_H

#include "lib/frames.h"
#include "lib/record_write.h"

/* span_begin.flags, span_end.flags */
#define BEGIN_ACTIVE 1
#define BEGIN_REMOTE 2
#define END_ACTIVE 1

#define NAME_BYTES 512
#define END_SHORT_BYTES                                                                            \
	offsetof(struct record_span_end, next) /* for an end after which no span is active */

struct begin {
	const char *name;
	size_t name_bytes; /* length of the name; 0: up to its NUL */
	const u8 *trace;   /* NULL: a new one */
	u64 parent;	   /* span id of the parent, 0: a root */
	u8 trace_flags;	   /* of the parent */
	u8 kind;
	u8 level;
	u8 flags; /* BEGIN_* */
};

static inline void context_fill(struct context *c, const u8 *trace, u64 span)
{
	trace_copy(c->trace, trace);
	memcpy(c->span, &span, sizeof(c->span));
}

static inline size_t name_bytes(const char *name, size_t given)
{
	if (!name)
		return 0;
	if (given == 0)
		return strnlen(name, NAME_BYTES);
	return given < NAME_BYTES ? given : NAME_BYTES;
}

/* Whether a text was cut. At most `most` bytes of it are written, and only those were looked at. */
static inline bool text_is_cut(const char *text, size_t given, size_t length, size_t most)
{
	return unlikely(length == most) && (given ? given > most : text[most] != '\0');
}

/* Writes the record of a begin. `cut`: a part of it does not fit. */
static inline void record_begin(struct fathom_thread *t, const struct fathom_span *s,
				const struct begin *b, bool cut)
{
	size_t length = name_bytes(b->name, b->name_bytes);
	struct record_span_begin *r;
	struct write w;

	if (!write_begin(&w, t, RECORD_span_begin,
			 offsetof(struct record_span_begin, name) + length))
		return;
	r = (struct record_span_begin *)(void *)w.to;
	r->span_kind = b->kind;
	r->level = b->level;
	r->flags = b->flags;
	r->pad = 0;
	r->pad2 = 0;
	r->parent = b->parent;
	context_fill(&r->ctx, s->trace_id, id_load(s->span_id));
	r->name_len = (u16)length;
	if (length)
		write_text(r->name, b->name, length);
	if (cut || text_is_cut(b->name, b->name_bytes, length, NAME_BYTES))
		write_cut(&w);
	write_publish(&w);
}

static void record_end(struct fathom_thread *t, const struct fathom_span *s, u8 flags,
		       const char *message)
{
	size_t length = message ? strnlen(message, NAME_BYTES) : 0;
	const struct frame *next = flags & END_ACTIVE ? frame_or_beside(t, t->top) : NULL;
	size_t bytes = length ? offsetof(struct record_span_end, message) + length
		       : next ? offsetof(struct record_span_end, message_len)
			      : END_SHORT_BYTES;
	struct record_span_end *r;
	struct write w;

	if (next && !(next->trace_flags & FATHOM_SAMPLED))
		next = NULL;
	if (!write_begin(&w, t, RECORD_span_end, bytes))
		return;
	r = (struct record_span_end *)(void *)w.to;
	r->status = s->state >> SPAN_STATUS_SHIFT;
	r->flags = flags;
	r->pad = 0;
	context_fill(&r->ctx, s->trace_id, id_load(s->span_id));
	if (next)
		context_fill(&r->next, next->ctx.trace, id_load(next->ctx.span));
	else /* a record of one slot has half of it */
		memset(&r->next, 0,
		       w.slots > 1 ? sizeof(r->next) : RECORD_SLOT_BYTES - END_SHORT_BYTES);
	if (w.slots > 1)
		r->message_len = (u16)length;
	if (length)
		write_text(r->message, message, length);
	if (text_is_cut(message, 0, length, NAME_BYTES))
		write_cut(&w);
	write_publish(&w);
}

#endif
