// SPDX-License-Identifier: Apache-2.0
#include "capture/deliver.h"

#include "capture/app/rings.h"
#include "capture/internal.h"
#include "capture/scope/scope.h"
#include "capture/stack/stacks.h"
#include "capture/state.h"
#include "capture/watch.h"

static int record_take(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	return capture_deliver(arg, stream, r);
}

static int loss_take(void *arg, const struct capture_stream *stream, const struct record_lost *lost)
{
	const struct capture_delivery *d = arg;

	return d->caller->lost(d->caller->arg, stream, lost);
}

void capture_delivery_make(struct capture_delivery *d, struct capture *c,
			   const struct capture_sink *caller)
{
	*d = (struct capture_delivery){
		.sink = {.arg = d, .record = record_take, .lost = caller->lost ? loss_take : NULL},
		.c = c,
		.caller = caller,
	};
}

static void life_note(struct capture *c, const struct record_head *r)
{
	capture_watch_life(c->watch, r);
	capture_stacks_life(c->stacks, r);
	capture_services_life(c, r);
	if (c->apps)
		app_rings_life(c->apps, r);
}

int capture_deliver(struct capture_delivery *d, const struct capture_stream *stream,
		    const struct record_head *r)
{
	const struct capture_sink *caller = d->caller;
	struct capture *c = d->c;
	int err = capture_stacks_has(r) ? capture_stacks_names(c->stacks, c, &d->sink, r) : 0;

	if (err)
		return err < 0 ? err : 0;
	c->counts.records++;
	if (stream->kind == CAPTURE_STREAM_LIFE)
		life_note(c, r);
	if (r->kind == RECORD_service)
		capture_services_note(c, (const struct record_service *)r);
	if (capture_stacks_has(r))
		return capture_stacks_record(c->stacks, caller, stream, r);
	err = caller->record(caller->arg, stream, r);
	return err ? err : inherited_deliver(c, &d->sink, r);
}
