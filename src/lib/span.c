/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans: begin, end, and which one is active on a thread.
 *
 * A thread's active spans are frames, one above the other; each is a record in
 * OpenTelemetry's format, and publishing is one store of its address. A frame is
 * reserved before it is filled and published after it: a signal handler in
 * between uses the next one. The record of a begin is written before its span is
 * published and that of an end after it is withdrawn, so that whoever sees a
 * span active sees it inside its bounds. A span that was ended by another thread
 * than the one it is active on is the exception: that thread withdraws it when it
 * is here next.
 */
#include "lib/record_write.h"

/* fathom_span.state: one of these, and the status in the bits above */
#define SPAN_NONE 0
#define SPAN_LIVE 1
#define SPAN_PASSED 2 /* below the level: its ids are those of its parent */
#define SPAN_STATE 3
#define SPAN_STATUS_SHIFT 2

/* frame.attached */
#define ATTACHED_LIVE 1
#define ATTACHED_PASSED 2

/* span_begin.flags, span_end.flags */
#define BEGIN_ACTIVE 1
#define BEGIN_REMOTE 2
#define END_ACTIVE 1

#define NAME_BYTES 512
#define END_SHORT_BYTES                                                                            \
	offsetof(struct record_span_end, next) /* of an end with nothing behind it */

struct begin {
	const char *name;
	size_t name_bytes; /* 0: up to its NUL */
	const u8 *trace;   /* NULL: a new one */
	u64 parent;	   /* its span id, 0: a root */
	u8 trace_flags;	   /* of the parent */
	u8 kind;
	u8 level;
	u8 flags; /* BEGIN_* */
};

static inline u64 id_load(const u8 *id)
{
	u64 value;

	memcpy(&value, id, sizeof(value));
	return value;
}

/* In halves, as ids are made: 16 bytes loaded after two stores of 8 wait for both. */
static inline void trace_copy(u8 *to, const u8 *from)
{
	u64 first = id_load(from), last = id_load(from + 8);

	memcpy(to, &first, 8);
	memcpy(to + 8, &last, 8);
}

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

static inline void record_begin(struct fathom_thread *t, const struct fathom_span *s,
				const struct begin *b)
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
	write_publish(&w);
}

static void record_end(struct fathom_thread *t, const struct fathom_span *s, u8 flags,
		       const char *message)
{
	size_t length = message ? strnlen(message, NAME_BYTES) : 0;
	const struct frame *next = flags & END_ACTIVE ? t->top : NULL;
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
	else /* in a single slot there is half of it */
		memset(&r->next, 0,
		       w.slots > 1 ? sizeof(r->next) : RECORD_SLOT_BYTES - END_SHORT_BYTES);
	if (w.slots > 1)
		r->message_len = (u16)length;
	if (length)
		write_text(r->message, message, length);
	write_publish(&w);
}

/* span_attach and span_detach have one layout. */
static void record_switch_to(struct fathom_thread *t, u8 kind, const struct context *ctx)
{
	struct record_span_attach *r;
	struct write w;

	if (!write_wanted(t) || !write_begin(&w, t, kind, sizeof(*r)))
		return;
	r = (struct record_span_attach *)(void *)w.to;
	r->ctx = *ctx;
	memset((u8 *)r + offsetof(struct record_span_attach, ctx) + sizeof(*ctx), 0,
	       RECORD_SLOT_BYTES - offsetof(struct record_span_attach, ctx) - sizeof(*ctx));
	write_publish(&w);
}

static bool frame_is_recorded(const struct frame *f)
{
	return f && f->trace_flags & FATHOM_SAMPLED;
}

/* Says which span is active now, where no begin or end says it. */
static void record_active(struct fathom_thread *t, const struct frame *before)
{
	if (frame_is_recorded(t->top))
		record_switch_to(t, RECORD_span_attach, &t->top->ctx);
	else if (frame_is_recorded(before))
		record_switch_to(t, RECORD_span_detach, &before->ctx);
}

static inline bool frame_is_live(const struct fathom_thread *t, const struct frame *f)
{
	return __atomic_load_n(&t->live[f->index], __ATOMIC_RELAXED) == id_load(f->ctx.span);
}

static inline void frame_live_set(struct fathom_thread *t, const struct frame *f, u64 span)
{
	__atomic_store_n(&t->live[f->index], span, __ATOMIC_RELAXED);
}

static inline void frame_publish(struct fathom_thread *t, struct frame *f)
{
	signal_fence();
	t->top = f;
	*(struct frame *volatile *)t->published = f;
	signal_fence();
}

