/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/held.h"

#include <errno.h>

#include "tests/unit/check.h"

struct taken {
	u64 times[8];
	u32 streams[8];
	int count, fails_at;
};

static int take(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	struct taken *t = arg;

	t->streams[t->count] = stream->id;
	t->times[t->count++] = r->time_ns;
	return t->count == t->fails_at ? -ENOSPC : 0;
}

/* Those of these times, each of a stream of its own. */
static void hold(struct held_records *held, const u64 *times, int count)
{
	for (int i = 0; i < count; i++) {
		union {
			struct record_head head;
			u8 bytes[RECORD_SLOT_BYTES];
		} r = {.head = {.kind = RECORD_exit, .slots = 1, .time_ns = times[i]}};
		const struct capture_stream stream = {CAPTURE_STREAM_APP, (u32)i};

		CHECK_EQ(held_add(held, &stream, &r.head), 0);
	}
}

TEST(what_is_later_than_the_cut_stays)
{
	static const u64 times[] = {30, 10, 20, 40};
	struct held_records held = {0};
	struct taken t = {0};

	hold(&held, times, 4);
	CHECK_EQ(held_deliver(&held, 20, take, &t), 0);
	CHECK_EQ(t.count, 2);
	CHECK(t.times[0] == 10 && t.streams[0] == 1 && t.times[1] == 20 && t.streams[1] == 2);
	CHECK_EQ(held_deliver(&held, 40, take, &t), 0);
	CHECK_EQ(t.count, 4);
	CHECK(t.times[2] == 30 && t.streams[2] == 0 && t.times[3] == 40 && t.streams[3] == 3);
	CHECK_EQ(held_deliver(&held, ~0ull, take, &t), 0);
	CHECK_EQ(t.count, 4);
	held_free(&held);
}

TEST(what_comes_after_a_failure_stays)
{
	static const u64 times[] = {1, 2, 3, 4};
	struct held_records held = {0};
	struct taken t = {.fails_at = 2};

	hold(&held, times, 4);
	CHECK_EQ(held_deliver(&held, ~0ull, take, &t), -ENOSPC);
	CHECK_EQ(t.count, 2);
	CHECK_EQ(held_deliver(&held, ~0ull, take, &t), 0);
	CHECK(t.count == 4 && t.times[2] == 3 && t.times[3] == 4);
	hold(&held, times, 1);
	held_free(&held);
}

TEST_MAIN()
