/* SPDX-License-Identifier: Apache-2.0 */
#include "up/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/checkpoint.h"
#include "chunk/file.h"

#define FOLDER "map"
#define SENT_FILE "sent"
#define SENT_BYTES_MAX 256

void progress_open(struct progress *p, int parent)
{
	*p = (struct progress){.dir = recording_make_at(parent, FOLDER, NULL, NULL)};
	chunk_boot_read(p->boot_id);
}

void progress_close(struct progress *p)
{
	if (p->dir >= 0)
		close(p->dir);
	bytes_free(&p->held);
	p->dir = -1;
}

/* ---- what was sent ---- */

u64 progress_sent(const struct progress *p)
{
	char boot_id[CHUNK_BOOT_BYTES] = "";
	u64 next = 0;
	void *text;
	size_t bytes;

	if (p->dir < 0 || file_read_all(p->dir, SENT_FILE, SENT_BYTES_MAX, &text, &bytes))
		return 0;
	if (sscanf(text, "%36s %" SCNu64, boot_id, &next) != 2 || strcmp(boot_id, p->boot_id) != 0)
		next = 0;
	free(text);
	return next;
}

void progress_sent_set(const struct progress *p, u64 next)
{
	char text[SENT_BYTES_MAX];
	int bytes = snprintf(text, sizeof(text), "%s %" PRIu64 "\n", p->boot_id, next);

	if (p->dir >= 0)
		file_replace(p->dir, SENT_FILE, text, (size_t)bytes, false);
}

/* ---- the state: the number of the next chunk, and what handover_state_write() says ---- */

static struct recording_hold hold_of(const struct progress *p)
{
	return (struct recording_hold){.dir = p->dir, .lock = -1};
}

static void held_write(struct progress *p)
{
	struct recording_checkpoint checkpoint = {
		.end_ns = p->held_end_ns, .data = p->held.data, .bytes = p->held.count};
	const struct recording_hold hold = hold_of(p);

	memcpy(checkpoint.boot_id, p->boot_id, sizeof(checkpoint.boot_id));
	p->has_state = recording_checkpoint_write(FOLDER, &hold, NULL, &checkpoint, NULL) == 0 ||
		       p->has_state;
}

static int held_take(struct progress *p, struct handover *h, const struct chunk_info *info)
{
	p->held.count = 0;
	p->held_next = info->seq + 1;
	p->held_end_ns = info->end_ns;
	bytes_put_u64(&p->held, p->held_next);
	return p->held.failed ? -ENOMEM : handover_state_write(h, &p->held);
}

int progress_taken(struct progress *p, struct handover *h, const struct chunk_info *info)
{
	int err;

	if (p->dir < 0 || (p->held.count && info->seq + 1 - p->held_next < PROGRESS_CHUNKS))
		return 0;
	if (p->held.count)
		held_write(p);
	err = held_take(p, h, info);
	if (!err && !p->has_state) /* the first one has no earlier one */
		held_write(p);
	return err;
}

static int checkpoint_begin(const struct recording_checkpoint *c, struct handover *h, u64 before,
			    u64 *next)
{
	struct bytes_reader r = bytes_reader_over(c->data, c->bytes);
	u64 at = bytes_get_u64(&r);
	int err;

	if (c->bytes < sizeof(at) || at > before)
		return -ENOENT;
	err = handover_begin(h, (const char *)c->data + sizeof(at), c->bytes - sizeof(at));
	if (!err)
		*next = at;
	return err;
}

int progress_begin(struct progress *p, struct handover *h, u64 before, u64 *next, u64 *end_ns)
{
	const struct recording_hold hold = hold_of(p);
	struct recording_checkpoint checkpoint;
	int err = p->dir < 0 ? -ENOENT
			     : recording_checkpoint_read(FOLDER, &hold, &checkpoint, NULL);

	if (err)
		return err;
	err = strcmp(checkpoint.boot_id, p->boot_id) != 0
		      ? -ENOENT
		      : checkpoint_begin(&checkpoint, h, before, next);
	if (!err) {
		*end_ns = checkpoint.end_ns;
		p->has_state = true;
	}
	recording_checkpoint_free(&checkpoint);
	return err;
}
