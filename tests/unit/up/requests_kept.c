/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of requests over a restart. */
#include "up/requests_kept.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/up/scratch.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

static int dir = -1;

static const struct learned_key key = {.service = 5, .kind = LEARNED_REQUESTS};

TEST(what_is_kept_is_read)
{
	struct requests_kept kept = {.decided_ns = 3, .undecided_ns = 2, .learned_ns = 1};
	struct requests_kept read = {0}, none = {0};

	dir = scratch_make();
	CHECK_EQ(requests_kept_read(dir, BOOT, &none), 0);
	CHECK_EQ(none.decided_ns, 0);
	CHECK_EQ(learned_add(&kept.learned, &key, 77), 0);
	requests_kept_write(dir, BOOT, &kept);
	CHECK_EQ(requests_kept_read(dir, BOOT, &read), 0);
	CHECK_EQ(read.decided_ns, 3);
	CHECK_EQ(read.undecided_ns, 2);
	CHECK_EQ(read.learned_ns, 1);
	CHECK_EQ(learned_count(&read.learned, &key), 77);
	learned_free(&kept.learned);
	learned_free(&read.learned);
}

/* Times are of a boot; what services do is not. */
TEST(another_boot_keeps_what_was_learned)
{
	struct requests_kept read = {0};

	CHECK_EQ(requests_kept_read(dir, "another", &read), 0);
	CHECK_EQ(read.decided_ns, 0);
	CHECK_EQ(read.undecided_ns, 0);
	CHECK_EQ(read.learned_ns, 0);
	CHECK_EQ(learned_count(&read.learned, &key), 77);
	learned_free(&read.learned);
}

TEST(a_damaged_file_is_none)
{
	struct requests_kept read = {0};
	int fd = openat(dir, "requests", O_WRONLY | O_CLOEXEC);

	CHECK_EQ(ftruncate(fd, 70), 0);
	CHECK_EQ(requests_kept_read(dir, BOOT, &read), 0);
	CHECK_EQ(read.decided_ns, 0);
	CHECK_EQ(pwrite(fd, "x", 1, 0), 1);
	CHECK_EQ(requests_kept_read(dir, BOOT, &read), 0);
	CHECK_EQ(read.learned.rows.count, 0);
	close(fd);
}

TEST(nothing_is_left)
{
	requests_kept_write(-1, BOOT, &(struct requests_kept){0}); /* no folder: nothing happens */
	scratch_remove();
}

TEST_MAIN()
