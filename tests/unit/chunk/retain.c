/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting chunks at a limit, and the checkpoint that replaces them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/checkpoint.h"
#include "chunk/directory.h"
#include "make.h"
#include "tests/unit/check.h"

struct gone {
	int count;
	int refuse_at;
	uint64_t last_begin;
};

static int on_gone(void *arg, struct chunk_reader *reader, struct error *e)
{
	const struct chunk_info *info = chunk_reader_info(reader);
	struct gone *gone = arg;
	struct stat st;

	CHECK_EQ(stat(info->path, &st), 0); /* it can still be read */
	CHECK(info->begin_ns > gone->last_begin);
	CHECK(info->end_ns > info->begin_ns);
	gone->last_begin = info->begin_ns;
	return gone->count++ == gone->refuse_at ? -ECANCELED : 0;
}

static int retain_at(const char *dir, const struct recording_keep *keep, uint64_t now_unix_ns,
		     uint64_t now_ns)
{
	struct recording_retainer *r;
	int n;

	CHECK_EQ(recording_retainer_open(&r, dir, keep, NULL), 0);
	n = recording_retain(r, now_unix_ns, now_ns, NULL);
	CHECK(n < 0 || recording_retain(r, now_unix_ns, now_ns, NULL) == 0);
	recording_retainer_close(r);
	return n;
}

static int retain(const char *dir, const struct recording_keep *keep, uint64_t now_unix_ns)
{
	return retain_at(dir, keep, now_unix_ns, 0);
}

TEST(old_chunks_go_by_size)
{
	const char *dir = make_directory();
	struct gone gone = {.refuse_at = -1};
	struct recording_keep keep = {.before = on_gone, .arg = &gone};
	struct recording *recording;
	struct chunk_info info;

	for (unsigned int i = 0; i < 6; i++)
		make_chunk(dir, 1000 + 10000 * i, 10, false, &info);
	CHECK_EQ(retain(dir, &keep, 0), 0);
	keep.bytes = 4 * info.bytes; /* and its manifest is a file, too */
	CHECK_EQ(retain(dir, &keep, 0), 3);
	CHECK_EQ(gone.count, 3);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 3);
	CHECK_EQ(recording_info(recording)->begin_ns, 31000);
	recording_close(recording);
	gone = (struct gone){.refuse_at = 1};
	keep.bytes = 1;
	CHECK_EQ(retain(dir, &keep, 0), -ECANCELED);
	gone.refuse_at = -1;
	gone.last_begin = 0;
	/* the latest stays */
	CHECK_EQ(retain(dir, &keep, 0), 1);
	CHECK_EQ(retain(dir, &keep, 0), 0);
}

static const char *written_dir;
static int written_count, written_err;

