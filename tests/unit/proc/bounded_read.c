/* SPDX-License-Identifier: Apache-2.0 */
/* Files that block: pipes with names, which nobody opens for writing. */
#include "proc/bounded_read.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tests/unit/check.h"
#include "tests/unit/threads.h"

static char folder[] = "/tmp/fathom-bounded-XXXXXX";
static char blocks[64];

TEST(what_can_be_read_is)
{
	struct bounded_reader reader = {0};
	char text[64], large[4096];
	bool cut;

	memset(text, 'x', sizeof(text));
	CHECK_EQ(bounded_read(&reader, "/proc/self/comm", text, sizeof(text), &cut),
		 strlen(program_invocation_short_name) < 15
			 ? strlen(program_invocation_short_name) + 1
			 : 16);
	CHECK(!cut);
	CHECK_MEM(text, program_invocation_short_name, 5);
	CHECK_EQ(bounded_read(&reader, "/proc/self/comm", text, 3, &cut), 3);
	CHECK(cut);
	CHECK_EQ(bounded_read(&reader, "/proc/self/nothing", text, sizeof(text), &cut), 0);
	CHECK(!cut);
	CHECK_EQ(bounded_read(&reader, "/proc/self/smaps", large, sizeof(large), &cut),
		 BOUNDED_BYTES_MAX);
	CHECK(cut);
	CHECK_EQ(bounded_read(&reader, "/proc/sys/kernel/ostype", text, 6, &cut), 6);
	CHECK(!cut); /* it just fits */
	CHECK_EQ(threads_count(), 2);
	bounded_reader_end(&reader);
	CHECK_EQ(threads_await(1), 1);
	CHECK_EQ(bounded_read(&reader, "/proc/self/comm", text, 3, &cut), 3);
	bounded_reader_end(&reader);
	bounded_reader_end(&reader);
	CHECK_EQ(threads_await(1), 1);
}

TEST(who_is_stuck_is_left_behind)
{
	struct bounded_reader reader = {0};
	char text[16];
	bool cut;
	int fd;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(blocks, sizeof(blocks), "%s/blocks", folder);
	CHECK_EQ(mkfifo(blocks, 0600), 0);
	for (int i = 0; i < BOUNDED_STUCK_MAX; i++) {
		CHECK_EQ(bounded_read(&reader, "/proc/self/comm", text, 3, &cut), 3);
		CHECK_EQ(bounded_read(&reader, blocks, text, sizeof(text), &cut), 0);
		CHECK(cut);
	}
	CHECK_EQ(threads_count(), 1 + BOUNDED_STUCK_MAX);
	CHECK_EQ(bounded_read(&reader, "/proc/self/comm", text, 3, &cut), 0); /* enough */
	CHECK(cut);
	CHECK_EQ(bounded_read(&reader, blocks, text, sizeof(text), &cut), 0);
	CHECK_EQ(threads_count(), 1 + BOUNDED_STUCK_MAX);
	bounded_reader_end(&reader);
	fd = open(blocks, O_RDWR); /* lets all of them go */
	CHECK(fd >= 0);
	for (int i = 0; i < BOUNDED_STUCK_MAX; i++)
		CHECK_EQ(write(fd, "0123456789abcdef", 16), 16);
	usleep(100000);
	close(fd);
	CHECK_EQ(threads_await(1), 1);
	unlink(blocks);
	rmdir(folder);
}

TEST_MAIN()
