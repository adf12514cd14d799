/* SPDX-License-Identifier: Apache-2.0 */
/* Which pins stay when there is no room for all of them. */
#include "up/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/directory.h"
#include "serve/serve.h"
#include "tests/unit/up/scratch.h"

#define SECOND UINT64_C(1000000000)
#define BEGIN (1700000000 * SECOND)
#define STEP (4 * SECOND) /* a pin also has the two seconds before its time */
#define CHUNK_BYTES 65536
#define ROOM (3 * (CHUNK_BYTES + 4096))

static int dir = -1;

/* A chunk for each step: nothing but its name and size is looked at. */
static void chunk_make(unsigned int number)
{
	char name[CHUNK_NAME_BYTES], path[sizeof(name) + 32];
	static char data[CHUNK_BYTES];
	int fd;

	chunk_name_sealed(name, BEGIN + number * STEP, BEGIN + number * STEP + SECOND, number);
	snprintf(path, sizeof(path), "chunks/%s", name);
	CHECK_EQ(mkdirat(dir, path, 0700), 0);
	strcat(path, "/stream");
	fd = openat(dir, path, O_WRONLY | O_CREAT, 0600);
	memset(data, 'x', sizeof(data));
	CHECK_EQ(write(fd, data, sizeof(data)), sizeof(data));
	CHECK_EQ(fsync(fd), 0); /* blocks are counted once they are there */
	close(fd);
}

static int made(unsigned int number, const char *why, uint64_t most_bytes)
{
	struct pin pin = {.from_ns = BEGIN + number * STEP,
			  .to_ns = BEGIN + number * STEP + SECOND};
	struct error e = {0};

	snprintf(pin.why, sizeof(pin.why), "%s", why);
	return pin_make(dir, &pin, NULL, most_bytes, &e);
}

/* The reasons of all pins by the time that they are of: "asked, slow". */
static const char *kept(void)
{
	static char text[512];
	const char *whys[10] = {0};
	pin_list list = {0};

	CHECK_EQ(pins_list(dir, &list), 0);
	for (size_t i = 0; i < list.count; i++)
		whys[(list.data[i].from_ns - BEGIN) / STEP % 10] = list.data[i].why;
	*text = '\0';
	for (int i = 0; i < 10; i++) {
		size_t at = strlen(text);

		if (whys[i])
			snprintf(text + at, sizeof(text) - at, "%s%s", at ? ", " : "", whys[i]);
	}
	vec_free(&list);
	return text;
}

TEST(what_was_asked_for_stays_before_what_a_monitor_has)
{
	dir = scratch_make();
	CHECK_EQ(mkdirat(dir, "chunks", 0700), 0);
	for (unsigned int i = 0; i < 10; i++)
		chunk_make(i);
	CHECK_EQ(made(0, PIN_ASKED, ROOM), 0);
	CHECK_EQ(made(1, "monitor a", ROOM), 0);
	CHECK_EQ(made(2, "slow", ROOM), 0);
	CHECK_STR(kept(), "asked, monitor a, slow");
	CHECK_EQ(made(3, "monitor b", ROOM), 0);
	CHECK_STR(kept(), "asked, slow, monitor b");
	CHECK_EQ(made(4, PIN_ASKED, ROOM), 0);
	CHECK_STR(kept(), "asked, monitor b, asked");
	CHECK_EQ(made(5, PIN_ASKED, ROOM), 0);
	CHECK_STR(kept(), "asked, asked, asked");
	/* there is no room left for a monitor's; for one that is asked for, the oldest goes */
	CHECK_EQ(made(6, "monitor a", ROOM), -E2BIG);
	CHECK_STR(kept(), "asked, asked, asked");
	CHECK_EQ(made(7, PIN_ASKED, ROOM), 0);
	CHECK_STR(kept(), "asked, asked, asked");
}

TEST(a_pin_that_was_asked_for_is_not_replaced)
{
	CHECK_EQ(made(7, "slow", ROOM), 0);
	CHECK_STR(kept(), "asked, asked, asked");
}

TEST(a_pin_larger_than_the_room_is_refused)
{
	struct pin pin = {.from_ns = BEGIN, .to_ns = BEGIN + 9 * STEP, .why = PIN_ASKED};
	struct error e = {0};

	CHECK_EQ(pin_make(dir, &pin, NULL, ROOM, &e), -E2BIG);
	CHECK(strstr(e.text, "MB") != NULL);
	CHECK_STR(kept(), "asked, asked, asked");
}

/* Links of its chunks keep their bytes on the disk, whatever retention deletes. */
TEST(what_was_left_of_a_pin_goes_with_the_next_one)
{
	static const char left[] = "pins/.20260101T000000.000-time", chunk[] = "/chunk";
	char path[sizeof(left) + sizeof(chunk) + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", left, chunk);
	CHECK_EQ(mkdirat(dir, left, 0700), 0);
	CHECK_EQ(mkdirat(dir, path, 0700), 0);
	strcat(path, "/stream");
	close(openat(dir, path, O_WRONLY | O_CREAT, 0600));
	CHECK_EQ(fstatat(dir, path, &st, 0), 0);
	CHECK_EQ(made(8, PIN_ASKED, ROOM), 0);
	CHECK_EQ(fstatat(dir, left, &st, 0), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_STR(kept(), "asked, asked, asked");
}

TEST(nothing_is_left)
{
	scratch_remove();
}

TEST_MAIN()
