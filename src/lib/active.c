/* SPDX-License-Identifier: Apache-2.0 */
/* Spans that are made active, or not, beside their begin and end. */
#include "lib/frames.h"

/* One that the level left out has the ids of its parent, whose own frame is not meant. */
static bool frame_is_of(const struct fathom_thread *t, const struct frame *f,
			const struct fathom_span *span)
{
	bool passed = (span->state & SPAN_STATE) == SPAN_PASSED ||
		      (span->state & (SPAN_STATE | SPAN_WAS_PASSED)) == SPAN_WAS_PASSED;

	return id_load(f->ctx.span) == id_load(span->span_id) && frame_is_live(t, f) &&
	       (f->attached == ATTACHED_PASSED) == passed;
}

/* Takes the last frame of a span away. True if it was the active one. */
static bool frame_detach(struct fathom_thread *t, const struct fathom_span *span)
{
	struct frame *f = frame_top(t);

	while (f && !frame_is_of(t, f, span))
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

void fathom_span_attach(const struct fathom_span *span)
{
	struct fathom_thread *t = thread_get();
	const struct frame *before;
	struct reserved place;

	if (!t || !span || (span->state & SPAN_STATE) == SPAN_NONE || id_load(span->span_id) == 0)
		return;
	before = frame_top(t);
	place = frame_reserve(t);
	if (!place.frame)
		return;
	frame_activate(t, &place, span,
		       (span->state & SPAN_STATE) == SPAN_PASSED ? ATTACHED_PASSED : ATTACHED_LIVE);
	fathom_record_active(t, before);
}

void fathom_span_detach(const struct fathom_span *span)
{
	struct fathom_thread *t = thread_get();
	const struct frame *before;

	if (!t || !span || id_load(span->span_id) == 0)
		return;
	before = frame_top(t);
	if (frame_detach(t, span))
		fathom_record_active(t, before);
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