static int on_written(void *arg, struct error *e)
{
	const struct gone *gone = arg;
	struct recording *recording;

	/* until then all are there */
	CHECK_EQ(recording_open(&recording, &written_dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 6);
	recording_close(recording);
	CHECK_EQ(gone->count, 5);
	written_count++;
	return written_err;
}

/* Their checkpoint is written once, and none of them is deleted before. */
TEST(chunks_go_together)
{
	struct gone gone = {.refuse_at = -1};
	const struct recording_keep keep = {
		.bytes = 1, .before = on_gone, .together = on_written, .arg = &gone};
	struct recording_retainer *r;
	struct recording_excess excess;
	struct chunk_info info;

	written_dir = make_directory();
	for (unsigned int i = 0; i < 6; i++)
		make_chunk(written_dir, 1000 + 10000 * i, 10, false, &info);
	CHECK_EQ(recording_retainer_open(&r, written_dir, &keep, NULL), 0);
	written_err = -EIO;
	CHECK_EQ(recording_retain(r, 0, 0, NULL), -EIO);
	gone = (struct gone){.refuse_at = -1};
	written_err = 0;
	CHECK_EQ(recording_retainer_gone(r), 0);
	CHECK_EQ(recording_retain(r, 0, 0, NULL), 5);
	CHECK_EQ(recording_retainer_gone(r), 5);
	CHECK_EQ(written_count, 2);
	excess = recording_retainer_excess(r);
	CHECK_EQ(excess.chunks, 5);
	CHECK(excess.bytes > 5 * info.bytes); /* with their manifests */
	CHECK_EQ(recording_retain(r, 0, 0, NULL), 0);
	CHECK_EQ(recording_retainer_excess(r).chunks, 0);
	CHECK_EQ(written_count, 2);
	recording_retainer_close(r);
}

static size_t room_at; /* how many chunks leave room for what on_room() writes */

static int on_room(void *arg, struct error *e)
{
	struct recording *recording;
	size_t left;

	CHECK_EQ(recording_open(&recording, &written_dir, 1, NULL, NULL), 0);
	left = recording_info(recording)->chunk_count;
	recording_close(recording);
	written_count++;
	return left > room_at ? error_say(e, ENOSPC, "no room") : 0;
}

/* On a disk without room for the checkpoint, the oldest chunks go before it is written. */
TEST(chunks_make_room_for_their_checkpoint)
{
	struct gone gone = {.refuse_at = -1};
	const struct recording_keep keep = {
		.bytes = 1, .before = on_gone, .together = on_room, .arg = &gone};
	struct recording_retainer *r;
	struct error e = {0};

	written_dir = make_directory();
	written_count = 0;
	for (unsigned int i = 0; i < 6; i++)
		make_chunk(written_dir, 1000 + 10000 * i, 10, false, NULL);
	CHECK_EQ(recording_retainer_open(&r, written_dir, &keep, NULL), 0);
	room_at = 4;
	CHECK_EQ(recording_retain(r, 0, 0, &e), 5);
	CHECK(!error_is_set(&e));
	CHECK_EQ(written_count, 3);
	for (unsigned int i = 6; i < 9; i++)
		make_chunk(written_dir, 1000 + 10000 * i, 10, false, NULL);
	room_at = 0; /* never */
	CHECK_EQ(recording_retain(r, 0, 0, &e), -ENOSPC);
	CHECK_EQ(recording_retainer_gone(r), 3); /* there is room for others */
	CHECK_EQ(written_count, 3 + 4);
	recording_retainer_close(r);
}

/* A chunk that stays does not keep earlier ones. */
TEST(chunks_before_one_that_stays_go)
{
	struct gone gone = {.refuse_at = 3};
	const struct recording_keep keep = {.bytes = 1, .before = on_gone, .arg = &gone};
	const char *dir = make_directory();
	struct recording *recording;
	struct chunk_info info;

	for (unsigned int i = 0; i < 6; i++)
		make_chunk(dir, 1000 + 10000 * i, 10, false, &info);
	CHECK_EQ(retain(dir, &keep, 0), -ECANCELED);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 3);
	CHECK_EQ(recording_info(recording)->begin_ns, 31000);
	recording_close(recording);
}

TEST(old_chunks_go_by_age)
{
	const char *dir = make_directory();
	struct gone gone = {.refuse_at = -1};
	const struct recording_keep keep = {.age_ns = 5000, .before = on_gone, .arg = &gone};

	make_boot(dir, "b", 1000000, 1000);
	make_boot(dir, "b", 1004000, 5000);
	make_boot(dir, "b", 1008000, 9000);
	/* they end 100 ns later */
	CHECK_EQ(retain(dir, &keep, 1005100), 0);
	CHECK_EQ(retain(dir, &keep, 1005101), 1);
	CHECK_EQ(gone.last_begin, 1000);
	CHECK_EQ(retain(dir, &keep, 1009999999), 1);
}

