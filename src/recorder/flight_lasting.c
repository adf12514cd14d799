/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/flight_lasting.h"

#include <string.h>

#define LASTING_BYTES (4u << 20)

static bool is_follow(const struct record_head *r)
{
	return r->kind == RECORD_filter &&
	       ((const struct record_filter *)r)->flags & FILTER_FOLLOWS;
}

static bool is_slot_file(const struct record_head *r)
{
	const struct record_fd *fd = (const void *)r;

	return r->kind == RECORD_fd && fd->op == FD_open && fd->fd < 0;
}

/* Sockets in slots of an io_uring. The snapshot of each chunk has the others. */
static bool is_slot_socket(const struct flight_lasting *l, const struct record_head *r)
{
	return r->kind == RECORD_socket &&
	       map_get(&l->slot_sockets, ((const struct record_socket *)r)->file.key);
}

bool flight_lasting_wants(const struct flight_lasting *l, const struct record_head *r)
{
	return r->kind == RECORD_service || (r->kind == RECORD_mapping && r->pid) || is_follow(r) ||
	       is_slot_file(r) || is_slot_socket(l, r);
}

void flight_lasting_free(struct flight_lasting *l)
{
	kept_free(&l->kept);
	map_free(&l->slot_sockets);
}

/* ---- keeping ---- */

static int slot_socket_add(struct flight_lasting *l, const struct record_head *r)
{
	const struct record_fd *fd = (const void *)r;

	if (!is_slot_file(r) || fd->file.kind < FILE_KIND_tcp ||
	    fd->file.kind > FILE_KIND_socket_other)
		return 0;
	return map_put(&l->slot_sockets, fd->file.key, l);
}

/* Going backwards, drops records that a later one has replaced. This loses nothing. */
struct replacing {
	struct bytes_map seen;
	struct flight_lasting *l;
};

static bool is_latest(void *arg, const struct record_head *r)
{
	struct replacing *replacing = arg;
	struct {
		struct file_ref file; /* without padding: it is a key */
		u32 pid, kind;
	} key;

	memset(&key, 0, sizeof(key));
	key.kind = r->kind;
	key.pid = r->pid;
	if (r->kind == RECORD_mapping)
		return true;
	if (r->kind == RECORD_fd)
		key.file = ((const struct record_fd *)r)->file;
	if (r->kind == RECORD_socket)
		key.file = ((const struct record_socket *)r)->file;
	if (bytes_map_get(&replacing->seen, &key, sizeof(key)))
		return false;
	(void)bytes_map_put(&replacing->seen, &key, sizeof(key), replacing->l);
	return true;
}

static int lasting_shrink(struct flight_lasting *l)
{
	struct replacing replacing = {.l = l};
	size_t oldest = 0, left;
	int err = 0;

	kept_filter(&l->kept, true, is_latest, &replacing);
	bytes_map_free(&replacing.seen);
	left = l->kept.bytes;
	for (; left > LASTING_BYTES / 2; oldest++) {
		const struct record_head *r = l->kept.list.data[oldest].record;

		left -= kept_bytes(r);
		l->forgotten[r->kind]++;
	}
	kept_drop(&l->kept, oldest);
	map_free(&l->slot_sockets);
	for (size_t i = 0; i < l->kept.list.count && !err; i++)
		err = slot_socket_add(l, l->kept.list.data[i].record);
	return err;
}

int flight_lasting_add(struct flight_lasting *l, const struct capture_stream *s,
		       const struct record_head *r)
{
	int err = l->kept.bytes > LASTING_BYTES ? lasting_shrink(l) : 0;

	err = err ? err : slot_socket_add(l, r);
	return err ? err : kept_add(&l->kept, s, r);
}

/* ---- writing ---- */

/* Reports dropped records as a loss, in each chunk. */
static int forgotten_write(u16 kind, u64 count, u64 from_ns, const struct capture_sink *to)
{
	const struct capture_stream stream = {.kind = CAPTURE_STREAM_LIFE};
	struct record_lost lost = {
		.why = LOST_buffer, .lost_kind = kind, .count = count, .begin_ns = from_ns};

	lost.head.kind = RECORD_lost;
	lost.head.slots = 1;
	lost.head.time_ns = from_ns;
	return count ? to->lost(to->arg, &stream, &lost) : 0;
}

int flight_lasting_write(const struct flight_lasting *l, u64 from_ns, const struct capture_sink *to)
{
	int err = kept_write(&l->kept, from_ns, to);

	for (u16 kind = 0; kind <= RECORD_KIND_MAX && !err; kind++)
		err = forgotten_write(kind, l->forgotten[kind], from_ns, to);
	return err;
}
