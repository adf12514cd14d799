/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what was recorded when, and its file. */
#include "up/coverage.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/up/scratch.h"

#define SECOND UINT64_C(1000000000)
#define T (UINT64_C(1790000000) * SECOND)

static const struct chunk_lost nothing;

/* A chunk of a second whose number is `second`. */
static struct chunk_info chunk_of(u64 second)
{
	return (struct chunk_info){.state = CHUNK_SEALED,
				   .begin_ns = 5 * SECOND + second * SECOND,
				   .end_ns = 6 * SECOND + second * SECOND,
				   .clock = {.monotonic_ns = 7 * SECOND + second * SECOND,
					     .unix_ns = T + 2 * SECOND + second * SECOND}};
}

static void chunks_add(struct coverage_table *t, u64 from, u64 to, const struct chunk_lost *lost)
{
	for (u64 second = from; second < to; second++) {
		struct chunk_info info = chunk_of(second);

		CHECK_EQ(coverage_chunk(t, &info, lost), 0);
	}
}

/* Looks long after the chunks, while nothing records. */
static struct coverage looked(const struct coverage_table *t, u64 from_ns, u64 to_ns)
{
	const struct coverage_query query = {from_ns, to_ns, T + 1000000 * SECOND, false};
	struct coverage out = {0};

	coverage_look(t, &query, &out);
	return out;
}

static void gap_check(const struct coverage *c, unsigned int at, u64 begin_ns, u64 end_ns,
		      const char *reason)
{
	CHECK(at < c->gaps_count);
	CHECK_EQ(c->gaps[at].begin_ns, begin_ns);
	CHECK_EQ(c->gaps[at].end_ns, end_ns);
	CHECK_STR(c->gaps[at].reason, reason);
}

TEST(neighbours_are_one_interval)
{
	struct coverage_table t = {0};
	struct coverage c;

	chunks_add(&t, 0, 10, &nothing);
	CHECK_EQ(t.list.count, 1);
	CHECK_EQ(t.list.data[0].begin_ns, T);
	CHECK_EQ(t.list.data[0].end_ns, T + 10 * SECOND);
	chunks_add(&t, 8, 10, &nothing); /* once more: a part that was started again */
	CHECK_EQ(t.list.count, 1);
	CHECK_EQ(t.list.data[0].count, 10);
	chunks_add(&t, 15, 20, &nothing);
	CHECK_EQ(t.list.count, 2);
	c = looked(&t, T + 5 * SECOND, T + 25 * SECOND);
	CHECK(c.is_known);
	CHECK(c.share == 0.5);
	CHECK_EQ(c.lost, 0);
	CHECK_EQ(c.gaps_count, 2);
	gap_check(&c, 0, T + 10 * SECOND, T + 15 * SECOND, "not_recorded");
	gap_check(&c, 1, T + 20 * SECOND, T + 25 * SECOND, "not_recorded");
	c = looked(&t, T + 1, T + 2);
	CHECK(c.is_known && c.share == 1 && c.gaps_count == 0);
	coverage_free(&t);
}

TEST(losses_are_of_their_second)
{
	const struct chunk_lost lost = {.buffer = 3, .application = 4, .uncounted = 1};
	struct coverage_table t = {0};
	struct coverage c;

	chunks_add(&t, 0, 3, &nothing);
	chunks_add(&t, 3, 5, &lost);
	chunks_add(&t, 3, 5, &lost); /* once more */
	CHECK_EQ(t.list.count, 3);
	c = looked(&t, T, T + 3 * SECOND);
	CHECK_EQ(c.lost, 0);
	c = looked(&t, T + 3 * SECOND + 1, T + 3 * SECOND + 2);
	CHECK_EQ(c.lost, 7);
	c = looked(&t, T, T + 9 * SECOND);
	CHECK_EQ(c.lost, 14);
	coverage_free(&t);
}

