/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "chunk/decode.h"
#include "chunk/encode.h"
#include "make.h"
#include "tests/unit/check.h"

/* Opens what was encoded; `copy` has the slack behind it that unpacking needs. */
static void open_packet(struct unpacker *u, const struct packet *p, u8 *copy)
{
	const struct packet_head head = {.content_bits = 8ull * p->unpadded,
					 .timestamp_begin = p->begin_ns,
					 .timestamp_end = p->end_ns,
					 .cpu_id = 3};

	memcpy(copy, p->bytes, p->used);
	memset(copy + p->used, 0xee, UNPACK_SLACK);
	CHECK_EQ(unpacker_init(u), 0);
	unpacker_begin(u, copy, &head);
}

TEST(every_kind_comes_back)
{
	static u8 copy[PACKET_MAX_BYTES + UNPACK_SLACK];
	static union make_record records[RECORD_KIND_MAX * 20];
	uint64_t state = 42;
	struct packet p;
	struct unpacker u;
	size_t count = 0;

	packet_init(&p);
	packet_begin(&p);
	for (int round = 0; round < 20; round++) {
		for (unsigned int kind = 1; kind <= RECORD_KIND_MAX; kind++) {
			if (kind == RECORD_context_entry || kind == RECORD_file_entry ||
			    kind == RECORD_thread_entry)
				continue;
			make_any(&records[count], kind, 1000 + count * 3, &state);
			records[count].head.cpu = 3;
			CHECK_EQ(packet_add(&p, &records[count].head), 0);
			count++;
		}
	}
	CHECK_EQ(p.records, count);
	CHECK(p.events > count);
	open_packet(&u, &p, copy);
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(unpacker_peek(&u), 1);
		CHECK_EQ(unpacker_take(&u), 0);
		if (!make_same(&records[i].head, &u.record.head))
			CHECK_FAIL("record %zu of kind %u differs", i, records[i].head.kind);
	}
	CHECK_EQ(unpacker_peek(&u), 0);
	CHECK_EQ(u.rows, p.events - p.records);
	unpacker_free(&u);
	packet_free(&p);
}

/* A record costs what it carries. */
static unsigned int size_of(const struct record_head *record)
{
	struct packet p;
	unsigned int before;

	packet_init(&p);
	packet_begin(&p);
	CHECK_EQ(packet_add(&p, record), 0); /* rows of the tables come with the first */
	before = p.used;
	CHECK_EQ(packet_add(&p, record), 0);
	before = p.used - before;
	packet_free(&p);
	return before;
}

TEST(sizes_are_what_is_carried)
{
	union make_record r;
	struct record_syscall *s = (struct record_syscall *)&r;
	struct record_switch w = {.head = {.kind = RECORD_switch, .tid = 5, .pid = 5},
				  .next_tid = 9};

	make_syscall(&r, 1, 0, 0);
	s->duration_ns = 0;
	s->arg0 = 0;
	/* head 8, presence 4, nr 2, flags 1, file 2, ctx 2: 19 -> 20 */
	CHECK_EQ(size_of(&r.head), 20);
	s->duration_ns = 1234;
	s->arg0 = 3;
	CHECK_EQ(size_of(&r.head), 28);
	s->arg1 = 0x7fff00000000u;
	CHECK_EQ(size_of(&r.head), 36);
	s->result = -2;
	CHECK_EQ(size_of(&r.head), 40);
	s->file.key = 77;
	s->ctx.span[0] = 1;
	CHECK_EQ(size_of(&r.head), 40);
	/* like the one before */
	CHECK_EQ(size_of(&w.head), 8);
	w.since_ns = 0xffff;
	CHECK_EQ(size_of(&w.head), 8);
	/* head 8, presence 4, next_tid 4, nr 2, mode 1, state 1, file 2, ctx 2, since_ns 4 */
	w.since_ns = 0x10000;
	CHECK_EQ(size_of(&w.head), 28);
}

/* Makes switch number n of `different`, which cover all fields that similar switches share. */
static struct record_switch some_switch(uint64_t *state, unsigned int different)
{
	unsigned int which = (unsigned int)(make_random(state) % different);
	struct record_switch w = {
		.head = {.kind = RECORD_switch, .cpu = 3, .slots = 2, .tid = 5, .pid = 5},
		.since_ns = make_random(state) >> (make_random(state) % 8 ? 48 : 30)};

	w.head.tid += which % 2;
	w.head.pid = make_random(state) % 8 ? 5 : 6; /* a thread's number is another process's */
	w.next_tid = which / 2 % 3;
	w.nr = (u16)(which / 6 % 2);
	w.mode = (u8)(which / 12 % 2);
	w.state = (u8)(which / 24 % 2);
	w.file.key = which / 48 % 2;
	w.arg0 = which / 96 % 3 * 0x80000001u;
	w.ctx.span[0] = (u8)(which / 288);
	return w;
}

