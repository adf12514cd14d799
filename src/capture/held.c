/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int held_add(struct held_records *held, const struct capture_stream *stream,
	     const struct record_head *r)
{
	size_t bytes = (size_t)r->slots * RECORD_SLOT_BYTES;
	struct record_head *copy = malloc(bytes);
	int err;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, r, bytes);
	err = vec_push(&held->list, ((struct held_record){*stream, copy}));
	if (err)
		free(copy);
	return err;
}

int held_deliver(struct held_records *held, u64 until_ns, held_deliver_fn *deliver, void *arg)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < held->list.count; i++) {
		struct held_record *one = &held->list.data[i];

		if (err || one->record->time_ns > until_ns) {
			held->list.data[kept++] = *one;
			continue;
		}
		err = deliver(arg, &one->stream, one->record);
		free(one->record);
	}
	held->list.count = kept;
	return err;
}

void held_free(struct held_records *held)
{
	for (size_t i = 0; i < held->list.count; i++)
		free(held->list.data[i].record);
	vec_free(&held->list);
}
