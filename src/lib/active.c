/* SPDX-License-Identifier: Apache-2.0 */
/* Makes spans active, or not, between their begin and their end. */
#include "lib/frames.h"

/* Removes the last frame of a span. True: it was the active one. */
static bool frame_detach(struct fathom_thread *t, u64 token)
{
	struct frame *top = frame_top(t), *f = top;

	while (f && (f->token != token || !frame_is_live(t, f)))
		f = f->prev;
	if (!f)
		return false;
	if (f == top) {
		frame_pop(t, f);
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

	if (!t || !span || (span->state & SPAN_STATE) == SPAN_NONE || span_token(span) == 0)
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

	if (!t || !span || span_token(span) == 0)
		return;
	before = frame_top(t);
	if (frame_detach(t, span_token(span)))
		fathom_record_active(t, before);
}

struct fathom_span fathom_span_current(void)
{
	struct fathom_span s = {0};
	struct fathom_thread *t = thread_get();
	const struct frame *f = t ? frame_top(t) : NULL;

	if (!f || !id_load(f->ctx.span)) /* no span, or a suppressed root */
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