/* Others may have written what is in a chunk: here not even a manifest is there. */
TEST(by_names_nothing_in_a_chunk_is_read)
{
	const char *dir = make_directory();
	struct recording_keep keep = {.age_ns = 5000, .by_names = true};
	struct chunk_names names;

	make_boot(dir, NULL, 1000000, 1000);
	make_boot(dir, NULL, 1004000, 5000);
	make_boot(dir, NULL, 1008000, 9000);
	CHECK_EQ(chunk_names_list(dir, NULL, &names, NULL), 0);
	for (size_t i = 0; i < names.count; i++) {
		char path[CHUNK_NAME_BYTES + 20];

		snprintf(path, sizeof(path), "%s/.manifest", names.names[i].name);
		CHECK_EQ(unlink(make_path(dir, path)), 0);
	}
	chunk_names_free(&names);
	CHECK_EQ(retain_at(dir, &keep, 1005100, 999999999), 0);
	CHECK_EQ(retain_at(dir, &keep, 1005101, 0), 1);
	keep = (struct recording_keep){.bytes = 1, .by_names = true};
	CHECK_EQ(retain_at(dir, &keep, 0, 0), 1);
}

/* Nobody sets the clock that says how old those of this boot are. */
TEST(a_clock_that_was_set_forward_makes_no_chunk_old)
{
	const char *dir = make_directory();
	const struct recording_keep keep = {.age_ns = 5000};

	make_boot(dir, NULL, 1000000, 1000);
	make_boot(dir, NULL, 1004000, 5000);
	make_boot(dir, NULL, 3600004000, 9000);
	CHECK_EQ(retain_at(dir, &keep, 3600004100, 1100), 0);
	CHECK_EQ(retain_at(dir, &keep, 3600004100, 6100), 0);
	CHECK_EQ(retain_at(dir, &keep, 3600004100, 6101), 1);
	CHECK_EQ(retain_at(dir, &keep, 1004100, 10101), 1); /* nor young */
}

/* How old those of another boot are is asked once. */
TEST(a_clock_that_is_set_makes_no_chunk_of_another_boot_old_or_young)
{
	const char *dir = make_directory();
	const struct recording_keep keep = {.age_ns = 5000};
	struct recording_retainer *r;

	make_boot(dir, "b", 1000000, 1000);
	make_boot(dir, "b", 1004000, 5000);
	make_boot(dir, "b", 1008000, 9000);
	CHECK_EQ(recording_retainer_open(&r, dir, &keep, NULL), 0);
	CHECK_EQ(recording_retain(r, 1004100, 100, NULL), 0); /* the first is 4000 old */
	CHECK_EQ(recording_retain(r, 999999999, 1100, NULL), 0);
	CHECK_EQ(recording_retain(r, 999999999, 1101, NULL), 1);
	CHECK_EQ(recording_retain(r, 1, 5100, NULL), 0);
	CHECK_EQ(recording_retain(r, 1, 5101, NULL), 1);
	recording_retainer_close(r);
	/* by a clock that was far behind at the start, too */
	make_boot(dir, "b", 1012000, 13000);
	CHECK_EQ(recording_retainer_open(&r, dir, &keep, NULL), 0);
	CHECK_EQ(recording_retain(r, 70, 100, NULL), 0);
	CHECK_EQ(recording_retain(r, 1008200, 5100, NULL), 0);
	CHECK_EQ(recording_retain(r, 1008200, 5101, NULL), 1);
	recording_retainer_close(r);
}

/* Their names say the wall clock; the oldest is the one that was made first. */
TEST(a_clock_that_was_set_back_does_not_make_new_chunks_old)
{
	const char *dir = make_directory();
	struct gone gone = {.refuse_at = -1};
	struct recording_keep keep = {.bytes = 1, .before = on_gone, .arg = &gone};

	make_boot(dir, "b", 5000000, 1000);
	make_boot(dir, "b", 5004000, 5000);
	make_boot(dir, "b", 1008000, 9000);
	CHECK_EQ(retain(dir, &keep, 1009000), 2); /* in order, as on_gone() sees to */
	CHECK_EQ(gone.last_begin, 5000);
	make_boot(dir, "b", 1012000, 13000);
	make_boot(dir, "b", 512000, 23000);
	make_boot(dir, "b", 516000, 27000);
	keep = (struct recording_keep){.age_ns = 5000, .before = on_gone, .arg = &gone};
	CHECK_EQ(retain(dir, &keep, 517000), 0);
	/* what is younger than they has come of age */
	CHECK_EQ(retain(dir, &keep, 517101), 3);
	CHECK_EQ(gone.last_begin, 23000);
}

