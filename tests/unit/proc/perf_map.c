/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which a program names its code, as several write it, and as nobody should. */
#include "proc/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define FOUND_MAX 8

struct finding {
	char names[FOUND_MAX][PERF_MAP_NAME_MAX + 1];
	uint64_t begin[FOUND_MAX], end[FOUND_MAX];
};

static void found(void *arg, size_t index, const struct perf_map_line *line)
{
	struct finding *f = arg;

	CHECK(index < FOUND_MAX);
	memcpy(f->names[index], line->name, line->name_bytes);
	f->names[index][line->name_bytes] = 0;
	f->begin[index] = line->begin;
	f->end[index] = line->end;
}

static int file_of(const char *text, size_t bytes)
{
	int fd = memfd_create("perf-map", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, bytes), (ssize_t)bytes);
	return fd;
}

static int search(const char *text, const uint64_t *addresses, size_t count, struct finding *f)
{
	const struct perf_map_search s = {addresses, count, found, f};
	int fd = file_of(text, strlen(text)), err;

	memset(f, 0, sizeof(*f));
	err = perf_map_read(fd, &s);
	close(fd);
	return err;
}

TEST(a_function_is_found_by_an_address_in_it)
{
	static const uint64_t at[] = {0xfff, 0x1000, 0x10ff, 0x1100, 0x7f0000001234};
	struct finding f;

	CHECK_EQ(search("1000 100 JS:*handler /srv/a b.js:3:17\n"
			"0x7f0000001200 0x40 java.lang.String::hashCode\r\n",
			at, 5, &f),
		 0);
	CHECK_STR(f.names[0], "");
	CHECK_STR(f.names[1], "JS:*handler /srv/a b.js:3:17");
	CHECK_STR(f.names[2], "JS:*handler /srv/a b.js:3:17");
	CHECK_STR(f.names[3], "");
	CHECK_STR(f.names[4], "java.lang.String::hashCode");
	CHECK(f.begin[1] == 0x1000 && f.end[1] == 0x1100);
}

TEST(the_last_line_holds)
{
	static const uint64_t at[] = {0x1010};
	struct finding f;

	CHECK_EQ(search("1000 100 first\n1000 20 second\n", at, 1, &f), 0);
	CHECK_STR(f.names[0], "second");
}

TEST(lines_that_make_no_sense_are_passed_over)
{
	static const uint64_t at[] = {0x10, 0x2010};
	struct finding f;

	CHECK_EQ(search("\n10\n10 \n10 0 empty\nzz 10 name\n10 zz name\n10 10\n10 10 \n"
			"fffffffffffffff0 20 wraps\n11111111111111111 10 large\n-10 20 negative\n"
			"2000 20 good\n10 10 without its end",
			at, 2, &f),
		 0);
	CHECK_STR(f.names[0], "");
	CHECK_STR(f.names[1], "good");
}

TEST(long_names_are_cut_and_long_lines_passed_over)
{
	static const uint64_t at[] = {0x1000, 0x2000, 0x3000};
	static char text[300000];
	struct finding f;
	size_t n = (size_t)sprintf(text, "1000 10 ");

	memset(text + n, 'x', 200000);
	n += 200000;
	n += (size_t)sprintf(text + n, "\n2000 10 ");
	for (int i = 0; i < 2000; i++)
		n += (size_t)sprintf(text + n, "\u00e9");
	sprintf(text + n, "\n3000 10 last\n");
	CHECK_EQ(search(text, at, 3, &f), 0);
	CHECK_STR(f.names[0], "");
	CHECK(strlen(f.names[1]) <= PERF_MAP_NAME_MAX && strlen(f.names[1]) % 2 == 0);
	CHECK_STR(f.names[2], "last");
}

TEST(work_is_bounded)
{
	static uint64_t at[4096];
	static char text[32 * 4096];
	size_t n = 0, matches = PERF_MAP_MATCHES_MAX - 1, used = 0;
	struct finding f;

	for (int i = 0; i < 4096; i++) {
		at[i] = 0x1000;
		n += (size_t)sprintf(text + n, "0 ffffffffffffffff everything\n");
	}
	CHECK_EQ(perf_map_lines(text, n, &(struct perf_map_search){at, 2, found, &f}, &matches,
				&used),
		 -E2BIG);
}

TEST_MAIN()
