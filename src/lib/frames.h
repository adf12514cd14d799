/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The active spans of a thread.
 *
 * They are frames, one above the other. Each frame is a record in OpenTelemetry's format, and
 * publishing one is a single store of its address. A frame is reserved before it is filled, and
 * published afterwards; a signal handler in between uses the next one. A span that another thread
 * ended stays published until its own thread comes here next.
 *
 * A handler runs between any two instructions, from its begin to its end, and may end spans that it
 * interrupts. It should not leave a span open: such a span may stop being active, but nothing else
 * is harmed. So that no frame is ever used twice:
 * - each frame is above its `prev` in `frames`;
 * - all frames that are published or being filled are below `depth`;
 * - a frame that is being filled is below `floor`, and `depth` never falls below `floor`;
 * - code that takes a frame, or lowers `depth`, by plain stores checks afterwards whether another
 *   span came to the top in between, and then does it again.
 */
#ifndef LIB_FRAMES_H
#define LIB_FRAMES_H

#include <string.h>

#include "lib/thread.h"

/* fathom_span.state: one of these, and the status in the bits above */
#define SPAN_NONE 0
#define SPAN_LIVE 1
#define SPAN_PASSED 2 /* below the level: it has the ids of its parent; a root has ids of 0 */
#define SPAN_STATE 3
#define SPAN_STATUS_SHIFT 2
#define SPAN_STATUS (3 << SPAN_STATUS_SHIFT)
#define SPAN_WAS_PASSED 0x80 /* with SPAN_NONE: the ids are not its own */

/* frame.attached */
#define ATTACHED_LIVE 1
#define ATTACHED_PASSED 2 /* also by the begin of a span that the level left out */

static inline u64 id_load(const u8 *id)
{
	u64 value;

	memcpy(&value, id, sizeof(value));
	return value;
}

static inline bool span_is_passed(const struct fathom_span *s)
{
	return (s->state & SPAN_STATE) == SPAN_PASSED ||
	       (s->state & (SPAN_STATE | SPAN_WAS_PASSED)) == SPAN_WAS_PASSED;
}

/* The token of a span, see fathom_live. A suppressed span has it in parent_id. 0: no span. */
static inline u64 span_token(const struct fathom_span *s)
{
	return id_load(span_is_passed(s) ? s->parent_id : s->span_id);
}

/* Copies in halves, like ids are made: a load of 16 bytes after two stores of 8 waits for both. */
static inline void trace_copy(u8 *to, const u8 *from)
{
	u64 first = id_load(from), last = id_load(from + 8);

	memcpy(to, &first, 8);
	memcpy(to + 8, &last, 8);
}

/* Records which span is active now, if no begin or end of a span tells it. `before`: the last one.
 */
void fathom_record_active(struct fathom_thread *t, const struct frame *before);
/* Removes the top frame `f`, which another thread has ended. Returns the new top frame. */
struct frame *fathom_frames_settle(struct fathom_thread *t, struct frame *f);
/* Ends a span wherever it is in our frames, and at the place where it began. */
void fathom_frames_end(struct fathom_thread *t, u64 span, u16 where);
/* Ends a span at the place where it began, on another thread. */
void fathom_frames_end_elsewhere(u64 token, u16 where);

static inline u32 frame_index(const struct fathom_thread *t, const struct frame *f)
{
	return (u32)(f - t->frames);
}

static inline bool frame_is_live(const struct fathom_thread *t, const struct frame *f)
{
	return __atomic_load_n(&t->live[frame_index(t, f)], __ATOMIC_RELAXED) == f->token;
}

static inline void frame_live_set(struct fathom_thread *t, const struct frame *f, u64 token)
{
	__atomic_store_n(&t->live[frame_index(t, f)], token, __ATOMIC_RELAXED);
}

static inline void frame_publish(struct fathom_thread *t, struct frame *f)
{
	signal_fence();
	t->top = f;
	*(struct frame *volatile *)t->published = f;
	signal_fence();
}

