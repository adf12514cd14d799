/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot is used again as it was left. Whatever is written into a ring full of ones
 * must read like the same written into a ring full of twos, wherever it wraps around.
 */
#include "unit/lib/listener.h"

#include "record/describe.h"

static struct listener l;

/* Every byte of the slots that nobody has reserved. */
static void ring_paint(u8 with)
{
	struct app_lane *lane = &l.ring->lane[0];

	CHECK_EQ(lane->control.head, lane->control.tail);
	memset(lane->slots, with, sizeof(lane->slots));
	for (u32 i = 0; i < APP_RING_SLOTS; i++)
		memset(lane->slots[i].bytes, 0, 4); /* what the reader gives back */
}

/* Moves the place of the next record to a place in the lane; all is consumed. */
static void lane_move(u64 to)
{
	struct ring_control *c = &l.ring->lane[0].control;

	to += c->head - c->head % APP_RING_SLOTS + APP_RING_SLOTS;
	c->head = c->tail = to;
}

static __attribute__((noinline)) void stack_paint(u8 with)
{
	volatile u8 room[8192];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = with;
}

static char text[1200];

static const char *text_of(size_t bytes)
{
	return text + sizeof(text) - 1 - bytes;
}

/* A record of each kind that the library writes for spans, with a text of a length. */
static void say_all(size_t bytes, u8 paint)
{
	struct fathom_attribute of_event = {
		.key = "k", .type = FATHOM_STRING, .value.string = text_of(bytes)};
	struct fathom_event event = {.name = text_of(bytes), .attributes = &of_event, .count = 1};
	struct fathom_span outer, inner;

	stack_paint(paint);
	outer = fathom_span_begin(text_of(bytes));
	inner = fathom_span_begin(text_of(bytes));
	fathom_span_string(&inner, "key", text_of(bytes));
	fathom_span_boolean(&inner, "yes", true);
	stack_paint(paint);
	fathom_span_tell(&inner, &event);
	fathom_span_detach(&inner);
	fathom_span_attach(&inner);
	stack_paint(paint);
	fathom_span_end_status(&inner, FATHOM_FAILED, text_of(bytes)); /* below it is outer */
	stack_paint(paint);
	fathom_span_end_status(&outer, FATHOM_OK, text_of(bytes)); /* below it is nothing */
}

struct said {
	struct fathom_span outer;
	u32 count;
	struct record_kept kept[16];
};

/* Replaces ids, which differ from run to run, by the names of their spans. */
static void id_name(u8 *id, size_t bytes, const u8 *of)
{
	static const u8 none[16];

	if (memcmp(id, none, bytes) != 0 && memcmp(id, of, bytes) == 0)
		memset(id, 0x11, bytes);
}

static void said_take(struct said *s)
{
	struct context trace = listener_nth(&l, RECORD_span_begin, 0)->begin.ctx;
	struct context inner = listener_nth(&l, RECORD_span_begin, 1)->begin.ctx;

	CHECK(l.count <= 16);
	s->count = l.count;
	for (u32 i = 0; i < l.count; i++) {
		struct record_kept *k = &s->kept[i];
		const struct record_kind_info *info = record_kind_info(l.kept[i].head.kind);
		u16 length = 0;
		size_t end;

		*k = l.kept[i];
		k->head.time_ns = 0;
		k->head.seq = 0;
		memcpy(k->bytes, &k->head, sizeof(k->head));
		if (info->text_max)
			memcpy(&length, k->bytes + info->text_len_offset, 2);
		end = info->text_max ? info->fixed_size + length : info->fixed_size;
		if (end < (size_t)k->head.slots * RECORD_SLOT_BYTES) /* nobody looks there */
			memset(k->bytes + end, 0, (size_t)k->head.slots * RECORD_SLOT_BYTES - end);
		for (size_t at = sizeof(k->head); at + 8 <= info->fixed_size; at++) {
			if (at + 16 <= info->fixed_size)
				id_name(k->bytes + at, 16, trace.trace);
			id_name(k->bytes + at, 8, trace.span);
			id_name(k->bytes + at, 8, inner.span);
		}
	}
}

static void said_by(struct said *s, u64 place, size_t bytes, u8 paint)
{
	listener_start(&l);
	fathom_span_end(&(struct fathom_span){0});
	(void)fathom_listening(); /* tells who we are */
	listener_drain(&l);
	l.count = 0;
	lane_move(place);
	ring_paint(paint);
	say_all(bytes, paint);
	listener_stop(&l);
	CHECK_EQ(l.damaged, 0);
	said_take(s);
}

static void compare(u64 place, size_t bytes)
{
	static struct said ones, twos;

	said_by(&ones, place, bytes, 0xa1);
	said_by(&twos, place, bytes, 0xb2);
	CHECK_EQ(ones.count, 10);
	CHECK_EQ(ones.count, twos.count);
	for (u32 i = 0; i < ones.count; i++) {
		if (memcmp(ones.kept[i].bytes, twos.kept[i].bytes, sizeof(ones.kept[i].bytes)) == 0)
			continue;
		CHECK_FAIL("the record %u, of kind %u, in %u slots differs, texts of %zu at %llu",
			   i, ones.kept[i].head.kind, ones.kept[i].head.slots, bytes,
			   (unsigned long long)place);
	}
}

TEST(records_carry_nothing_of_those_before)
{
	static const size_t lengths[] = {1, 2, 10, 11, 12, 50, 51, 100, 120, 300, 512, 1000};

	memset(text, 't', sizeof(text) - 1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		compare(100, lengths[i]);
}

TEST(nor_where_they_wrap_around)
{
	memset(text, 't', sizeof(text) - 1);
	for (u64 before = 1; before < 60; before++) {
		compare(APP_RING_SLOTS - before, 51);
		compare(APP_RING_SLOTS - before, 120);
	}
}

TEST(an_end_with_a_long_reason_has_no_successor)
{
	static const struct context none;

	memset(text, 't', sizeof(text) - 1);
	for (u64 before = 0; before < 8; before++) {
		struct fathom_span s;
		struct record_kept *end;

		listener_start(&l);
		(void)fathom_listening();
		listener_drain(&l);
		lane_move(APP_RING_SLOTS - before);
		ring_paint(0xee);
		s = fathom_span_begin("request");
		stack_paint(0xee);
		fathom_span_end_status(&s, FATHOM_FAILED, text_of(100));
		listener_stop(&l);
		end = listener_nth(&l, RECORD_span_end, 0);
		CHECK(end != NULL);
		CHECK_EQ(end->head.slots, 3);
		CHECK_EQ(end->end.message_len, 100);
		CHECK_MEM(&end->end.next, &none, sizeof(none));
	}
}

TEST_MAIN()
