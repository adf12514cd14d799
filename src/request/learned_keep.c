/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes: "fathomln", LEARNED_VERSION (4), the number of rows; then of each row service, peer
 * and other (8 each), kind and backward (1 each), nth, value and count (varints).
 */
#include "request/learned_keep.h"

#include <errno.h>

#include "base/map.h"

#define LEARNED_VERSION 1
#define KIND_LAST LEARNED_BEGUN

static const char magic[8] = "fathomln";

/* ---- bytes ---- */

static void row_write(const struct learned_row *row, struct bytes *out)
{
	const struct learned_key *k = &row->key;

	bytes_put_u64(out, k->service);
	bytes_put_u64(out, k->peer);
	bytes_put_u64(out, k->other);
	bytes_put_u8(out, k->kind);
	bytes_put_u8(out, k->backward);
	bytes_put_varint(out, k->nth);
	bytes_put_varint(out, k->value);
	bytes_put_varint(out, row->count);
}

void learned_write(struct learned *l, struct bytes *out)
{
	learned_sort(l);
	bytes_put(out, magic, sizeof(magic));
	bytes_put_u32(out, LEARNED_VERSION);
	bytes_put_varint(out, l->rows.count);
	for (size_t i = 0; i < l->rows.count; i++)
		row_write(&l->rows.data[i], out);
}

/* Reads a row. False: it makes no sense. */
static bool row_read(struct bytes_reader *r, struct learned_row *row)
{
	struct learned_key k = {0};
	u64 nth, value;

	k.service = bytes_get_u64(r);
	k.peer = bytes_get_u64(r);
	k.other = bytes_get_u64(r);
	k.kind = bytes_get_u8(r);
	k.backward = bytes_get_u8(r);
	nth = bytes_get_varint(r);
	value = bytes_get_varint(r);
	k.nth = (u16)nth;
	k.value = (u16)value;
	*row = (struct learned_row){k, bytes_get_varint(r)};
	return !r->failed && k.kind >= LEARNED_REQUESTS && k.kind <= KIND_LAST && k.backward <= 1 &&
	       nth <= LEARNED_NTH_MOST && value <= LEARNED_CALLS_MOST && row->count <= INT64_MAX;
}

int learned_read(struct learned *l, const void *data, size_t bytes)
{
	struct bytes_reader r = bytes_reader_over(data, bytes);
	const void *head = bytes_get(&r, sizeof(magic));
	u32 version = bytes_get_u32(&r);
	u64 count = bytes_get_varint(&r);
	int err = 0;

	if (!head || r.failed || memcmp(head, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	if (version != LEARNED_VERSION)
		return -EPROTO;
	for (u64 i = 0; i < count && !err; i++) {
		struct learned_row row;

		err = row_read(&r, &row) ? learned_add(l, &row.key, row.count) : -EBADMSG;
	}
	return err ? err : r.at == r.end ? 0 : -EBADMSG;
}

/* ---- forgetting ---- */

/* Halves the counts of the services in `busy`, or of all if it is NULL. 0 or -ENOMEM. */
static int counts_halve(struct learned *l, const struct map *busy)
{
	struct learned halved = {0};
	int err = 0;

	for (size_t i = 0; i < l->rows.count && !err; i++) {
		const struct learned_row *row = &l->rows.data[i];
		u64 count = !busy || map_get(busy, row->key.service) ? row->count / 2 : row->count;

		if (count)
			err = learned_add(&halved, &row->key, count);
	}
	if (err) {
		learned_free(&halved);
		return err;
	}
	learned_free(l);
	*l = halved;
	return 0;
}

int learned_fade(struct learned *l, u64 requests_most, size_t rows_most)
{
	struct map busy = {0};
	int err = 0;

	for (size_t i = 0; i < l->rows.count && !err; i++) {
		const struct learned_row *row = &l->rows.data[i];

		if (row->key.kind == LEARNED_REQUESTS && row->count > requests_most)
			err = map_put(&busy, row->key.service, PRESENT);
	}
	if (!err && busy.count)
		err = counts_halve(l, &busy);
	while (!err && l->rows.count > rows_most)
		err = counts_halve(l, NULL);
	map_free(&busy);
	return err;
}
