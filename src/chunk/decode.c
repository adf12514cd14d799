/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/decode.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#define FIRST_ROWS 64u
#define NO_TID UINT32_MAX /* more than fits in an event */

int unpacker_init(struct unpacker *u)
{
	*u = (struct unpacker){0};
	u->files = calloc(FIRST_ROWS, sizeof(*u->files));
	u->contexts = calloc(FIRST_ROWS, sizeof(*u->contexts));
	u->file_capacity = FIRST_ROWS;
	u->context_capacity = FIRST_ROWS;
	if (u->files && u->contexts)
		return 0;
	unpacker_free(u);
	return -ENOMEM;
}

void unpacker_free(struct unpacker *u)
{
	free(u->files);
	free(u->contexts);
	tid_table_free(&u->threads);
	u->files = NULL;
	u->contexts = NULL;
}

size_t unpacker_bytes(const struct unpacker *u)
{
	return u->file_capacity * sizeof(*u->files) + u->context_capacity * sizeof(*u->contexts) +
	       tid_table_bytes(&u->threads);
}

void unpacker_begin(struct unpacker *u, const u8 *packet, const struct packet_head *head)
{
	u->at = packet + PACKET_HEAD_BYTES;
	u->packet = packet;
	u->switch_count = 0;
	u->end = packet + head->content_bits / 8;
	u->time_ns = head->timestamp_begin;
	u->end_ns = head->timestamp_end;
	u->cpu = (u16)head->cpu_id;
	u->file_count = 0;
	u->context_count = 0;
	tid_table_reset(&u->threads);
	u->last_tid = NO_TID;
}

/* ---- one function for each kind, made from its list ---- */

static inline u64 value_u64(const u8 *at, u32 presence)
{
	static const u64 mask[4] = {0, 0xffffffff, ~0ull, 0};

	return load64(at) & mask[presence];
}

static inline s64 value_s64(const u8 *at, u32 presence)
{
	u64 value = value_u64(at, presence);

	return presence == 1 ? (s32)value : (s64)value;
}

#define NONE FORMAT_NOTHING
#define GET_FIX(type, name, what)                                                                  \
	memcpy((u8 *)r + offsetof(KIND, name), at, sizeof(type));                                  \
	at += sizeof(type);
#define GET_PAD(type, name) r->name = 0;
#define GET_FILE(name, what)                                                                       \
	row = load16(at);                                                                          \
	at += 2;                                                                                   \
	if (row > u->file_count)                                                                   \
		return -EBADMSG;                                                                   \
	r->name = u->files[row];
#define GET_CTX(name, what)                                                                        \
	row = load16(at);                                                                          \
	at += 2;                                                                                   \
	if (row > u->context_count)                                                                \
		return -EBADMSG;                                                                   \
	r->name = u->contexts[row];
#define GET_LEN(size, name, what)                                                                  \
	text_len = load16(at);                                                                     \
	at += 2;                                                                                   \
	if (text_len > size)                                                                       \
		return -EBADMSG;                                                                   \
	r->name##_len = (u16)text_len;
#define GET_VAR(type, name, what)                                                                  \
	r->name = value_##type(at, presence & 3);                                                  \
	at += (size_t)4 * (presence & 3);                                                          \
	presence >>= 2;
#define GET_TEXT(size, name, what)                                                                 \
	if (text_len > (size_t)(u->end - at))                                                      \
		return -EBADMSG;                                                                   \
	memcpy((u8 *)r + offsetof(KIND, name), at, text_len);                                      \
	if (text_len < size)                                                                       \
		r->name[text_len] = 0;                                                             \
	at += text_len;                                                                            \
	slots = (offsetof(KIND, name) + text_len + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;

/*
 * The fixed part is checked before it is read. VAR values may be read beyond the
 * end, in the slack, before the end is checked.
 */
_Static_assert(UNPACK_SLACK >= 136, "slack");

#define K(kind, value, what)                                                                       \
	static int unpack_##kind(struct unpacker *u)                                               \
	{                                                                                          \
		typedef struct record_##kind KIND;                                                 \
		struct record_##kind *r = &u->record.kind##_;                                      \
		const u8 *at = u->at + 8;                                                          \
		size_t text_len = 0;                                                               \
		u32 presence = 0, row = 0;                                                         \
		unsigned int slots = (sizeof(KIND) + RECORD_SLOT_BYTES - 1) / RECORD_SLOT_BYTES;   \
                                                                                                   \
		if ((size_t)(u->end - u->at) < FORMAT_CHECKPOINT(kind))                            \
			return -EBADMSG;                                                           \
		if (FORMAT_VARS(kind)) {                                                           \
			presence = load32(at);                                                     \
			at += 4;                                                                   \
			if (presence & (~FORMAT_PRESENCE(kind) | (presence >> 1 & 0x55555555u)))   \
				return -EBADMSG;                                                   \
		}                                                                                  \
		RECORD_FIELDS_##kind(GET_FIX, NONE, GET_PAD, NONE, NONE, NONE)                     \
			RECORD_FIELDS_##kind(NONE, NONE, NONE, GET_FILE, GET_CTX, GET_LEN)         \
				RECORD_FIELDS_##kind(NONE, GET_VAR, NONE, NONE, NONE,              \
						     NONE) if (at > u->end) return -EBADMSG;       \
		RECORD_FIELDS_##kind(NONE, NONE, NONE, NONE, NONE, GET_TEXT)(void) row;            \
		(void)text_len;                                                                    \
		r->head.slots = (u8)slots;                                                         \
		u->at += format_align4((unsigned int)(at - u->at));                                \
		return 0;                                                                          \
	}
