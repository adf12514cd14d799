/* SPDX-License-Identifier: Apache-2.0 */
#include "chunk/encode.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY (16u << 10)

void packet_init(struct packet *packet)
{
	*packet = (struct packet){0};
	intern_table_init(&packet->files, sizeof(struct file_ref) / sizeof(u64));
	intern_table_init(&packet->contexts, sizeof(struct context) / sizeof(u64));
}

void packet_free(struct packet *packet)
{
	free(packet->bytes);
	intern_table_free(&packet->files);
	intern_table_free(&packet->contexts);
	tid_table_free(&packet->threads);
	packet_init(packet);
}

void packet_begin(struct packet *packet)
{
	packet->used = PACKET_HEAD_BYTES;
	packet->unpadded = PACKET_HEAD_BYTES;
	packet->records = 0;
	packet->events = 0;
	packet->begin_ns = 0;
	packet->end_ns = 0;
	packet->switches.count = 0;
	intern_table_reset(&packet->files);
	intern_table_reset(&packet->contexts);
	tid_table_reset(&packet->threads);
}

static int packet_grow(struct packet *packet)
{
	u32 capacity = packet->capacity ? 2 * packet->capacity : FIRST_CAPACITY;
	u8 *bytes;

	if (capacity > PACKET_MAX_BYTES)
		capacity = PACKET_MAX_BYTES;
	bytes = realloc(packet->bytes, capacity + PACKET_SLACK);
	if (!bytes)
		return -ENOMEM;
	packet->bytes = bytes;
	packet->capacity = capacity;
	return 0;
}

/* ---- an event ---- */

static inline u8 *put_head(u8 *at, const struct record_head *record, u8 kind)
{
	store32(at, (u32)record->time_ns);
	store32(at + 4, record->tid << 8 | kind);
	return at + 8;
}

static inline void packet_end_event(struct packet *packet, const u8 *end)
{
	u32 at = (u32)(end - packet->bytes);

	store32(packet->bytes + at, 0);
	packet->unpadded = at;
	packet->used = format_align4(at);
	packet->events++;
}

static inline u32 presence_u64(u64 value)
{
	return (value != 0) + (value > 0xffffffffu);
}

static inline u32 presence_s64(s64 value)
{
	return (value != 0) + (value != (s32)value);
}

/*
 * Rows of the tables, which are written before the event that needs them. The asserts
 * check that their layout is that of their kinds in record.h.
 */
_Static_assert(FORMAT_CHECKPOINT(file_entry) == 28, "file_entry");
_Static_assert(FORMAT_CHECKPOINT(context_entry) == 36, "context_entry");
_Static_assert(FORMAT_CHECKPOINT(thread_entry) == 12, "thread_entry");

static __attribute__((noinline)) void put_file_row(struct packet *packet,
						   const struct record_head *record, u32 index,
						   const struct file_ref *file)
{
	u8 *at = put_head(packet->bytes + packet->used, record, RECORD_file_entry);

	store32(at, index);
	store64(at + 4, file->key);
	store32(at + 12, file->dev);
	store16(at + 16, file->kind);
	store16(at + 18, file->flags);
	packet_end_event(packet, at + 20);
}

static __attribute__((noinline)) void put_context_row(struct packet *packet,
						      const struct record_head *record, u32 index,
						      const u64 *context)
{
	u8 *at = put_head(packet->bytes + packet->used, record, RECORD_context_entry);

	store32(at, index);
	for (int i = 0; i < 3; i++)
		store64(at + 4 + (size_t)8 * i, be64toh(context[i]));
	packet_end_event(packet, at + 28);
}

static __attribute__((noinline)) int put_thread_row(struct packet *packet,
						    const struct record_head *record)
{
	u8 *at = put_head(packet->bytes + packet->used, record, RECORD_thread_entry);
	int err = tid_table_put(&packet->threads, record->tid & 0xffffff, record->pid);

	if (err)
		return err;
	store32(at, record->pid);
	packet_end_event(packet, at + 4);
	return 0;
}

static inline u16 intern_file(struct packet *packet, const struct record_head *record,
			      const struct file_ref *file)
{
	u64 value[2];
	bool is_new;
	u32 index;

	memcpy(value, file, sizeof(value));
	if ((value[0] | value[1]) == 0)
		return 0;
	index = intern_table_put(&packet->files, 2, value, &is_new);
	if (!index)
		packet->incomplete++;
	else if (is_new)
		put_file_row(packet, record, index, file);
	return (u16)index;
}

static inline u16 intern_context(struct packet *packet, const struct record_head *record,
				 const struct context *context)
{
	u64 value[3];
	bool is_new;
	u32 index;

	memcpy(value, context, sizeof(value));
	if ((value[0] | value[1] | value[2]) == 0)
		return 0;
	index = intern_table_put(&packet->contexts, 3, value, &is_new);
	if (!index)
		packet->incomplete++;
	else if (is_new)
		put_context_row(packet, record, index, value);
	return (u16)index;
}

/* ---- one function for each kind, made from its list ---- */

#define FILE_ROW(name, what)                                                                       \
	struct file_ref name##_value = r->name;                                                    \
	u16 name##_row = intern_file(packet, &r->head, &name##_value);
#define CTX_ROW(name, what)                                                                        \
	struct context name##_value = r->name;                                                     \
	u16 name##_row = intern_context(packet, &r->head, &name##_value);
#define PRESENCE(type, name, what)                                                                 \
	presence |= presence_##type(r->name) << shift;                                             \
	shift += 2;
#define PUT_FIX(type, name, what)                                                                  \
	memcpy(at, &r->name, sizeof(type));                                                        \
	at += sizeof(type);
