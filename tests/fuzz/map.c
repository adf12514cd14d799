/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as a hostile program or a damaged chunk could have them, through
 * map, merge, base and the trees. Input: for each record a byte each of kind,
 * length, time, CPU, tid and pid, then its body. Of time: nanoseconds since the record before, from
 * 192 on a power of two of them, up to all the time that readers let through.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "map/base.h"
#include "map/query.h"
#include "map/tree.h"
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
static void text_fill(union record *r, const struct record_kind_info *info, const uint8_t *from,
		      size_t len)
{
	u16 text;

	memcpy(&text, r->bytes + info->text_len_offset, sizeof(text));
	text %= (u16)((info->text_max < 200 ? info->text_max : 200) + 1);
	memcpy(r->bytes + info->text_len_offset, &text, sizeof(text));
	for (u16 i = 0; i < text; i++)
		r->bytes[info->fixed_size + i] = i < len ? from[i] : 'a';
}

static bool record_take(struct input *in, union record *r)
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

static struct partial *map_some(struct input *in, const struct partial_options *options, int count)
{
	struct partial *p = partial_new(options);
	union record r;
	u64 from_ns = in->time_ns;

	if (count & 1)
		partial_streams(p, from_ns + 100, from_ns + 1000);
	for (int i = 0; i < count && record_take(in, &r); i++)
		if (partial_apply(p, &r.head))
			abort();
	partial_cover(p, from_ns, in->time_ns);
	return p;
}

/* What is deleted leaves a base, which must be readable. */
static struct partial *base_of(struct partial *p, const struct partial_options *options)
{
	struct bytes bytes = {0};
	struct partial *base;

	if (base_write(p, &bytes) || base_read(&base, bytes.data, bytes.count, options))
		abort();
	bytes_free(&bytes);
	partial_free(p);
	return base;
}

static void ask(const struct partial *p)
{
	struct tree_options options = {.threads = true};
	struct tree tree;

	if (tree_build(p, &options, &tree) == 0)
		tree_free(&tree);
	for (u32 i = 0; i < 8; i++) {
		struct fd_question q = {.tid = i,
					.pid = i & 3,
					.fd = (s32)i,
					.time_ns = p->to_ns,
					.file = {.key = i}};

		query_fd_name(p, &q);
		query_comm(p, i, p->to_ns);
		query_process(p, i, p->to_ns);
		query_resource(p, i, p->to_ns, "service.name");
		query_socket(p, q.file.key, p->to_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct partial_options state = {.state_only = true}, all = {.spans = true};
	struct input in = {data, data + size, 1000};
	struct partial *p, *more;

	if (size < 3)
		return 0;
	in.at += 3;
	p = base_of(map_some(&in, &state, data[0] & 63), &all);
	more = map_some(&in, &all, data[1]);
	if (partial_merge(more, map_some(&in, &all, data[2])) || partial_merge(p, more))
		abort();
	if (partial_finish(p))
		abort();
	ask(p);
	partial_free(p);
	return 0;
}
