/* SPDX-License-Identifier: Apache-2.0 */
/* The rare operations on the active spans of a thread. */
#include "lib/frames.h"

#include "lib/record_write.h"

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

void fathom_record_active(struct fathom_thread *t, const struct frame *before)
{
	const struct frame *active = frame_or_beside(t, t->top);

	if (frame_is_recorded(active))
		record_switch_to(t, RECORD_span_attach, &active->ctx);
	else if (frame_is_recorded(before))
		record_switch_to(t, RECORD_span_detach, &before->ctx);
}

struct frame *fathom_frames_settle(struct fathom_thread *t, struct frame *f)
{
	frame_pop(t, f);
	fathom_record_active(t, f);
	return t->top;
}

void fathom_frames_end(struct fathom_thread *t, u64 span, u16 where)
{
	for (struct frame *f = t->top; f; f = f->prev) {
		if (id_load(f->ctx.span) == span)
			frame_live_set(t, f, 0);
	}
	fathom_frames_end_elsewhere(span, where);
}

void fathom_frames_end_elsewhere(u64 token, u16 where)
{
	if (where) /* the place may belong to another span by now */
		__atomic_compare_exchange_n(&fathom_live[where - 1], &token, 0, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
