/* SPDX-License-Identifier: Apache-2.0 */
/* A file with a build id, files without, and what is made of them afterwards. */
#include "elf/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "tests/unit/check.h"

#define LARGE (3u << 20) /* more than is read of it */

struct open_file {
	char path[40];
	int fd;
};

static struct open_file file_make(size_t bytes)
{
	struct open_file f = {.path = "/tmp/fathom-identity-XXXXXX"};

	f.fd = mkstemp(f.path);
	CHECK(f.fd >= 0);
	for (size_t i = 0; i < bytes; i += 4096) {
		char block[4096];
		size_t part = bytes - i < sizeof(block) ? bytes - i : sizeof(block);

		memset(block, (int)(i / 4096) + 1, sizeof(block));
		CHECK_EQ(write(f.fd, block, part), (ssize_t)part);
	}
	return f;
}

static void file_end(const struct open_file *f)
{
	close(f->fd);
	CHECK_EQ(unlink(f->path), 0);
}

static struct stat facts(int fd)
{
	struct stat info;

	CHECK_EQ(fstat(fd, &info), 0);
	return info;
}

TEST(a_build_id_where_there_is_one)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat info = facts(fd);
	char text[FILE_IDENTITY_TEXT] = "";

	CHECK_EQ(file_identity_read(fd, &info, text), 0);
	CHECK_EQ(strspn(text, "0123456789abcdef"), 40);
	CHECK_EQ(strlen(text), 40);
	CHECK(!file_identity_is_bare(text));
	info.st_ino++; /* a copy of it is the same */
	info.st_ctim.tv_sec++;
	CHECK(file_identity_is(fd, &info, text));
	text[3] ^= 1;
	CHECK(!file_identity_is(fd, &info, text));
	CHECK(!file_identity_is(fd, &info, ""));
	close(fd);
}

TEST(what_a_file_without_one_is_known_by)
{
	static const size_t sizes[] = {0, 1, 16384, 16385, 1 << 20, (1 << 20) + 1, LARGE + 7};
	char text[FILE_IDENTITY_TEXT];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct open_file f = file_make(sizes[i]);
		struct stat info = facts(f.fd), other = info;

		CHECK_EQ(file_identity_read(f.fd, &info, text), 0);
		CHECK(file_identity_is_bare(text));
		CHECK(file_identity_is(f.fd, &info, text));
		other.st_dev++;
		CHECK(file_identity_is(f.fd, &other, text));
		other = info;
		other.st_ino++;
		CHECK(!file_identity_is(f.fd, &other, text));
		other = info;
		other.st_ctim.tv_nsec ^= 1;
		CHECK(!file_identity_is(f.fd, &other, text));
		text[strlen(text) - 1] ^= 1;
		CHECK(!file_identity_is(f.fd, &info, text));
		file_end(&f);
	}
}

/* If times are not reliable, and at the moment of the change itself. */
TEST(other_contents_at_the_same_time)
{
	static const off_t changes[] = {0, 100, 16384, 999999};
	struct open_file whole = file_make(1000000), large = file_make(LARGE);
	char text[FILE_IDENTITY_TEXT];
	struct stat info = facts(whole.fd);

	CHECK_EQ(file_identity_read(whole.fd, &info, text), 0);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(pwrite(whole.fd, "!", 1, changes[i]), 1);
		CHECK(!file_identity_is(whole.fd, &info, text));
		CHECK_EQ(file_identity_read(whole.fd, &info, text), 0);
	}
	info = facts(large.fd);
	CHECK_EQ(file_identity_read(large.fd, &info, text), 0);
	CHECK_EQ(pwrite(large.fd, "!", 1, 0), 1); /* the samples have its ends */
	CHECK(!file_identity_is(large.fd, &info, text));
	CHECK_EQ(file_identity_read(large.fd, &info, text), 0);
	CHECK_EQ(pwrite(large.fd, "!", 1, LARGE - 1), 1);
	CHECK(!file_identity_is(large.fd, &info, text));
	file_end(&whole);
	file_end(&large);
}

TEST(a_file_that_was_cut_or_cannot_be_read)
{
	struct open_file f = file_make(100000);
	struct stat info = facts(f.fd);
	char text[FILE_IDENTITY_TEXT] = "?", before[FILE_IDENTITY_TEXT];
	int fd = open(f.path, O_WRONLY | O_CLOEXEC);

	CHECK_EQ(file_identity_read(fd, &info, text), -EBADF);
	CHECK_STR(text, "?");
	CHECK_EQ(file_identity_read(f.fd, &info, before), 0);
	CHECK_EQ(ftruncate(fd, 50000), 0);
	CHECK(file_identity_read(f.fd, &info, text) < 0); /* it has become shorter meanwhile */
	CHECK_STR(text, "?");
	CHECK(!file_identity_is(f.fd, &info, before));
	close(fd);
	file_end(&f);
}

TEST_MAIN()