#define PUT_REF(name, what)                                                                        \
	store16(at, name##_row);                                                                   \
	at += 2;
#define PUT_LEN(size, name, what)                                                                  \
	store16(at, r->name##_len);                                                                \
	at += 2;
#define PUT_VAR(type, name, what)                                                                  \
	store64(at, (u64)r->name);                                                                 \
	at += (size_t)4 * (presence & 3);                                                          \
	presence >>= 2;
#define PUT_TEXT(size, name, what)                                                                 \
	memcpy(at, r->name, r->name##_len);                                                        \
	at += r->name##_len;
#define NONE FORMAT_NOTHING

#define K(kind, value, what)                                                                       \
	static void encode_##kind(struct packet *packet, const struct record_##kind *r)            \
	{                                                                                          \
		u32 presence = 0, shift = 0;                                                       \
		u8 *at;                                                                            \
                                                                                                   \
		RECORD_FIELDS_##kind(NONE, NONE, NONE, FILE_ROW, CTX_ROW, NONE)                    \
			RECORD_FIELDS_##kind(NONE, PRESENCE, NONE, NONE, NONE, NONE)               \
				at = put_head(packet->bytes + packet->used, &r->head, value);      \
		if (FORMAT_VARS(kind)) {                                                           \
			store32(at, presence);                                                     \
			at += 4;                                                                   \
		}                                                                                  \
		(void)shift;                                                                       \
		RECORD_FIELDS_##kind(PUT_FIX, NONE, NONE, NONE, NONE, NONE) RECORD_FIELDS_##kind(  \
			NONE, NONE, NONE, PUT_REF, PUT_REF, PUT_LEN)                               \
			RECORD_FIELDS_##kind(NONE, PUT_VAR, NONE, NONE, NONE, NONE)                \
				RECORD_FIELDS_##kind(NONE, NONE, NONE, NONE, NONE, PUT_TEXT)       \
					packet_end_event(packet, at);                              \
	}
RECORD_KINDS(K)
#undef K

/* ---- repeated switches ---- */

#define SWITCH_SINCE 0	     /* index of since_ns among the VARs, */
#define SWITCH_ARG0 1	     /* and of arg0 */
#define SWITCH_COMMON 12     /* after presence: FIX fields and references */
#define SWITCH_COMMON_END 24 /* VARs follow */

_Static_assert(FORMAT_CHECKPOINT(switch) == SWITCH_COMMON_END && FORMAT_VARS(switch) == 2,
	       "switch");

static inline u32 switch_presence(const u8 *event, u32 var)
{
	return load32(event + 8) >> 2 * var & 3;
}

/* The hash of the fields that a repeated switch shares. */
struct switch_common {
	u64 first, arg0;
	u32 thread, last;
};

static inline struct switch_common switch_common(const u8 *event)
{
	const u8 *arg0 = event + SWITCH_COMMON_END + 4 * switch_presence(event, SWITCH_SINCE);
	u32 words = switch_presence(event, SWITCH_ARG0);

	return (struct switch_common){
		.first = load64(event + SWITCH_COMMON),
		.arg0 = words == 2 ? load64(arg0)
			: words	   ? load32(arg0)
				   : 0,
		.thread = load32(event + 4),
		.last = load32(event + SWITCH_COMMON + 8),
	};
}

static inline bool switch_is(const struct packet *packet, u32 number,
			     const struct switch_common *common)
{
	struct switch_common other;

	if (number >= packet->switches.count)
		return false;
	other = switch_common(packet->bytes + packet->switches.at[number]);
	return other.first == common->first && other.arg0 == common->arg0 &&
	       other.thread == common->thread && other.last == common->last;
}

/* Replaces the last switch of the packet by a reference to a similar one, if there is one. */
static inline void switch_shorten(struct packet *packet, const struct record_switch *r)
{
	struct packet_switches *s = &packet->switches;
	u32 vars = presence_u64(r->since_ns) + presence_u64(r->arg0);
	u8 *event = packet->bytes + packet->unpadded - SWITCH_COMMON_END - 4 * vars;
	struct switch_common common = switch_common(event);
	u64 mixed = hash_pair(common.first ^ common.arg0, (u64)common.thread << 32 | common.last);
	u8 *likely = s->likely[mixed % 512];

	for (int i = 0; i < 2 && r->since_ns <= 0xffff; i++) {
		if (!switch_is(packet, likely[i], &common))
			continue;
		store32(event + 4,
			EVENT_SWITCH_AGAIN | (u32)likely[i] << 8 | (u32)r->since_ns << 16);
		packet->events--; /* this event replaces the full one, which was counted */
		packet_end_event(packet, event + 8);
		return;
	}
	likely[1] = likely[0];
	likely[0] = (u8)s->count;
	s->at[s->count++ % SWITCHES] = (u32)(event - packet->bytes);
}

static int encode(struct packet *packet, const struct record_head *record)
{
	switch (record->kind) {
#define K(kind, value, what)                                                                       \
	case value:                                                                                \
		encode_##kind(packet, (const struct record_##kind *)record);                       \
		return 0;
		RECORD_KINDS(K)
#undef K
	default:
		return -EINVAL;
	}
}

int packet_add(struct packet *packet, const struct record_head *record)
{
	int err;

	while (packet->used + EVENT_ROOM > packet->capacity) {
		err = packet_grow(packet);
		if (err)
			return err;
	}
	if (packet->events == 0)
		packet->begin_ns = record->time_ns;
	if (tid_table_get(&packet->threads, record->tid & 0xffffff) != record->pid) {
		err = put_thread_row(packet, record);
		if (err)
			return err;
	}
	err = encode(packet, record);
	if (err)
		return err;
	if (record->kind == RECORD_switch)
		switch_shorten(packet, (const struct record_switch *)record);
	packet->end_ns = record->time_ns;
	packet->records++;
	return 0;
}
