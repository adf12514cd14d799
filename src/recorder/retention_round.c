/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/retention_round.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/host_clock.h"
#include "chunk/checkpoint.h"
#include "map/checkpoint/checkpoint.h"
#include "map/chunk_map.h"
#include "recorder/owner.h"

struct retention {
	char dir[4096];
	const struct recording_hold *hold;
	struct recording_retainer *chunks;
	struct recording_checkpoint checkpoint; /* the state of the deleted chunks */
	bool by_names;
	bool used; /* this round has mapped a chunk, which takes memory */
};

/* ---- the checkpoint ---- */

static void checkpoint_forgotten(const char *why)
{
	fprintf(stderr,
		"fathom: %s: names of files and processes seen only in chunks that --keep deleted "
		"will be missing\n",
		why);
}

/* Loads the checkpoint of an earlier recorder. A damaged or too large one is replaced. */
static int checkpoint_load(struct retention *r, struct error *e)
{
	int err = recording_checkpoint_read(r->dir, r->hold, &r->checkpoint, e);

	if (err == -EBADMSG || err == -EFBIG)
		checkpoint_forgotten(e->text);
	else if (err && err != -ENOENT)
		return err;
	error_clear(e);
	return 0;
}

void retention_check(struct retention *r)
{
	const struct partial_options options = {.state_only = true};
	struct partial *state = NULL;
	struct error e = {0};
	int err = r->checkpoint.data ? checkpoint_read(&state, r->checkpoint.data,
						       r->checkpoint.bytes, &options)
				     : 0;

	partial_free(state);
	if (err != -EBADMSG && err != -EPROTO)
		return;
	error_say(&e, err, "the checkpoint of %s %s", r->dir,
		  err == -EPROTO ? "was written by another version of fathom" : "is damaged");
	checkpoint_forgotten(e.text);
	recording_checkpoint_free(&r->checkpoint);
}

/* Before chunks are deleted: writes the checkpoint, on a full disk into the reserved space. */
static int checkpoint_store(struct retention *r, struct error *e)
{
	int err = recording_checkpoint_write(r->dir, r->hold, owner_find(), &r->checkpoint, e);

	if (!err) /* at once, in the space of the old checkpoint, before others use it */
		recording_checkpoint_reserve(r->hold, &r->checkpoint);
	return err;
}

/* Before a chunk is deleted: merges the state that later chunks need into the checkpoint. */
static int chunk_goes(void *arg, struct chunk_reader *reader, struct error *e)
{
	struct retention *r = arg;
	int err = chunk_absorb(&r->checkpoint, chunk_reader_info(reader), reader, e);

	r->used = true;
	return err;
}

/* Writes the checkpoint once for several chunks: the disk may take longer than reading a chunk. */
static int chunks_go(void *arg, struct error *e)
{
	struct retention *r = arg;

	return r->checkpoint.data ? checkpoint_store(r, e) : 0;
}

/* ---- rounds ---- */

/* Mapping some chunks, as those of a crash, takes much memory. It is returned after the round. */
static void memory_give_back(struct retention *r)
{
	if (r->used)
		malloc_trim(0);
	r->used = false;
}

void retention_round(struct retention *r, struct retention_result *result)
{
	struct error e = {0};
	int err;

	*result = (struct retention_result){0};
	if (!r->by_names)
		recording_checkpoint_reserve(r->hold, &r->checkpoint);
	err = recording_retain(r->chunks, clock_read_ns(CLOCK_REALTIME), host_clock_now_ns(), &e);
	memory_give_back(r);
	result->err = err < 0 ? err : 0;
	memcpy(result->text, e.text, sizeof(result->text));
	result->excess = recording_retainer_excess(r->chunks);
	result->deleted = recording_retainer_gone(r->chunks); /* whatever failed behind it */
}

int retention_open(struct retention **retention, const struct retainer_options *o, bool by_names,
		   struct error *e)
{
	struct retention *r = calloc(1, sizeof(*r));
	struct recording_keep limits = {.age_ns = o->keep.time_ns,
					.bytes = o->keep.bytes,
					.by_names = by_names,
					.before = by_names ? NULL : chunk_goes,
					.together = by_names ? NULL : chunks_go,
					.arg = r,
					.hold = o->hold,
					.host = o->host};
	int err;

	if (!r)
		return error_set(e, ENOMEM, "cannot apply --keep to %s", o->dir);
	strncpy(r->dir, o->dir, sizeof(r->dir) - 1);
	r->hold = o->hold;
	r->by_names = by_names;
	err = recording_retainer_open(&r->chunks, o->dir, &limits, e);
	if (!err && !by_names)
		err = checkpoint_load(r, e);
	if (err) {
		retention_close(r);
		return err;
	}
	*retention = r;
	return 0;
}

void retention_close(struct retention *r)
{
	if (!r)
		return;
	recording_retainer_close(r->chunks);
	recording_checkpoint_free(&r->checkpoint);
	free(r);
}

/* ---- a process of its own ---- */

int retention_serve(const struct retainer_options *options, int fd)
{
	struct retention *r = NULL;
	struct retention_result result = {0};
	struct error e = {0};
	char request;
	int err;

	recording_checkpoint_release(options->hold); /* one of another user may be left */
	err = retention_open(&r, options, false, &e);
	if (err) {
		fprintf(stderr, "fathom: %s\n", e.text);
		return err;
	}
	retention_check(r);
	while (recv(fd, &request, 1, 0) == 1) {
		retention_round(r, &result);
		if (send(fd, &result, sizeof(result), MSG_NOSIGNAL) != sizeof(result))
			break;
	}
	retention_close(r);
	recording_checkpoint_release(options->hold);
	return 0;
}
