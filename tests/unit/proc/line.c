/* SPDX-License-Identifier: Apache-2.0 */
/* A line is found whatever stands before it. */
#include "proc/line.h"

#include <errno.h>

#include "tests/unit/check.h"

static char path[] = "/tmp/fathom-proc-line-XXXXXX";

static void file_write(const char *before, size_t times, const char *after)
{
	int fd;
	FILE *file;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	file = fdopen(fd, "w");
	CHECK(file);
	for (size_t i = 0; i < times; i++)
		fputs(before, file);
	fputs(after, file);
	CHECK_EQ(fclose(file), 0);
}

/* What is read of the file that is gone then. */
static int line_take(const char *name, char *rest, size_t size)
{
	int err = proc_line_read(path, name, rest, size);

	unlink(path);
	return err;
}

TEST(a_line_behind_long_ones)
{
	char rest[16];

	file_write("1000000000 ", 70000, "\nNSpid:\t17\t1\nmore:\t3\n");
	CHECK_EQ(line_take("NSpid:", rest, sizeof(rest)), 0);
	CHECK_STR(rest, "\t17\t1");
}

/* Whatever the pieces in which a long line is read: some of them begin with the name. */
TEST(only_the_begin_of_a_line_counts)
{
	char rest[16];

	file_write(" id:", 5000, "\nid: right\nid: later");
	CHECK_EQ(line_take("id:", rest, sizeof(rest)), 0);
	CHECK_STR(rest, " right");
	file_write("xid:..", 5000, "\nid: right\n");
	CHECK_EQ(line_take("id:", rest, sizeof(rest)), 0);
	CHECK_STR(rest, " right");
}

TEST(what_is_not_there_is_told)
{
	char rest[4] = "old";

	CHECK_EQ(proc_line_read("/proc/self/no such file", "x", rest, sizeof(rest)), -ESRCH);
	CHECK_EQ(proc_line_read("/proc/self/status", "no such line", rest, sizeof(rest)), -EPROTO);
	CHECK_STR(rest, "old");
	file_write("abc", 1, "");
	CHECK_EQ(line_take("ab", rest, sizeof(rest)), 0);
	CHECK_STR(rest, "c");
	file_write("name: long\n", 1, "");
	CHECK_EQ(line_take("name:", rest, sizeof(rest)), 0);
	CHECK_STR(rest, " lo");
}

TEST_MAIN()