/* Lowers depth to just above the top frame. */
static inline void frames_lower(struct fathom_thread *t, struct frame *top)
{
	for (;;) {
		u32 depth = top ? frame_index(t, top) + 1 : 0;

		if (unlikely(depth < t->floor))
			depth = t->floor;
		*(volatile u32 *)&t->depth = depth;
		signal_fence();
		if (likely(t->top == top))
			return;
		top = t->top;
	}
}

/* A frame for the caller alone; NULL: all frames are in use. */
struct reserved {
	struct frame *frame;
	u32 floor; /* the floor before */
};

/* Reserves a frame for a span that becomes active. frame_activate() must follow. */
static inline struct reserved frame_reserve(struct fathom_thread *t)
{
	struct reserved r = {NULL, t->floor};
	const struct frame *top;
	u32 i = t->depth;

	for (;;) {
		top = *(struct frame *volatile *)&t->top;
		if (unlikely(i >= THREAD_FRAMES)) {
			*(volatile u32 *)&t->floor = r.floor;
			return r;
		}
		*(volatile u32 *)&t->floor = i + 1;
		*(volatile u32 *)&t->depth = i + 1;
		signal_fence();
		if (likely(t->top == top))
			break;
		if (t->top && frame_index(t, t->top) >= i)
			i = frame_index(t, t->top) + 1;
	}
	r.frame = &t->frames[i];
	return r;
}

/* The frame to be below `f`. Frames above it, which a handler has left open, are skipped. */
static inline struct frame *frame_below(struct frame *top, const struct frame *f)
{
	while (unlikely(top >= f))
		top = top->prev;
	return top;
}

/* Makes a span active in the frame that was reserved. */
static inline void frame_activate(struct fathom_thread *t, const struct reserved *r,
				  const struct fathom_span *s, u8 attached)
{
	struct frame *f = r->frame;

	trace_copy(f->ctx.trace, s->trace_id);
	memcpy(f->ctx.span, s->span_id, 8);
	f->valid = 1;
	f->trace_flags = s->flags & (FATHOM_SAMPLED | FATHOM_RANDOM);
	f->parent = id_load(s->parent_id);
	f->token = id_load(s->span_id);
	if (attached == ATTACHED_PASSED) {
		if (!f->token) /* a root: readers see no span */
			f->trace_flags = 0;
		f->token = f->parent;
		f->parent = 0;
	}
	f->attributes_bytes = 0;
	f->prev = frame_below(t->top, f);
	f->process = s->process;
	f->where = s->where;
	f->flags = s->flags;
	f->attached = attached;
	frame_live_set(t, f, f->token);
	frame_publish(t, f);
	*(volatile u32 *)&t->floor = r->floor;
}

/*
 * Takes away `f`, which was the top frame, and those below it that ended before. A handler may have
 * done it since: what is on top now is not asked.
 */
static inline void frame_pop(struct fathom_thread *t, struct frame *f)
{
	if (f->prev) { /* see below: a handler may take it away while we look at the next */
		frame_live_set(t, f, 0);
		signal_fence();
	}
	for (f = f->prev; f && unlikely(!frame_is_live(t, f)); f = f->prev)
		;
	frame_publish(t, f);
	frames_lower(t, f);
}

/* The thread's active frame. */
static inline struct frame *frame_top(struct fathom_thread *t)
{
	struct frame *f = t->top;

	return f && unlikely(!frame_is_live(t, f)) ? fathom_frames_settle(t, f) : f;
}

/* Our own frame, or where there is none what another copy of the library has active here. */
static inline const struct frame *frame_or_beside(const struct fathom_thread *t,
						  const struct frame *f)
{
	return likely(f || t->published != &t->unpublished) ? f : fathom_thread_beside(t);
}

/* Takes a span that ends out of the frames. True if it was active here. */
static inline bool frame_end(struct fathom_thread *t, const struct fathom_span *s)
{
	u64 span = id_load(s->span_id);
	struct frame *f = t->top;
	bool was_active = f && id_load(f->ctx.span) == span;

	if (unlikely(!was_active || f->attached))
		fathom_frames_end(t, span, s->where);
	if (likely(was_active))
		frame_pop(t, f);
	return was_active;
}

#endif