/* The next `count` descriptors can be opened, no more; returns the limit to give back. */
static struct rlimit descriptors_limit(unsigned int count)
{
	struct rlimit had, few;
	int fd = dup(STDERR_FILENO);

	CHECK(fd >= 0);
	close(fd);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &had), 0);
	few = (struct rlimit){(rlim_t)fd + count, had.rlim_max};
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	return had;
}

/* It is whole: for another try there are descriptors. */
TEST(chunks_that_cannot_be_read_now_stay)
{
	const char *dir = make_directory();
	struct gone gone = {.refuse_at = -1};
	const struct recording_keep keep = {.bytes = 1, .before = on_gone, .arg = &gone};
	struct recording_retainer *r;
	struct chunk_info first, last;
	struct error e = {0};
	struct rlimit had;

	make_chunk(dir, 1000, 10, false, &first);
	make_chunk(dir, 91000, 10, false, &last);
	CHECK_EQ(recording_retainer_open(&r, dir, &keep, NULL), 0);
	had = descriptors_limit(1); /* for the list, and for the chunk, but for nothing in it */
	CHECK_EQ(recording_retain(r, 0, 0, &e), -EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &had), 0);
	CHECK_EQ(gone.count, 0);
	CHECK_EQ(access(first.path, F_OK), 0);
	CHECK_EQ(recording_retain(r, 0, 0, NULL), 1);
	CHECK_EQ(gone.count, 1);
	recording_retainer_close(r);
}

/* A chunk that could not be read is distinguished from a damaged one. */
TEST(streams_that_cannot_be_read_now_are_told)
{
	const struct record_head *record;
	struct chunk_reader *reader;
	struct chunk_info info;
	struct rlimit had;

	make_chunk(make_directory(), 1000, 10, false, &info);
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	CHECK_EQ(chunk_reader_failed(reader), 0);
	had = descriptors_limit(0);
	while (chunk_reader_next(reader, &record, NULL) > 0)
		;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &had), 0);
	CHECK_EQ(chunk_reader_failed(reader), -EMFILE);
	chunk_reader_close(reader);

	CHECK_EQ(unlink(make_path(info.path, "cpu0")), 0);
	CHECK_EQ(chunk_reader_open(&reader, info.path, NULL), 0);
	while (chunk_reader_next(reader, &record, NULL) > 0)
		;
	CHECK_EQ(chunk_reader_failed(reader), 0);
	CHECK(chunk_reader_damage(reader) != NULL);
	chunk_reader_close(reader);
}

/* A link with a chunk's name leads nowhere. */
TEST(links_are_not_followed_when_chunks_go)
{
	const char *dir = make_directory(), *other = make_directory();
	struct gone gone = {.refuse_at = -1};
	const struct recording_keep keep = {.bytes = 1, .before = on_gone, .arg = &gone};
	struct chunk_info away, info;

	make_chunk(other, 1000, 10, false, &away);
	CHECK_EQ(symlink(away.path, make_path(dir, strrchr(away.path, '/') + 1)), 0);
	make_chunk(dir, 91000, 10, false, &info);
	CHECK_EQ(retain(dir, &keep, 0), -ENOTDIR);
	CHECK_EQ(gone.count, 0);
	CHECK_EQ(access(make_path(away.path, "metadata"), F_OK), 0);
}

/* Nothing keeps what cannot be read, nor what a crash left of a removal. */
TEST(broken_chunks_go_too)
{
	const char *dir = make_directory();
	const struct recording_keep keep = {.bytes = 1};
	struct chunk_info info;
	char *half;

	make_chunk(dir, 1000, 10, false, &info);
	CHECK(truncate(make_path(info.path, ".manifest"), 3) == 0);
	CHECK(truncate(make_path(info.path, "metadata"), 0) == 0);
	make_chunk(dir, 91000, 10, false, &info);
	half = strdup(make_path(dir, ".gone-x"));
	CHECK_EQ(mkdir(half, 0700), 0);
	CHECK_EQ(retain(dir, &keep, 0), 1);
	CHECK(access(half, F_OK) < 0);
	free(half);
}