RECORD_KINDS(K)
#undef K

static inline void unpack_head(struct unpacker *u, u32 word)
{
	struct record_head *head = &u->record.head;

	head->seq = 0;
	head->kind = (u8)word;
	head->cpu = u->cpu;
	head->time_ns = u->time_ns;
	head->tid = word >> 8;
	if (word >> 8 != u->last_tid) {
		u->last_tid = word >> 8;
		u->last_pid = tid_table_get(&u->threads, word >> 8);
	}
	head->pid = u->last_pid;
}

/* Decodes a switch that repeats an earlier one of the packet, with its own time. */
static int unpack_switch_again(struct unpacker *u)
{
	const u8 *event = u->at;
	u32 number = event[5];
	int err;

	if (number >= u->switch_count)
		return -EBADMSG;
	u->at = u->packet + u->switches[number];
	unpack_head(u, load32(u->at + 4));
	err = unpack_switch(u);
	u->record.switch_.since_ns = load16(event + 6);
	u->at = event + 8;
	return err;
}

int unpacker_take(struct unpacker *u)
{
	u32 word = load32(u->at + 4), kind = word & 0xff;

	if (kind == EVENT_SWITCH_AGAIN)
		return unpack_switch_again(u);
	unpack_head(u, word);
	if (kind == RECORD_switch)
		u->switches[u->switch_count++ % SWITCHES] = (u32)(u->at - u->packet);
	switch (kind) {
#define K(kind, value, what)                                                                       \
	case value:                                                                                \
		return unpack_##kind(u);
		RECORD_KINDS(K)
#undef K
	default:
		return -EBADMSG;
	}
}

/* ---- rows of the tables ---- */

static int rows_grow(void **rows, u32 *capacity, size_t size)
{
	void *more = realloc(*rows, (size_t)2 * *capacity * size);

	if (!more)
		return -ENOMEM;
	*rows = more;
	*capacity *= 2;
	return 0;
}

static int add_file(struct unpacker *u, const struct record_file_entry *row)
{
	if (row->index != u->file_count + 1 || row->index > 0xffff)
		return -EBADMSG;
	if (row->index == u->file_capacity &&
	    rows_grow((void **)&u->files, &u->file_capacity, sizeof(*u->files)))
		return -ENOMEM;
	u->files[++u->file_count] = (struct file_ref){
		.key = row->key, .dev = row->dev, .kind = row->file_kind, .flags = row->flags};
	return 0;
}

static int add_context(struct unpacker *u, const struct record_context_entry *row)
{
	u64 ids[3] = {htobe64(row->trace_hi), htobe64(row->trace_lo), htobe64(row->span)};

	if (row->index != u->context_count + 1 || row->index > 0xffff)
		return -EBADMSG;
	if (row->index == u->context_capacity &&
	    rows_grow((void **)&u->contexts, &u->context_capacity, sizeof(*u->contexts)))
		return -ENOMEM;
	memcpy(&u->contexts[++u->context_count], ids, sizeof(ids));
	return 0;
}

static int take_row(struct unpacker *u)
{
	int err = unpacker_take(u);

	if (err)
		return err;
	u->rows++;
	switch (u->record.head.kind) {
	case RECORD_context_entry:
		return add_context(u, &u->record.context_entry_);
	case RECORD_file_entry:
		return add_file(u, &u->record.file_entry_);
	default:
		u->last_tid = NO_TID;
		return tid_table_put(&u->threads, u->record.head.tid,
				     u->record.thread_entry_.process);
	}
}

int unpacker_peek(struct unpacker *u)
{
	while (u->at < u->end) {
		if (u->end - u->at < 8)
			return -EBADMSG;
		if (!unpacker_time(u))
			return -EBADMSG;
		if (__builtin_expect(!unpacker_at_row(u), 1))
			return 1;
		int err = take_row(u);
		if (err)
			return err;
	}
	return 0;
}