/* Makes the span active. False: as many are as there is room for. */
static inline bool frame_push(struct fathom_thread *t, const struct fathom_span *s, u8 attached)
{
	u32 i = t->depth;
	struct frame *f = &t->frames[i];

	if (unlikely(i >= THREAD_FRAMES))
		return false;
	*(volatile u32 *)&t->depth = i + 1;
	signal_fence();
	trace_copy(f->ctx.trace, s->trace_id);
	memcpy(f->ctx.span, s->span_id, 8);
	f->valid = 1;
	f->trace_flags = s->flags & (FATHOM_SAMPLED | FATHOM_RANDOM);
	f->attributes_bytes = 0;
	f->index = i;
	f->prev = t->top;
	f->parent = id_load(s->parent_id);
	f->process = s->process;
	f->where = s->where;
	f->flags = s->flags;
	f->attached = attached;
	frame_live_set(t, f, id_load(f->ctx.span));
	frame_publish(t, f);
	return true;
}

/* Takes the top frame away, and those below it that ended before. */
static inline void frame_pop(struct fathom_thread *t)
{
	struct frame *f = t->top;
	u32 depth = f->index;

	if (f->prev) { /* see below: a handler may take it away while we look at the next */
		frame_live_set(t, f, 0);
		signal_fence();
	}
	for (f = f->prev; f && unlikely(!frame_is_live(t, f)); f = f->prev)
		depth = f->index;
	frame_publish(t, f);
	*(volatile u32 *)&t->depth = depth;
}

/* The top frame was ended by another thread. */
static __attribute__((noinline)) struct frame *frames_settle(struct fathom_thread *t)
{
	struct frame *before = t->top;

	frame_pop(t);
	record_active(t, before);
	return t->top;
}

/* The thread's active frame. */
static inline struct frame *frame_top(struct fathom_thread *t)
{
	struct frame *f = t->top;

	return f && unlikely(!frame_is_live(t, f)) ? frames_settle(t) : f;
}

