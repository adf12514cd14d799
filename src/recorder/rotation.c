/* SPDX-License-Identifier: Apache-2.0 */
/* Where the chunks of a recording end and begin: rotations, snapshots and pauses. */
#include <errno.h>
#include <stdio.h>

#include "capture/capture.h"
#include "chunk/chunk.h"
#include "recorder/flight.h"
#include "recorder/internal.h"

/* ---- rotation and snapshots ---- */

int recorder_tell_costs(struct recorder *r, struct error *e)
{
	struct capture_sink sink = recorder_sink(r);
	int err = costs_tell(&r->costs, &sink);

	return err ? error_set(e, err, "cannot record what the recording costs") : 0;
}

/* Ends the chunk at one instant, at which the next one begins. */
static int rotate(struct recorder *r, struct error *e)
{
	struct capture_sink sink = recorder_sink(r);
	u64 cut_ns;
	int err = recorder_settle(r, e);

	if (!err)
		err = recorder_tell_costs(r, e);
	if (err)
		return err;
	err = capture_cut(r->capture, &sink, &cut_ns);
	if (err < 0)
		return error_set(e, err, "cannot end the chunk");
	r->filters = capture_filters(r->capture);
	r->pace = recorder_pace(r, cut_ns);
	err = chunking_rotate(&r->chunks, cut_ns, capture_complete(r->capture, true),
			      recorder_incomplete(r), e);
	r->chunk_begin_ns = r->flushed_ns = cut_ns;
	return err;
}

/* On a full disk the chunk may be over although its end could not be written. */
int recorder_rotate(struct recorder *r, struct error *e)
{
	const struct chunk_writer *before = r->chunks.writer;
	int err = rotate(r, e);

	if (!err || !recorder_make_room(r, err, e))
		return err;
	return r->chunks.writer == before ? rotate(r, e) : 0;
}

int recorder_flush(struct recorder *r, u64 now, struct error *e)
{
	int err = chunking_flush(&r->chunks, now - RECORDER_LATENESS_NS, e);

	r->flushed_ns = now;
	return err && recorder_make_room(r, err, e) ? 0 : err;
}

/* Writes a chunk with the contents of the rings that are in no earlier chunk. */
static int snapshot(struct recorder *r, struct error *e)
{
	struct capture_sink sink = chunking_sink(&r->chunks);
	u64 from_ns, cut_ns;
	int err = recorder_settle(r, e);

	if (!err)
		err = recorder_tell_costs(r, e);
	if (!err)
		err = flight_take(r->flight, r->capture, &from_ns, &cut_ns, e);
	if (err)
		return err;
	if (from_ns < r->chunk_begin_ns)
		from_ns = r->chunk_begin_ns;
	r->filters = capture_filters_at(r->capture, from_ns);
	err = chunking_begin(&r->chunks, from_ns, e);
	if (!err)
		err = flight_write(r->flight, r->capture, from_ns, &sink, e);
	if (err)
		return err;
	r->chunk_begin_ns = cut_ns + 1;
	return chunking_end(&r->chunks, cut_ns + 1, recorder_incomplete(r), e);
}

/* A flight recorder goes on after a failure: a later snapshot may succeed. */
void recorder_snapshot(struct recorder *r)
{
	struct error e = {0};

	if (!snapshot(r, &e))
		return;
	fprintf(stderr, "fathom: snapshot: %s\n", e.text);
	chunking_abandon(&r->chunks); /* its records can be requested again */
	/* no request waits if the chunk is already being sealed */
	control_refuses(r->control, "the chunk could not be written");
}

/* ---- pauses ---- */

/* Seals the chunk. From its end on nothing is recorded. */
static int pause_begin(struct recorder *r, struct error *e)
{
	struct capture_sink sink = recorder_sink(r);
	u64 cut_ns;
	int err = recorder_settle(r, e);

	if (!err)
		err = recorder_tell_costs(r, e);
	if (!err)
		err = budget_pause_tell(&r->budget, true, &sink);
	if (!err)
		err = capture_cut(r->capture, &sink, &cut_ns);
	if (err < 0)
		return error_is_set(e) ? err : error_set(e, err, "cannot end the chunk");
	capture_pause(r->capture);
	r->paused = r->detail.paused = true;
	if (capture_complete(r->capture, false) < cut_ns)
		chunking_complete(&r->chunks, capture_complete(r->capture, false));
	/* the end of a chunk is exclusive; capture's cut includes its instant */
	err = chunking_end(&r->chunks, cut_ns + 1, recorder_incomplete(r), e);
	return err && recorder_make_room(r, err, e) ? 0 : err;
}

/* Goes on with a new chunk. */
static int pause_end(struct recorder *r, struct error *e)
{
	struct capture_sink sink;
	u64 begin_ns;
	int err = recorder_tell_costs(r, e);

	if (!err)
		err = capture_resume(r->capture, &begin_ns, e);
	if (err)
		return err;
	r->filters = capture_filters(r->capture);
	err = chunking_begin(&r->chunks, begin_ns, e);
	if (err && recorder_make_room(r, err, e))
		err = chunking_begin(&r->chunks, begin_ns, e);
	if (err)
		return err;
	r->chunk_begin_ns = r->flushed_ns = begin_ns;
	r->paused = r->detail.paused = false;
	sink = recorder_sink(r);
	err = capture_look(r->capture, &sink, e);
	if (!err && (err = budget_pause_tell(&r->budget, false, &sink)))
		error_set(e, err, "cannot record the end of a pause");
	return err;
}

/* A pause begins at `waits` only, which the budget has asked for. */
int recorder_follow_pauses(struct recorder *r, struct error *e)
{
	bool pauses = budget_pauses(&r->budget, &r->detail);

	if (r->paused && control_wants_rotation(r->control))
		control_refuses(r->control, "nothing is recorded now, to hold the budget");
	if (pauses == r->paused)
		return 0;
	if (!pauses)
		return pause_end(r, e);
	return capture_detail(r->capture) == CAPTURE_DETAIL_WAITS ? pause_begin(r, e) : 0;
}
