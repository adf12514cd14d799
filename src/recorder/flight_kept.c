/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/flight_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kept_drop(struct kept_list *l, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		l->bytes -= kept_bytes(l->list.data[i].record);
		free(l->list.data[i].record);
	}
	l->list.count -= count;
	if (count)
		memmove(l->list.data, l->list.data + count, l->list.count * sizeof(*l->list.data));
}

void kept_free(struct kept_list *l)
{
	kept_drop(l, l->list.count);
	vec_free(&l->list);
}

int kept_add(struct kept_list *l, const struct capture_stream *s, const struct record_head *r)
{
	size_t bytes = kept_bytes(r);
	struct record_head *copy = malloc(bytes);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, r, bytes);
	if (vec_push(&l->list, ((struct kept){*s, copy}))) {
		free(copy);
		return -ENOMEM;
	}
	l->bytes += bytes;
	return 0;
}

void kept_filter(struct kept_list *l, bool backwards,
		 bool (*stays)(void *arg, const struct record_head *r), void *arg)
{
	size_t count = l->list.count, kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct kept *k = &l->list.data[backwards ? count - 1 - i : i];

		if (stays(arg, k->record))
			continue;
		l->bytes -= kept_bytes(k->record);
		free(k->record);
		k->record = NULL;
	}
	for (size_t i = 0; i < count; i++)
		if (l->list.data[i].record)
			l->list.data[kept++] = l->list.data[i];
	l->list.count = kept;
}

static u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

int kept_restamp(const struct capture_sink *to, const struct capture_stream *s,
		 const struct record_head *r, u64 time_ns)
{
	union {
		struct record_head head;
		struct record_thread thread;
		struct record_filter filter;
		u8 slots[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
	} copy;

	memcpy(&copy, r, kept_bytes(r));
	if (r->kind == RECORD_thread) /* since_ns counts from the new time; 0: unknown */
		copy.thread.since_ns -= min_u64(copy.thread.since_ns, r->time_ns - time_ns);
	if (r->kind == RECORD_filter && r->time_ns < time_ns)
		copy.filter.flags |= FILTER_AGAIN;
	copy.head.time_ns = time_ns;
	return to->record(to->arg, s, &copy.head);
}

int kept_write(const struct kept_list *l, u64 from_ns, const struct capture_sink *to)
{
	int err = 0;

	for (size_t i = 0; i < l->list.count && !err; i++) {
		const struct kept *k = &l->list.data[i];

		err = kept_restamp(to, &k->stream, k->record,
				   k->record->time_ns > from_ns ? k->record->time_ns : from_ns);
	}
	return err;
}
