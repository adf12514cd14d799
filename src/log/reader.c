/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "log/log.h"
#include "log/segment.h"

struct log_reader {
	int dir;
	struct segment segment; /* fd < 0: none is open */
	uint64_t position, lost;
	struct segment_buffer buffer;
};

int log_reader_open(int dir, uint64_t position, struct log_reader **out, struct error *e)
{
	struct log_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return error_set(e, ENOMEM, "cannot read the log");
	r->segment.fd = -1;
	r->position = position;
	r->dir = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir < 0) {
		int err = error_set(e, errno, "cannot read the log");

		log_reader_close(r);
		return err;
	}
	*out = r;
	return 0;
}

/* The segment to read at a position: the one that has it, or the next one. `i` == count: none. */
static size_t segment_at(const struct segment_list *list, uint64_t position)
{
	size_t i = list->count;

	while (i > 0 && list->data[i - 1] > position)
		i--;
	return i > 0 ? i - 1 : 0;
}

/* Opens the segment of the position, or the one behind `past` (if not NULL). 1, 0: none, -errno. */
static int segment_choose(struct log_reader *r, const uint64_t *past, struct error *e)
{
	struct segment_list list = {0};
	struct segment segment;
	size_t i;
	int err = segment_list_read(r->dir, &list, e);

	if (err)
		return err;
	i = segment_at(&list, r->position);
	while (past && i < list.count && list.data[i] <= *past)
		i++;
	if (i >= list.count) {
		vec_free(&list);
		return 0;
	}
	err = segment_open(r->dir, list.data[i], O_RDONLY, &segment, e);
	vec_free(&list);
	if (err)
		return err;
	if (r->segment.fd >= 0)
		close(r->segment.fd);
	r->segment = segment;
	if (segment.begin > r->position) {
		/* position 0 stands for the oldest entry that there is */
		r->lost += r->position ? segment.begin - r->position : 0;
		r->position = segment.begin;
	}
	return 1;
}

/* Passes over damage up to the next whole entry or the limit. */
static int damage_pass(struct log_reader *r, uint64_t limit)
{
	uint64_t found;
	int err = entry_find(&r->segment, r->position, limit, &r->buffer, &found);

	if (err)
		return err;
	r->lost += found - r->position;
	r->position = found;
	return 0;
}

int log_reader_next(struct log_reader *r, uint64_t until, struct log_entry *entry, struct error *e)
{
	int err = 1;

	if (r->segment.fd < 0)
		err = segment_choose(r, NULL, e);
	while (err > 0 && r->position < until) {
		uint64_t limit = 0;
		size_t bytes;

		err = segment_end(&r->segment, &limit);
		limit = limit < until ? limit : until;
		if (err)
			break;
		if (r->position >= limit) {
			err = segment_choose(r, &r->segment.begin, e);
			continue;
		}
		err = entry_read(&r->segment, r->position, limit, &r->buffer, &bytes);
		if (!err) {
			*entry = (struct log_entry){r->buffer.data, bytes, r->position,
						    r->position + ENTRY_HEAD_BYTES + bytes};
			r->position = entry->end;
			return 1;
		}
		err = err == -EBADMSG ? damage_pass(r, limit) : err;
		err = err ? err : 1;
	}
	return err < 0 ? error_set(e, err, "cannot read the log") : 0;
}

uint64_t log_reader_lost(const struct log_reader *r)
{
	return r->lost;
}

void log_reader_close(struct log_reader *r)
{
	if (!r)
		return;
	if (r->segment.fd >= 0)
		close(r->segment.fd);
	if (r->dir >= 0)
		close(r->dir);
	free(r->buffer.data);
	free(r);
}