TEST(what_was_left_out_and_what_is_damaged_are_gaps)
{
	struct chunk_info lowered = chunk_of(2), damaged = chunk_of(5);
	struct coverage_table t = {0};
	struct coverage c;

	lowered.filters = FILTER_BYTES;
	lowered.incomplete = 9;
	chunks_add(&t, 0, 2, &nothing);
	CHECK_EQ(coverage_chunk(&t, &lowered, &nothing), 0);
	chunks_add(&t, 3, 5, &nothing);
	CHECK_EQ(coverage_chunk(&t, &damaged, NULL), 0);
	chunks_add(&t, 6, 8, &nothing);
	c = looked(&t, T, T + 8 * SECOND);
	CHECK(c.is_known);
	CHECK(c.share == 7 / 8.);
	CHECK_EQ(c.incomplete, 9);
	CHECK_EQ(c.gaps_count, 2);
	gap_check(&c, 0, T + 2 * SECOND, T + 3 * SECOND, "bytes_left_out");
	gap_check(&c, 1, T + 5 * SECOND, T + 6 * SECOND, "damaged");
	coverage_free(&t);
}

TEST(bytes_in_turns_are_one_gap)
{
	struct coverage_table t = {0};
	struct coverage c;

	for (int i = 0; i < 9; i++) {
		struct chunk_info info = chunk_of(i);

		info.filters = FILTER_BYTES_TURNS | (i == 4 ? 0 : FILTER_BYTES);
		CHECK_EQ(coverage_chunk(&t, &info, &nothing), 0);
	}
	c = looked(&t, T, T + 9 * SECOND);
	CHECK(c.share == 1);
	CHECK_EQ(c.gaps_count, 1);
	gap_check(&c, 0, T, T + 9 * SECOND, "bytes_in_turns");
	coverage_free(&t);
}

TEST(the_time_before_all_is_unknown)
{
	struct coverage_table t = {0};
	struct coverage c = looked(&t, T, T + SECOND);

	CHECK(!c.is_known);
	CHECK_EQ(c.gaps_count, 0);
	chunks_add(&t, 10, 20, &nothing);
	c = looked(&t, T, T + 9 * SECOND);
	CHECK(!c.is_known);
	CHECK_EQ(c.gaps_count, 0);
	c = looked(&t, T, T + 20 * SECOND);
	CHECK(c.is_known && c.share == 0.5);
	CHECK_EQ(c.gaps_count, 1);
	gap_check(&c, 0, T, T + 10 * SECOND, "unknown");
	coverage_free(&t);
}

/* What is recorded now is mapped in a moment. */
TEST(the_last_seconds_are_left_out_while_it_records)
{
	struct coverage_query query = {T, T + 12 * SECOND, T + 12 * SECOND, true};
	struct coverage_table t = {0};
	struct coverage c = {0};

	chunks_add(&t, 0, 10, &nothing);
	coverage_look(&t, &query, &c);
	CHECK(c.is_known && c.share == 1 && c.gaps_count == 0);
	query.from_ns = T + 11 * SECOND;
	c = (struct coverage){0};
	coverage_look(&t, &query, &c);
	CHECK(!c.is_known && c.gaps_count == 0);
	query.to_ns = query.now_ns = T + 30 * SECOND; /* map does not follow */
	coverage_look(&t, &query, &c);
	CHECK(c.is_known && c.share == 0);
	gap_check(&c, 0, T + 11 * SECOND, T + 30 * SECOND, "not_mapped");
	query.is_recording = false;
	c = (struct coverage){0};
	coverage_look(&t, &query, &c);
	gap_check(&c, 0, T + 11 * SECOND, T + 30 * SECOND, "not_recorded");
	coverage_free(&t);
}

TEST(a_clock_that_was_set_back_hides_nothing)
{
	struct coverage_query query = {T, T + 10 * SECOND, T + 11 * SECOND, true};
	struct coverage_table t = {0};
	struct coverage c = {0};

	chunks_add(&t, 5000, 5010, &nothing);
	chunks_add(&t, 0, 9, &nothing);
	coverage_look(&t, &query, &c);
	CHECK(c.is_known && c.share == 1 && c.gaps_count == 0);
	CHECK_EQ(t.list.count, 2);
	CHECK_EQ(t.list.data[0].begin_ns, T);
	coverage_free(&t);
}

TEST(losses_of_hours_are_bounded_and_none_is_forgotten)
{
	const struct chunk_lost lost = {.buffer = 1};
	struct coverage_table t = {0};
	struct coverage c;
	u64 seconds = 30000;

	for (u64 second = 0; second < seconds; second++) {
		struct chunk_info info = chunk_of(second);

		CHECK_EQ(coverage_chunk(&t, &info, &lost), 0);
		CHECK(t.list.count <= COVERAGE_MAX);
	}
	c = looked(&t, T, T + seconds * SECOND);
	CHECK_EQ(c.lost, seconds);
	CHECK(c.is_known && c.share == 1);
	CHECK_EQ(t.known_ns, T);
	c = looked(&t, T + (seconds - 100) * SECOND, T + (seconds - 99) * SECOND);
	CHECK_EQ(c.lost, 1); /* the last ones stay apart */
	coverage_free(&t);
}

