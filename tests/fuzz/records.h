/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as a hostile program or a damaged chunk could have them. Input: for each record a byte
 * each of kind, length, time, CPU, tid and pid, then its body. Of time: nanoseconds since the
 * record before, from 192 on a power of two of them, up to all the time that readers let through.
 */
#ifndef TESTS_FUZZ_RECORDS_H
#define TESTS_FUZZ_RECORDS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "map/partial.h"
#include "record/describe.h"

#define HEAD_BYTES 6
#define RECORDS 400

union record {
	struct record_head head;
	u8 bytes[RECORD_MAX_SLOTS * RECORD_SLOT_BYTES];
};

struct input {
	const uint8_t *at, *end;
	u64 time_ns;
};

/* Text as long as the record says, within its field. */
static inline void text_fill(union record *r, const struct record_kind_info *info,
			     const uint8_t *from, size_t len)
{
	u16 text;

	memcpy(&text, r->bytes + info->text_len_offset, sizeof(text));
	text %= (u16)((info->text_max < 200 ? info->text_max : 200) + 1);
	memcpy(r->bytes + info->text_len_offset, &text, sizeof(text));
	for (u16 i = 0; i < text; i++)
		r->bytes[info->fixed_size + i] = i < len ? from[i] : 'a';
}

static inline bool record_take(struct input *in, union record *r)
{
	const struct record_kind_info *info;
	const uint8_t *head = in->at;
	size_t len, body;

	memset(r, 0, sizeof(*r));
	if (in->end - in->at < HEAD_BYTES)
		return false;
	in->at += HEAD_BYTES;
	len = head[1] < in->end - in->at ? head[1] : (size_t)(in->end - in->at);
	r->head.kind = (u8)(1 + head[0] % RECORD_KIND_MAX);
	info = record_kind_info(r->head.kind);
	if (!info)
		return true;
	body = info->fixed_size - sizeof(r->head);
	memcpy(r->bytes + sizeof(r->head), in->at, len < body ? len : body);
	if (info->text_max)
		text_fill(r, info, in->at, len);
	in->time_ns += head[2] < 192 ? head[2] : 1ull << (head[2] - 192);
	if (in->time_ns >= RECORD_TIME_END_NS)
		in->time_ns = RECORD_TIME_END_NS - 1;
	in->at += len;
	r->head.slots = RECORD_MAX_SLOTS;
	r->head.time_ns = in->time_ns;
	r->head.cpu = head[3] & 3;
	r->head.tid = head[4] & 7;
	r->head.pid = head[5] & 3;
	return true;
}

static inline struct partial *map_some(struct input *in, const struct partial_options *options,
				       int count)
{
	struct partial *p = partial_new(options);
	union record r;
	u64 from_ns = in->time_ns;

	if (count & 1 && from_ns + 1000 < RECORD_TIME_END_NS) /* as a manifest must say */
		partial_streams(p, from_ns + 100, from_ns + 1000);
	for (int i = 0; i < count && record_take(in, &r); i++)
		if (partial_apply(p, &r.head))
			abort();
	partial_cover(p, from_ns, in->time_ns);
	return p;
}

#endif
