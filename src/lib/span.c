/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begins and ends spans, and answers queries about them.
 *
 * The record of a begin is written before the span is published as active (lib/frames.h), and the
 * record of an end after it is withdrawn. So a reader that sees a span as active sees it inside its
 * bounds. The exception is a span that is ended by another thread than the one where it is active.
 */
#include "lib/span_record.h"

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

/*
 * Sampling flags that children inherit from a span suppressed by its level. A suppressed root has
 * none: each span that begins below it decides for itself, as if the root did not exist.
 */
static u8 pass_flags(struct fathom_thread *t, const struct begin *b)
{
	if (!b->trace || !(b->trace_flags & FATHOM_DEFERRED))
		return b->trace_flags;
	return (u8)((b->trace_flags & ~FATHOM_DEFERRED) | fathom_sample(t));
}

/*
 * Begins a span that the level suppresses. It stands for its parent, and makes the parent active if
 * it is not. A suppressed root makes no span active: spans that begin then are roots, too.
 */
static __attribute__((noinline)) void span_pass(struct fathom_thread *t, const struct begin *b,
						struct fathom_span *s)
{
	const struct frame *before = t->top, *above = frame_or_beside(t, before);
	u64 token = thread_id_next(t);
	struct reserved place;

	*s = (struct fathom_span){
		.state = SPAN_PASSED, .flags = pass_flags(t, b), .process = t->process};
	memcpy(s->parent_id, &token, 8);
	if (b->trace) {
		trace_copy(s->trace_id, b->trace);
		memcpy(s->span_id, &b->parent, 8);
	}
	if (!(b->flags & BEGIN_ACTIVE) || (above && id_load(above->ctx.span) == b->parent &&
					   (b->parent || before->flags == s->flags)))
		return;
	place = frame_reserve(t);
	if (!place.frame)
		return;
	s->where = (u16)(t->home + frame_index(t, place.frame));
	frame_activate(t, &place, s, ATTACHED_PASSED);
	fathom_record_active(t, before);
}

/* Begins a span without a frame. It is never active, and never a parent of other spans. */
static __attribute__((noinline)) void span_too_deep(struct fathom_thread *t,
						    const struct fathom_span *s, struct begin *b)
{
	b->flags = (u8)((b->flags & ~BEGIN_ACTIVE) | SPAN_TOO_DEEP);
	if (s->flags & FATHOM_SAMPLED && write_wanted(t))
		record_begin(t, s, b, true);
}

/* Fills *s, the caller's result, in place: a copy would wait for its stores. */
static inline void span_start(struct fathom_thread *t, struct begin *b, struct fathom_span *s)
{
	const struct frame *before = t->top;
	struct reserved place = {NULL, 0};
	u64 id;

	if (unlikely(b->level > __atomic_load_n(&fathom_process.level, __ATOMIC_RELAXED))) {
		span_pass(t, b, s);
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
	s->process = t->process;
	s->where = 0;
	if (likely(b->flags & BEGIN_ACTIVE)) {
		place = frame_reserve(t);
		if (unlikely(!place.frame)) {
			span_too_deep(t, s, b);
			return;
		}
		s->where = (u16)(t->home + frame_index(t, place.frame));
	}
	if (likely(s->flags & FATHOM_SAMPLED) && write_wanted(t))
		record_begin(t, s, b, false);
	if (unlikely(!place.frame))
		return;
	frame_activate(t, &place, s, 0);
	if (unlikely(!(s->flags & FATHOM_SAMPLED)))
		fathom_record_active(t, before);
}

/* Takes the active span as the parent of a begin. */
static inline void begin_under(struct begin *b, const struct fathom_thread *t,
			       const struct frame *f)
{
	if (!f) {
		f = frame_or_beside(t, NULL);
		if (!f)
			return;
		b->trace = f->ctx.trace;
		b->parent = id_load(f->ctx.span);
		b->trace_flags = f->trace_flags;
		return;
	}
	b->parent = id_load(f->ctx.span);
	b->trace = b->parent ? f->ctx.trace : NULL;
	b->trace_flags = f->flags;
}

static void begin_under_span(struct begin *b, const struct fathom_span *parent)
{
	b->parent = id_load(parent->span_id);
	if (b->parent)
		b->trace = parent->trace_id;
	if (b->parent || span_is_passed(parent))
		b->trace_flags = parent->flags;
}

static void begin_under_remote(struct begin *b, const struct fathom_context *remote)
{
	b->trace_flags = remote->flags;
	b->parent = id_load(remote->span_id);
	if (b->parent) {
		b->trace = remote->trace_id;
		b->flags |= BEGIN_REMOTE;
	} else if (remote->flags == 0) { /* the ids are 0: there was no context */
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
	begin_under(&b, t, frame_top(t));
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
		begin_under(&b, t, top);
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

/*
 * Ends a suppressed span. It has a frame where it was attached, and where it began if its parent
 * was not active there.
 */
static __attribute__((noinline)) void span_pass_end(struct fathom_span *span)
{
	struct fathom_thread *t = thread_get();
	u64 token = span_token(span);
	struct frame *before;

	span->state = SPAN_WAS_PASSED;
	if (!t || span->process != t->process)
		return;
	before = frame_top(t);
	for (struct frame *f = before; f; f = f->prev) {
		if (f->token == token)
			frame_live_set(t, f, 0);
	}
	if (before && !frame_is_live(t, before))
		fathom_frames_settle(t, before);
	fathom_frames_end_elsewhere(token, span->where);
}

static inline void span_finish(struct fathom_span *span, const char *message)
{
	struct fathom_thread *t;
	const struct frame *before;
	bool was_active;

	if (!span || (span->state & SPAN_STATE) == SPAN_NONE)
		return;
	if (unlikely((span->state & SPAN_STATE) == SPAN_PASSED)) {
		span_pass_end(span);
		return;
	}
	t = thread_get();
	span->state &= SPAN_STATUS;
	if (unlikely(!t || span->process != t->process))
		return;
	before = t->top;
	was_active = frame_end(t, span);
	if (likely(span->flags & FATHOM_SAMPLED)) {
		if (write_wanted(t))
			record_end(t, span, was_active || t->top ? END_ACTIVE : 0, message);
	} else if (was_active) {
		fathom_record_active(t, before);
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

	/* a listener that was killed says nothing; one that is only late finds what was written */
	return t && write_wanted(t) &&
	       clock_read_ns(CLOCK_MONOTONIC_COARSE) <=
		       __atomic_load_n(&t->ring->lease_ns, __ATOMIC_RELAXED);
}

struct fathom_context fathom_span_context(const struct fathom_span *span)
{
	struct fathom_context c = {0};

	if (!span)
		return c;
	memcpy(c.trace_id, span->trace_id, 16);
	memcpy(c.span_id, span->span_id, 8);
	if (!span_is_passed(span))
		memcpy(c.parent_id, span->parent_id, 8);
	c.flags = span->flags &
		  (FATHOM_SAMPLED | FATHOM_RANDOM | FATHOM_DEFERRED | FATHOM_DEBUG_TRACE);
	return c;
}