/* A span that ended: wherever it stands in our frames, and where it began. */
static __attribute__((noinline)) void frames_end(struct fathom_thread *t, u64 span, u16 where)
{
	for (struct frame *f = t->top; f; f = f->prev) {
		if (id_load(f->ctx.span) == span)
			frame_live_set(t, f, 0);
	}
	if (where) /* it may be another's by now */
		__atomic_compare_exchange_n(&fathom_live[where - 1], &span, 0, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Takes a span that ends out of the frames. True if it was active here. */
static inline bool frame_end(struct fathom_thread *t, const struct fathom_span *s)
{
	u64 span = id_load(s->span_id);
	struct frame *f = t->top;
	bool was_active = f && id_load(f->ctx.span) == span;

	if (unlikely(!was_active || f->attached))
		frames_end(t, span, s->where);
	if (likely(was_active))
		frame_pop(t);
	return was_active;
}

/* Takes the last frame of a span away. True if it was the active one. */
static bool frame_detach(struct fathom_thread *t, u64 span)
{
	struct frame *f = frame_top(t);

	while (f && !(id_load(f->ctx.span) == span && frame_is_live(t, f)))
		f = f->prev;
	if (!f)
		return false;
	if (f == t->top) {
		frame_pop(t);
		return true;
	}
	frame_live_set(t, f, 0);
	return false;
}

static void span_trace_new(struct fathom_thread *t, struct fathom_span *s, u8 flags)
{
	u64 first = thread_id_next(t) ^ t->id_key, last = thread_id_next(t);

	memcpy(s->trace_id, &first, 8);
	memcpy(s->trace_id + 8, &last, 8);
	if (!(flags & FATHOM_DEFERRED))
		s->flags = (flags & (FATHOM_SAMPLED | FATHOM_DEBUG_TRACE)) | FATHOM_RANDOM;
	else
		s->flags = (likely(fathom_process.sampling == 0) ? FATHOM_SAMPLED
								 : fathom_sample(t)) |
			   FATHOM_RANDOM;
}

/* The span of a begin that the level leaves out: it stands for its parent. */
static struct fathom_span span_pass(const struct fathom_thread *t, const struct begin *b)
{
	struct fathom_span s = {.state = SPAN_PASSED, .flags = b->trace_flags, .process = t->pid};

	if (b->trace) {
		memcpy(s.trace_id, b->trace, 16);
		memcpy(s.span_id, &b->parent, 8);
	}
	return s;
}

/* Fills *s, the caller's result, in place: a copy would wait for its stores. */
static inline void span_start(struct fathom_thread *t, struct begin *b, struct fathom_span *s)
{
	const struct frame *before = t->top;
	u64 id;

	if (unlikely(b->level > __atomic_load_n(&fathom_process.level, __ATOMIC_RELAXED))) {
		*s = span_pass(t, b);
		return;
	}
	id = thread_id_next(t);
	if (b->trace) {
		trace_copy(s->trace_id, b->trace);
		s->flags = b->trace_flags & (u8)~FATHOM_DEFERRED;
		if (unlikely(b->trace_flags & FATHOM_DEFERRED))
			s->flags |= fathom_sample(t);
	} else {
		span_trace_new(t, s, b->trace_flags);
	}
	memcpy(s->span_id, &id, 8);
	memcpy(s->parent_id, &b->parent, 8);
	s->state = SPAN_LIVE;
	if (unlikely(t->depth >= THREAD_FRAMES))
		b->flags &= (u8)~BEGIN_ACTIVE;
	s->where = b->flags & BEGIN_ACTIVE ? (u16)(t->home + t->depth) : 0;
	s->process = t->pid;
	if (likely(s->flags & FATHOM_SAMPLED) && write_wanted(t))
		record_begin(t, s, b);
	if (b->flags & BEGIN_ACTIVE && frame_push(t, s, 0) &&
	    unlikely(!(s->flags & FATHOM_SAMPLED)))
		record_active(t, before);
}

/* The parent of a begin: the active span. */
static inline void begin_under(struct begin *b, const struct frame *f)
{
	if (!f)
		return;
	b->trace = f->ctx.trace;
	b->parent = id_load(f->ctx.span);
	b->trace_flags = f->flags;
}

static void begin_under_span(struct begin *b, const struct fathom_span *parent)
{
	b->parent = id_load(parent->span_id);
	if (b->parent)
		b->trace = parent->trace_id;
	if (b->parent || (parent->state & SPAN_STATE) == SPAN_PASSED)
		b->trace_flags = parent->flags;
}

static void begin_under_remote(struct begin *b, const struct fathom_context *remote)
{
	b->trace_flags = remote->flags;
	b->parent = id_load(remote->span_id);
	if (b->parent) {
		b->trace = remote->trace_id;
		b->flags |= BEGIN_REMOTE;
	} else if (remote->flags == 0) { /* zeros: there was no context */
		b->trace_flags = FATHOM_DEFERRED;
	}
	if (b->trace_flags & FATHOM_DEBUG_TRACE)
		b->trace_flags |= FATHOM_SAMPLED;
}

struct fathom_span fathom_span_begin(const char *name)
{
	struct fathom_thread *t = thread_get();
	struct begin b = {
		.name = name,
		.trace_flags = FATHOM_DEFERRED,
		.level = FATHOM_INFO,
		.flags = BEGIN_ACTIVE,
	};
	struct fathom_span span;

	if (unlikely(!t)) {
		span = (struct fathom_span){0};
		return span;
	}
	begin_under(&b, frame_top(t));
	span_start(t, &b, &span);
	return span;
}

struct fathom_span fathom_span_open(const struct fathom_span_options *options)
{
	struct fathom_thread *t = thread_get();
	struct begin b = {.trace_flags = FATHOM_DEFERRED};
	struct fathom_span span;
	const struct frame *top;

	if (unlikely(!t || !options))
		return (struct fathom_span){0};
	top = frame_top(t);
	b.name = options->name;
	b.name_bytes = options->name_bytes;
	b.kind = (unsigned)options->kind <= FATHOM_CONSUMER ? (u8)options->kind : FATHOM_INTERNAL;
	b.level = (unsigned)options->level <= FATHOM_DEBUG ? (u8)options->level : FATHOM_DEBUG;
	b.flags = options->inactive ? 0 : BEGIN_ACTIVE;
	if (options->remote)
		begin_under_remote(&b, options->remote);
	else if (options->parent)
		begin_under_span(&b, options->parent);
	else if (!options->root)
		begin_under(&b, top);
	span_start(t, &b, &span);
	return span;
}

struct fathom_span fathom_span_child(const struct fathom_span *parent, const char *name)
{
	static const struct fathom_span none;

	return fathom_span_open(&(struct fathom_span_options){
		.name = name, .level = FATHOM_INFO, .parent = parent ? parent : &none});
}

struct fathom_span fathom_span_remote(const struct fathom_context *parent, const char *name)
{
	static const struct fathom_context none;

	return fathom_span_open(&(struct fathom_span_options){.name = name,
							      .level = FATHOM_INFO,
							      .kind = FATHOM_SERVER,
							      .remote = parent ? parent : &none});
}

/* A span that the level leaves out has a frame only where it was attached. */
static void span_pass_end(struct fathom_thread *t, const struct fathom_span *span)
{
	struct frame *f = frame_top(t);
	const struct frame *before = f;

	while (f && !(f->attached == ATTACHED_PASSED && frame_is_live(t, f) &&
		      id_load(f->ctx.span) == id_load(span->span_id)))
		f = f->prev;
	if (f)
		frame_live_set(t, f, 0);
	if (f && f == before)
		frames_settle(t);
}

static inline void span_finish(struct fathom_span *span, const char *message)
{
	struct fathom_thread *t;
	const struct frame *before;
	bool was_active;
	u8 state;

	if (!span || (span->state & SPAN_STATE) == SPAN_NONE)
		return;
	t = thread_get();
	state = span->state;
	span->state = state & (u8)~SPAN_STATE;
	if (unlikely(!t || span->process != t->pid))
		return;
	if (unlikely((state & SPAN_STATE) == SPAN_PASSED)) {
		span_pass_end(t, span);
		return;
	}
	before = t->top;
	was_active = frame_end(t, span);
	if (likely(span->flags & FATHOM_SAMPLED)) {
		if (write_wanted(t))
			record_end(t, span, was_active ? END_ACTIVE : 0, message);
	} else if (was_active) {
		record_active(t, before);
	}
}

void fathom_span_end(struct fathom_span *span)
{
	span_finish(span, NULL);
}

void fathom_span_end_status(struct fathom_span *span, enum fathom_status status,
			    const char *message)
{
	fathom_span_status(span, status);
	span_finish(span, message);
}

void fathom_span_status(struct fathom_span *span, enum fathom_status status)
{
	if (span && (span->state & SPAN_STATE) != SPAN_NONE && (unsigned)status <= FATHOM_FAILED)
		span->state = (u8)((span->state & SPAN_STATE) | (u8)(status << SPAN_STATUS_SHIFT));
}

bool fathom_span_recorded(const struct fathom_span *span)
{
	struct fathom_thread *t;

	if (!span || (span->state & SPAN_STATE) != SPAN_LIVE || !(span->flags & FATHOM_SAMPLED))
		return false;
	t = thread_get();
	return t && write_wanted(t);
}

bool fathom_listening(void)
{
	struct fathom_thread *t = thread_get();

	return t && write_wanted(t);
}

void fathom_span_attach(const struct fathom_span *span)
{
	struct fathom_thread *t = thread_get();
	const struct frame *before;

	if (!t || !span || (span->state & SPAN_STATE) == SPAN_NONE || id_load(span->span_id) == 0)
		return;
	before = frame_top(t);
	if (frame_push(t, span,
		       (span->state & SPAN_STATE) == SPAN_LIVE ? ATTACHED_LIVE : ATTACHED_PASSED))
		record_active(t, before);
}

void fathom_span_detach(const struct fathom_span *span)
{
	struct fathom_thread *t = thread_get();
	const struct frame *before;

	if (!t || !span || id_load(span->span_id) == 0)
		return;
	before = frame_top(t);
	if (frame_detach(t, id_load(span->span_id)))
		record_active(t, before);
}

struct fathom_span fathom_span_current(void)
{
	struct fathom_span s = {0};
	struct fathom_thread *t = thread_get();
	const struct frame *f = t ? frame_top(t) : NULL;

	if (!f)
		return s;
	memcpy(s.trace_id, f->ctx.trace, 16);
	memcpy(s.span_id, f->ctx.span, 8);
	memcpy(s.parent_id, &f->parent, 8);
	s.flags = f->flags;
	s.where = f->where;
	s.process = f->process;
	s.state = SPAN_LIVE;
	return s;
}

struct fathom_context fathom_span_context(const struct fathom_span *span)
{
	struct fathom_context c = {0};

	if (!span)
		return c;
	memcpy(c.trace_id, span->trace_id, 16);
	memcpy(c.span_id, span->span_id, 8);
	memcpy(c.parent_id, span->parent_id, 8);
	c.flags = span->flags &
		  (FATHOM_SAMPLED | FATHOM_RANDOM | FATHOM_DEFERRED | FATHOM_DEBUG_TRACE);
	return c;
}
