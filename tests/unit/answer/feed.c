/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a recording that goes on, one after the other. */
#include "answer/feed.h"

#include <errno.h>

#include "map/fact/query.h"
#include "tests/unit/answer/recordings.h"
#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

#define SECOND (1000 * MS)

static size_t chunks_in(const char *dir)
{
	struct recording *recording;
	size_t count;
	int err = recording_open(&recording, &dir, 1, NULL, NULL);

	if (err == -ENOENT)
		return 0;
	CHECK_EQ(err, 0);
	count = recording_info(recording)->chunk_count;
	recording_close(recording);
	return count;
}

static struct feed *opened(const char *dir, bool removes)
{
	const struct feed_options options = {.dir = dir, .remove = removes};
	struct feed *f;
	struct error e = {0};

	if (feed_open(&f, &options, &e))
		CHECK_FAIL("%s", e.text);
	return f;
}

/* The next answer is of [from_ns, to_ns), and knows the name of thread 7. */
static void check_next(struct feed *f, u64 from_ns, u64 to_ns)
{
	struct source s;
	struct error e = {0};

	if (feed_next(f, &s, &e))
		CHECK_FAIL("%s", e.text);
	CHECK_EQ(s.from_ns, from_ns);
	CHECK_EQ(s.to_ns, to_ns);
	CHECK_EQ(s.view.clocks_count, 1);
	CHECK_STR(query_comm(s.partial, 7, to_ns), "early");
	source_free(&s);
}

TEST(each_answer_is_of_the_chunks_since_the_one_before)
{
	const char *dir = make_directory();
	struct feed *f;

	chunk_write(dir, 1 * SECOND, 2 * SECOND, "early", 7);
	f = opened(dir, false);
	chunk_write(dir, 2 * SECOND, 3 * SECOND, "", 7);
	check_next(f, 2 * SECOND, 3 * SECOND);
	chunk_write(dir, 3 * SECOND, 4 * SECOND, "", 7);
	chunk_write(dir, 4 * SECOND, 5 * SECOND, "", 7);
	check_next(f, 3 * SECOND, 5 * SECOND);
	CHECK_EQ(chunks_in(dir), 4);
	feed_close(f);
}

/* An answer may have chunks of answers before; they go when they are not wanted any more. */
TEST(a_window_moves_on)
{
	const char *dir = make_directory();
	struct feed *f = opened(dir, true);

	feed_window(f, 2, true);
	chunk_write(dir, 1 * SECOND, 2 * SECOND, "early", 7);
	for (u64 i = 2; i < 7; i++) {
		check_next(f, (i > 3 ? i - 3 : 1) * SECOND, i * SECOND);
		CHECK_EQ(chunks_in(dir), i > 2 ? 2 : 1);
		chunk_write(dir, i * SECOND, (i + 1) * SECOND, "", 7);
	}
	feed_window(f, 0, false);
	check_next(f, 4 * SECOND, 7 * SECOND);
	CHECK_EQ(chunks_in(dir), 0);
	chunk_write(dir, 7 * SECOND, 8 * SECOND, "", 7);
	check_next(f, 7 * SECOND, 8 * SECOND);
	feed_close(f);
}

TEST(without_a_new_chunk_there_is_no_answer)
{
	const char *dir = make_directory();
	struct error e = {0};
	struct source s;
	struct feed *f;

	chunk_write(dir, 1 * SECOND, 2 * SECOND, "early", 7);
	f = opened(dir, false);
	CHECK_EQ(feed_next(f, &s, &e), -ENOENT);
	source_free(&s);
	chunk_write(dir, 2 * SECOND, 3 * SECOND, "", 7);
	check_next(f, 2 * SECOND, 3 * SECOND);
	feed_close(f);
}

TEST(chunks_that_were_answered_are_removed_and_names_stay)
{
	const char *dir = make_directory();
	struct feed *f = opened(dir, true);

	chunk_write(dir, 1 * SECOND, 2 * SECOND, "early", 7);
	check_next(f, 1 * SECOND, 2 * SECOND);
	CHECK_EQ(chunks_in(dir), 0);
	chunk_write(dir, 2 * SECOND, 3 * SECOND, "", 7);
	check_next(f, 2 * SECOND, 3 * SECOND);
	CHECK_EQ(chunks_in(dir), 0);
	feed_close(f);
}

TEST(a_recording_that_is_not_there_is_followed_once_it_is)
{
	const char *dir = make_directory();
	struct feed *f = opened(dir, false);

	chunk_write(dir, 1 * SECOND, 2 * SECOND, "early", 7);
	check_next(f, 1 * SECOND, 2 * SECOND);
	feed_close(f);
	feed_close(NULL);
}

TEST_MAIN()