/* Losses that touch each other nowhere cannot be joined. */
TEST(the_oldest_intervals_are_given_up)
{
	const struct chunk_lost lost = {.buffer = 1};
	u64 seconds = 3 * COVERAGE_MAX;
	struct coverage_table t = {0};
	struct coverage c;

	for (u64 second = 0; second < seconds; second += 2) {
		chunks_add(&t, second, second + 1, &lost);
		chunks_add(&t, second + 1, second + 2, &nothing);
		CHECK(t.list.count <= COVERAGE_MAX);
	}
	CHECK(t.known_ns > T && t.known_ns < T + seconds * SECOND);
	c = looked(&t, T, T + seconds * SECOND);
	CHECK(c.is_known && c.share > 0.3 && c.share < 1);
	gap_check(&c, 0, T, t.known_ns, "unknown");
	CHECK_EQ(c.gaps_count, 1);
	CHECK(c.lost > COVERAGE_MAX / 2 && c.lost < seconds / 2);
	coverage_free(&t);
}

TEST(gaps_of_an_answer_are_bounded)
{
	struct coverage_table t = {0};
	struct coverage c;

	for (u64 second = 0; second < 600; second += 2)
		chunks_add(&t, second, second + 1, &nothing);
	c = looked(&t, T, T + 600 * SECOND);
	CHECK_EQ(c.gaps_count, COVERAGE_GAPS_MAX);
	CHECK(c.share == 0.5);
	coverage_free(&t);
}

/* ---- the file ---- */

static int dir = -1;

TEST(the_file_holds_the_table)
{
	const struct chunk_lost lost = {.buffer = 5};
	struct coverage_table t = {0}, read = {0};
	struct coverage c;

	dir = scratch_make();
	CHECK_EQ(coverage_read(&read, dir), 0); /* there is none */
	CHECK_EQ(read.list.count, 0);
	CHECK_EQ(coverage_read(&read, -1), 0);
	chunks_add(&t, 0, 4, &nothing);
	chunks_add(&t, 8, 10, &lost);
	coverage_write(&t, dir);
	coverage_write(&t, -1);
	CHECK_EQ(coverage_read(&read, dir), 0);
	CHECK_EQ(read.list.count, 4);
	CHECK_EQ(read.known_ns, T);
	c = looked(&read, T, T + 10 * SECOND);
	CHECK_EQ(c.lost, 10);
	CHECK(c.share == 0.6);
	coverage_free(&t);
	coverage_free(&read);
}

/* Each byte that is another one, and each end that comes too early. */
TEST(a_damaged_file_is_told_and_is_no_table)
{
	struct coverage_table read = {0};
	int fd = openat(dir, "coverage", O_RDWR | O_CLOEXEC);
	off_t bytes = lseek(fd, 0, SEEK_END);

	CHECK(bytes > 100);
	for (off_t at = 0; at < bytes; at++) {
		unsigned char was, is;

		CHECK_EQ(pread(fd, &was, 1, at), 1);
		is = was ^ 16;
		CHECK_EQ(pwrite(fd, &is, 1, at), 1);
		CHECK_EQ(coverage_read(&read, dir), -EBADMSG);
		CHECK_EQ(read.list.count, 0);
		CHECK_EQ(read.known_ns, 0);
		CHECK_EQ(pwrite(fd, &was, 1, at), 1);
	}
	CHECK_EQ(coverage_read(&read, dir), 0);
	CHECK_EQ(read.list.count, 4);
	coverage_free(&read);
	while (bytes-- > 0) {
		CHECK_EQ(ftruncate(fd, bytes), 0);
		CHECK_EQ(coverage_read(&read, dir), -EBADMSG);
	}
	CHECK_EQ(ftruncate(fd, 1 << 20), 0);
	CHECK_EQ(coverage_read(&read, dir), -EBADMSG);
	close(fd);
}

TEST(nothing_is_left)
{
	scratch_remove();
}

TEST_MAIN()
