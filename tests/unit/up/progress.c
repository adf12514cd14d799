/* SPDX-License-Identifier: Apache-2.0 */
/* What map finds when it is started again. */
#include "up/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "chunk/checkpoint.h"
#include "tests/unit/up/scratch.h"

#define CHUNK_NS 1000000000u

static struct progress progress_make(void)
{
	struct progress p;

	progress_open(&p, scratch_make());
	CHECK(p.dir >= 0);
	return p;
}

static struct handover *handover_make(void)
{
	const struct handover_options options = {0};
	struct handover *h = handover_new(&options);

	CHECK(h != NULL);
	return h;
}

static struct chunk_info info_of(u64 seq)
{
	return (struct chunk_info){
		.seq = seq, .begin_ns = (seq + 1) * CHUNK_NS, .end_ns = (seq + 2) * CHUNK_NS};
}

static int pass(void *arg, const struct handed_span *handed)
{
	(void)arg;
	(void)handed;
	return 0;
}

static void chunk_take(struct progress *p, struct handover *h, u64 seq)
{
	const struct partial_options options = handover_partial_options();
	const struct chunk_info info = info_of(seq);
	struct partial *chunk = partial_new(&options);

	CHECK(chunk != NULL);
	partial_cover(chunk, info.begin_ns, info.end_ns);
	CHECK_EQ(handover_take(h, chunk, pass, NULL), 0);
	CHECK_EQ(progress_taken(p, h, &info), 0);
}

/* Where a new life begins; -1: there is no state. */
static long long begun_at(u64 before)
{
	struct progress p = progress_make();
	struct handover *h = handover_make();
	u64 next = 0, end_ns = 0;
	int err = progress_begin(&p, h, before, &next, &end_ns);

	CHECK(!err || err == -ENOENT);
	if (!err)
		CHECK_EQ(end_ns, (next + 1) * CHUNK_NS);
	handover_free(h);
	progress_close(&p);
	return err ? -1 : (long long)next;
}

TEST(what_was_sent_is_told_to_the_next_one)
{
	struct progress p = progress_make();

	CHECK_EQ(progress_sent(&p), 0);
	progress_sent_set(&p, 1234567);
	CHECK_EQ(progress_sent(&p), 1234567);
	strcpy(p.boot_id, "another");
	CHECK_EQ(progress_sent(&p), 0);
	progress_close(&p);
}

TEST(a_state_is_old_enough_and_none_is_of_the_future)
{
	struct progress p = progress_make();
	struct handover *h = handover_make();

	CHECK_EQ(begun_at(1000), -1);
	chunk_take(&p, h, 7);
	CHECK_EQ(begun_at(1000), 8); /* the first one is written at once */
	for (u64 seq = 8; seq <= 7 + PROGRESS_CHUNKS; seq++)
		chunk_take(&p, h, seq);
	CHECK_EQ(begun_at(1000), 8);
	for (u64 seq = 8 + PROGRESS_CHUNKS; seq <= 7 + 2 * PROGRESS_CHUNKS; seq++)
		chunk_take(&p, h, seq);
	CHECK_EQ(begun_at(1000), 8 + PROGRESS_CHUNKS);
	CHECK_EQ(begun_at(8 + PROGRESS_CHUNKS), 8 + PROGRESS_CHUNKS);
	CHECK_EQ(begun_at(7 + PROGRESS_CHUNKS), -1);
	handover_free(h);
	progress_close(&p);
}

TEST(a_damaged_state_and_one_of_another_boot_are_none)
{
	struct recording_checkpoint checkpoint = {
		.boot_id = "another", .data = "12345678", .bytes = 8};
	struct progress p = progress_make();
	struct recording_hold hold = {.dir = p.dir, .lock = -1};
	int fd;

	CHECK_EQ(recording_checkpoint_write("map", &hold, NULL, &checkpoint, NULL), 0);
	CHECK_EQ(begun_at(1000), -1);
	fd = openat(p.dir, "checkpoint", O_WRONLY | O_TRUNC | O_CLOEXEC);
	CHECK_EQ(write(fd, "x", 1), 1);
	close(fd);
	{
		struct handover *h = handover_make();
		u64 next = 0, end_ns = 0;

		CHECK_EQ(progress_begin(&p, h, 1000, &next, &end_ns), -EBADMSG);
		handover_free(h);
	}
	progress_close(&p);
}

TEST(without_a_directory_nothing_is_kept)
{
	struct progress p;
	struct handover *h = handover_make();
	u64 next, end_ns;

	progress_open(&p, -1);
	CHECK_EQ(p.dir < 0, true);
	progress_sent_set(&p, 5);
	CHECK_EQ(progress_sent(&p), 0);
	chunk_take(&p, h, 1);
	CHECK_EQ(progress_begin(&p, h, 10, &next, &end_ns), -ENOENT);
	handover_free(h);
	progress_close(&p);
}

TEST(nothing_is_left)
{
	scratch_remove();
}

TEST_MAIN()