/* Whoever is asked knows when it ended. */
TEST(a_chunk_without_a_manifest_goes_too)
{
	const char *dir = make_directory();
	struct gone gone = {.refuse_at = -1};
	const struct recording_keep keep = {.bytes = 1, .before = on_gone, .arg = &gone};
	struct chunk_info info;

	make_chunk(dir, 1000, 10, false, &info);
	CHECK_EQ(unlink(make_path(info.path, ".manifest")), 0);
	make_chunk(dir, 91000, 10, false, &info);
	CHECK_EQ(retain(dir, &keep, 0), 1);
	CHECK_EQ(gone.last_begin, 1000);
}

TEST(checkpoint_is_what_was_written)
{
	const char *dir = make_directory();
	struct recording_checkpoint checkpoint = {
		.boot_id = "boot", .end_ns = 77, .data = "state", .bytes = 5};
	struct recording_checkpoint read;
	struct error e = {0};

	CHECK_EQ(recording_checkpoint_read(dir, NULL, &read, &e), -ENOENT);
	CHECK_EQ(recording_checkpoint_write(dir, NULL, NULL, &checkpoint, &e), 0);
	CHECK_EQ(recording_checkpoint_read(dir, NULL, &read, &e), 0);
	CHECK_STR(read.boot_id, "boot");
	CHECK_EQ(read.end_ns, 77);
	CHECK_EQ(read.bytes, 5);
	CHECK(memcmp(read.data, "state", 5) == 0);
	recording_checkpoint_free(&read);
	CHECK(truncate(make_path(dir, "checkpoint"), 60) == 0);
	CHECK_EQ(recording_checkpoint_read(dir, NULL, &read, &e), -EBADMSG);
	CHECK(truncate(make_path(dir, "checkpoint"), 3) == 0);
	CHECK_EQ(recording_checkpoint_read(dir, NULL, &read, &e), -EBADMSG);
}

/* The space that was reserved suffices on a full disk. */
TEST(a_checkpoint_is_written_on_a_full_disk)
{
	const char *dir = make_directory();
	static char state[300000], rest[4096];
	struct recording_checkpoint checkpoint = {.data = state, .bytes = 1000}, read;
	struct recording_hold hold = {.lock = -1};
	struct stat st;
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=1m"))
		SKIP("it takes rights to make a small disk");
	hold.dir = open(dir, O_RDONLY | O_DIRECTORY);
	CHECK_EQ(recording_checkpoint_write(dir, &hold, NULL, &checkpoint, NULL), 0);
	recording_checkpoint_reserve(&hold, &checkpoint);
	fd = open(make_path(dir, "rest"), O_WRONLY | O_CREAT, 0600);
	while (write(fd, rest, sizeof(rest)) == sizeof(rest))
		;
	close(fd);
	checkpoint.bytes = sizeof(state); /* it is too much, and what was there stays */
	CHECK_EQ(recording_checkpoint_write(dir, &hold, NULL, &checkpoint, NULL), -ENOSPC);
	checkpoint.bytes = 200000;
	CHECK_EQ(recording_checkpoint_write(dir, &hold, NULL, &checkpoint, NULL), 0);
	CHECK_EQ(recording_checkpoint_read(dir, &hold, &read, NULL), 0);
	CHECK_EQ(read.bytes, 200000);
	recording_checkpoint_free(&read);
	recording_checkpoint_reserve(&hold, &checkpoint);
	CHECK_EQ(stat(make_path(dir, ".checkpoint.new"), &st), 0);
	recording_checkpoint_release(&hold);
	CHECK_EQ(stat(make_path(dir, ".checkpoint.new"), &st), -1);
	close(hold.dir);
	CHECK_EQ(umount(dir), 0);
}

TEST_MAIN()