static unsigned int switches_come_back(unsigned int different)
{
	enum { COUNT = 2500 };
	static u8 copy[PACKET_MAX_BYTES + UNPACK_SLACK];
	static struct record_switch records[COUNT];
	uint64_t state = different;
	unsigned int bytes;
	struct packet p;
	struct unpacker u;

	packet_init(&p);
	for (int packet = 0; packet < 2; packet++) { /* one knows nothing of the one before */
		packet_begin(&p);
		for (unsigned int i = 0; i < COUNT; i++) {
			records[i] = some_switch(&state, different);
			records[i].head.time_ns = 1000 + i;
			CHECK_EQ(packet_add(&p, &records[i].head), 0);
		}
		open_packet(&u, &p, copy);
		for (unsigned int i = 0; i < COUNT; i++) {
			CHECK_EQ(unpacker_peek(&u), 1);
			CHECK_EQ(unpacker_take(&u), 0);
			if (!make_same(&records[i].head, &u.record.head))
				CHECK_FAIL("switch %u of %u differs", i, different);
		}
		CHECK_EQ(unpacker_peek(&u), 0);
		CHECK_EQ(u.rows, p.events - p.records);
		unpacker_free(&u);
	}
	bytes = p.used;
	packet_free(&p);
	return bytes;
}

TEST(switches_that_come_again_come_back)
{
	const unsigned int few = switches_come_back(10);

	CHECK(few < switches_come_back(100));
	switches_come_back(256);
	CHECK(few < switches_come_back(2000) / 2); /* more than are remembered */
}

TEST(a_switch_like_one_that_is_not_there_is_damage)
{
	static u8 copy[PACKET_MAX_BYTES + UNPACK_SLACK];
	struct record_switch w = {.head = {.kind = RECORD_switch}, .next_tid = 9};

	for (u8 like = 0; like < 3; like++) {
		struct packet p;
		struct unpacker u;

		packet_init(&p);
		packet_begin(&p);
		for (int i = 0; i < 3; i++) {
			w.next_tid += i == 1; /* the third is like the second */
			CHECK_EQ(packet_add(&p, &w.head), 0);
		}
		CHECK_EQ(p.bytes[p.used - 4], EVENT_SWITCH_AGAIN);
		p.bytes[p.used - 3] = like;
		open_packet(&u, &p, copy);
		for (int i = 0; i < 3; i++) {
			CHECK_EQ(unpacker_peek(&u), 1);
			CHECK_EQ(unpacker_take(&u), i < 2 || like < 2 ? 0 : -EBADMSG);
		}
		unpacker_free(&u);
		packet_free(&p);
	}
}

TEST(pids_follow_their_threads)
{
	static u8 copy[PACKET_MAX_BYTES + UNPACK_SLACK];
	const u32 pids[][2] = {{7, 6}, {7, 6}, {8, 0}, {7, 9}, {7, 0}, {0, 0}, {7, 9}};
	union make_record r;
	struct packet p;
	struct unpacker u;

	packet_init(&p);
	packet_begin(&p);
	for (size_t i = 0; i < 7; i++) {
		make_syscall(&r, 10 + i, 3, i);
		r.head.tid = pids[i][0];
		r.head.pid = pids[i][1];
		CHECK_EQ(packet_add(&p, &r.head), 0);
	}
	CHECK_EQ(p.events - p.records, 4);
	open_packet(&u, &p, copy);
	for (size_t i = 0; i < 7; i++) {
		CHECK_EQ(unpacker_peek(&u), 1);
		CHECK_EQ(unpacker_take(&u), 0);
		CHECK_EQ(u.record.head.tid, pids[i][0]);
		CHECK_EQ(u.record.head.pid, pids[i][1]);
	}
	unpacker_free(&u);
	packet_free(&p);
}

/* With any byte of a packet changed nothing is read outside of it, and it ends. */
TEST(changed_bytes_do_no_harm)
{
	u8 *copy;
	union make_record r;
	uint64_t state = 7;
	struct packet p;
	struct unpacker u;

	packet_init(&p);
	packet_begin(&p);
	for (unsigned int i = 0; i < 60; i++) {
		unsigned int kind = 1 + i % 28;

		make_any(&r, kind, 1000 + i, &state);
		CHECK_EQ(packet_add(&p, &r.head), 0);
		if (kind == RECORD_switch) /* like the one before */
			CHECK_EQ(packet_add(&p, &r.head), 0);
	}
	for (unsigned int at = PACKET_HEAD_BYTES; at < p.used; at++) {
		unsigned int steps = 0;

		copy = malloc(p.unpadded + UNPACK_SLACK); /* exact: sanitizers see what is behind */
		const struct packet_head head = {.content_bits = 8ull * p.unpadded,
						 .timestamp_end = ~0ull};
		memcpy(copy, p.bytes, p.unpadded);
		copy[at] ^= (u8)(1 + make_random(&state) % 255);
		CHECK_EQ(unpacker_init(&u), 0);
		unpacker_begin(&u, copy, &head);
		while (unpacker_peek(&u) == 1 && unpacker_take(&u) == 0)
			steps++;
		CHECK(steps <= p.used / 8);
		unpacker_free(&u);
		free(copy);
	}
	packet_free(&p);
}

TEST_MAIN()
