/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with the same stack are one sum in a stretch of time. That merging obeys the law is
 * tested by tests/unit/map/law.c.
 */
#include "map/kernel/samples.h"

#include "check.h"
#include "map/fact/stack.h"
#include "map/file/whole.h"
#include "map/partial.h"

#define STRETCH_NS (1ull << SAMPLE_STRETCH_BITS)

static struct partial *begin(u64 from_ns, u64 to_ns)
{
	const struct partial_options options = {.from_ns = from_ns, .to_ns = to_ns};
	struct partial *p = partial_new(&options);

	CHECK(p);
	partial_cover(p, 1, 4 * STRETCH_NS);
	return p;
}

static struct record_sample sample(u64 time_ns, u64 address)
{
	struct record_sample r = {
		.head = {.kind = RECORD_sample, .tid = 8, .pid = 7, .time_ns = time_ns},
		.flags = STACK_PACKED | STACK_USER,
		.user = 2,
		.words = 65,
		.period_ns = 100};
	/* two frames, the bits of 65 words, and the two words that are set */
	const u64 frames[] = {address, 2, 1 << 3, 1, 33, 64};

	r.frames_len = sizeof(frames);
	memcpy(r.frames, frames, sizeof(frames));
	return r;
}

static void apply(struct partial *p, u64 time_ns, u64 address)
{
	struct record_sample r = sample(time_ns, address);

	CHECK_EQ(partial_apply(p, &r.head), 0);
}

TEST(alike_ones_are_one_sum)
{
	struct partial *p = begin(0, 0);

	apply(p, 1000, 1);
	apply(p, 3000, 1);
	apply(p, 2000, 5);
	apply(p, STRETCH_NS + 1, 1); /* later, when something else may be mapped there */
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->samples.list.count, 3);
	CHECK_EQ(p->samples.list.data[0].count, 2);
	CHECK_EQ(p->samples.list.data[0].ns, 200);
	CHECK_EQ(p->samples.list.data[0].last_ns, 3000);
	CHECK_EQ(p->samples.list.data[1].count, 1);
	CHECK_EQ(p->samples.list.data[2].last_ns, STRETCH_NS + 1);
	partial_free(p);
}

TEST(only_the_range_counts)
{
	struct partial *p = begin(2000, 3000);

	apply(p, 1999, 1);
	apply(p, 2000, 1);
	apply(p, 2999, 1);
	apply(p, 3000, 1);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->samples.list.count, 1);
	CHECK_EQ(p->samples.list.data[0].count, 2);
	partial_free(p);
}

TEST(one_that_contradicts_itself_does_not_count)
{
	struct partial *p = begin(0, 0);
	struct record_sample r = sample(1000, 1);

	r.user = 7; /* more frames than there are */
	CHECK_EQ(partial_apply(p, &r.head), 0);
	r = sample(1000, 1);
	r.words = 129; /* bits for more words than follow */
	CHECK_EQ(partial_apply(p, &r.head), 0);
	r = sample(1000, 1);
	r.words = 1; /* bytes behind the words */
	CHECK_EQ(partial_apply(p, &r.head), 0);
	r = sample(1000, 1);
	r.words = UINT16_MAX;
	CHECK_EQ(partial_apply(p, &r.head), 0);
	CHECK_EQ(partial_finish(p), 0);
	CHECK_EQ(p->samples.list.count, 0);
	partial_free(p);
}

TEST(packed_words_are_what_they_were)
{
	const u64 packed[] = {1ull << 63 | 1, 1 << 1, 11, 22, 33};
	u64 words[66];

	CHECK_EQ(stack_packed_bytes((const char *)packed, sizeof(packed), 66), sizeof(packed));
	CHECK_EQ(stack_packed_bytes((const char *)packed, sizeof(packed) - 8, 66), SIZE_MAX);
	CHECK_EQ(stack_packed_bytes((const char *)packed, 8, 66), SIZE_MAX);
	stack_unpack((const char *)packed, 66, words);
	for (int i = 0; i < 66; i++)
		CHECK_EQ(words[i], i == 0 ? 11 : i == 63 ? 22 : i == 65 ? 33 : 0);
}

TEST(a_file_has_them)
{
	struct partial *p = begin(0, 0), *read = NULL;
	struct bytes bytes = {0};

	apply(p, 1000, 1);
	apply(p, 2000, 5);
	CHECK_EQ(partial_write(p, &bytes), 0);
	CHECK_EQ(partial_read(&read, bytes.data, bytes.count, &p->options), 0);
	apply(read, 3000, 5);
	CHECK_EQ(partial_finish(read), 0);
	CHECK_EQ(read->samples.list.count, 2);
	CHECK_EQ(read->samples.list.data[1].ns, 200);
	CHECK_EQ(read->samples.list.data[1].key.frames[0], 5);
	bytes_free(&bytes);
	partial_free(p);
	partial_free(read);
}

TEST_MAIN()
