/* SPDX-License-Identifier: Apache-2.0 */
/* Owners of recordings. A user who may write into the directory cannot misuse the recorder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "chunk/manifest.h"
#include "make.h"
#include "tests/unit/check.h"

#define SOMEBODY 65534

static struct stat status_of(const char *path)
{
	struct stat st = {0};

	CHECK_EQ(lstat(path, &st), 0);
	return st;
}

/* Is everything in the directory, and it, for one user alone? How many files it has. */
static int check_private(const char *path, uid_t owner)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	struct stat st = status_of(path);
	int files = 0;

	CHECK_EQ(st.st_mode & 0777, 0700);
	CHECK_EQ(st.st_uid, owner);
	CHECK(d != NULL);
	while ((entry = readdir(d))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		st = status_of(make_path(path, entry->d_name));
		CHECK_EQ(st.st_mode & 0777, 0600);
		CHECK_EQ(st.st_uid, owner);
		files++;
	}
	closedir(d);
	return files;
}

static struct chunk_writer *begin(const struct chunk_writer_options *o, struct chunk_stream **cpu)
{
	struct chunk_writer *w = NULL;

	CHECK_EQ(chunk_writer_open(&w, o, NULL), 0);
	*cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	CHECK(*cpu != NULL);
	return w;
}

static void add(struct chunk_stream *cpu, uint64_t from_ns, unsigned int count)
{
	union make_record r;

	for (unsigned int i = 0; i < count; i++) {
		make_syscall(&r, from_ns + i, 0, i);
		CHECK_EQ(chunk_writer_add(cpu, &r.head), 0);
	}
}

static void finish(struct chunk_writer *w, uint64_t cut_ns, struct chunk_info *info)
{
	CHECK_EQ(chunk_writer_cut(w, cut_ns, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, info, NULL), 0);
	chunk_writer_close(w);
}

static void record_for(const struct chunk_owner *owner, bool compress, uid_t uid)
{
	char dir[4096];
	struct chunk_writer_options o = {.dir = dir,
					 .begin_ns = 1000,
					 .owner = owner,
					 .compress = compress,
					 .no_sync = true};
	struct chunk_stream *cpu;
	struct chunk_writer *w;
	struct chunk_info info;
	mode_t before = umask(0);
	struct recording_hold lock;

	snprintf(dir, sizeof(dir), "%s", make_path(make_directory(), "recording"));
	CHECK_EQ(recording_lock(dir, owner, &lock, NULL), 0);
	w = begin(&o, &cpu);
	add(cpu, 1000, 10);
	CHECK_EQ(chunk_writer_flush(w, 1010, NULL), 0);
	finish(w, 2000, &info);
	umask(before);
	CHECK_EQ(status_of(dir).st_mode & 0777, 0700);
	CHECK_EQ(status_of(dir).st_uid, uid);
	CHECK_EQ(status_of(make_path(dir, ".lock")).st_mode & 0777, 0600);
	CHECK_EQ(status_of(make_path(dir, ".lock")).st_uid, uid);
	CHECK_EQ(check_private(info.path, uid), 3);
	CHECK_EQ(make_count(info.path, &info), 10);
	recording_unlock(&lock);
}

TEST(nobody_else_can_read_it)
{
	record_for(NULL, false, geteuid());
	record_for(NULL, true, geteuid());
}

TEST(it_belongs_to_whom_it_is_made_for)
{
	const struct chunk_owner owner = {SOMEBODY, SOMEBODY};

	if (geteuid() != 0)
		SKIP("only root may make files of others");
	record_for(&owner, false, SOMEBODY);
	record_for(&owner, true, SOMEBODY);
}

/* A file that must not be written; what is in it stays. */
static const char *victim(void)
{
	static char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s", make_path(make_directory(), "victim"));
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK_EQ(write(fd, "mine", 4), 4);
	close(fd);
	return path;
}

TEST(links_are_not_followed)
{
	static const char *const names[] = {"cpu0", "cpu0.zst", "..manifest.new", ".metadata.new"};
	const char *other = victim();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct chunk_writer_options o = {.dir = make_directory(),
						 .begin_ns = 1000,
						 .compress = true,
						 .no_sync = true};
		struct chunk_stream *cpu;
		struct chunk_writer *w = begin(&o, &cpu);
		struct chunk_info info;

		CHECK_EQ(symlink(other, make_path(chunk_writer_path(w), names[i])), 0);
		add(cpu, 1000, 10);
		finish(w, 2000, &info);
		CHECK_EQ(make_count(info.path, &info), 10);
		CHECK_EQ(status_of(other).st_size, 4);
		CHECK_EQ(status_of(other).st_mode & 0777, 0600);
	}
}

/* Between two packets; what the file does not take is counted. */
TEST(a_stream_swapped_for_another_file)
{
	for (int hard = 0; hard < 2; hard++) {
		const char *other = victim();
		struct chunk_writer_options o = {
			.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
		struct chunk_stream *cpu;
		struct chunk_writer *w = begin(&o, &cpu);
		const char *name = make_path(chunk_writer_path(w), "cpu0");

		add(cpu, 1000, 10);
		CHECK_EQ(chunk_writer_flush(w, 1010, NULL), 0);
		CHECK_EQ(unlink(name), 0);
		CHECK_EQ(hard ? link(other, name) : symlink(other, name), 0);
		add(cpu, 1010, 10);
		CHECK(chunk_writer_flush(w, 1020, NULL) < 0);
		CHECK_EQ(status_of(other).st_size, 4);
		chunk_writer_close(w);
	}
}

/* A lock is not made anew while another has it, nor anywhere else. */
TEST(the_lock_is_no_link)
{
	const char *dir = make_directory(), *other = victim();
	struct recording_hold lock;

	CHECK_EQ(symlink(other, make_path(dir, ".lock")), 0);
	CHECK_EQ(recording_lock(dir, NULL, &lock, NULL), -ELOOP);
}

/* In a directory that another user writes, any entry may be anything. */
TEST(a_recording_in_the_directory_of_another_user)
{
	const struct chunk_owner owner = {SOMEBODY, SOMEBODY};
	char inside[4096], elsewhere[4096];
	struct recording_hold hold, second;
	struct error e = {0};
	int parent, fd;

	if (geteuid() != 0)
		SKIP("only root may make files of others");
	snprintf(inside, sizeof(inside), "%s", make_directory());
	snprintf(elsewhere, sizeof(elsewhere), "%s", make_directory());
	parent = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_EQ(symlink(elsewhere, make_path(inside, "chunks")), 0);
	CHECK(recording_make_at(parent, "chunks", &owner, NULL) < 0);
	CHECK_EQ(rmdir(elsewhere), 0); /* it is still empty */
	CHECK_EQ(unlink(make_path(inside, "chunks")), 0);
	CHECK_EQ(mkdir(make_path(inside, "chunks"), 0700), 0);
	CHECK_EQ(recording_make_at(parent, "chunks", &owner, &e), -EPERM);
	CHECK_EQ(rmdir(make_path(inside, "chunks")), 0);
	for (int again = 0; again < 2; again++) {
		fd = recording_make_at(parent, "chunks", &owner, NULL);
		CHECK(fd >= 0);
		CHECK_EQ(status_of(make_path(inside, "chunks")).st_uid, SOMEBODY);
		CHECK_EQ(recording_lock_opened("chunks", fd, &hold, NULL), 0);
		CHECK_EQ(recording_lock_opened("chunks", fd, &second, NULL), -EBUSY);
		CHECK_EQ(status_of(make_path(inside, "chunks/.lock")).st_uid, SOMEBODY);
		recording_unlock(&hold);
		close(fd);
	}
	close(parent);
}

/* A file that cannot be compressed is kept unchanged. */
TEST(a_stream_that_cannot_be_compressed)
{
	struct chunk_writer_options o = {
		.dir = make_directory(), .begin_ns = 1000, .compress = true, .no_sync = true};
	struct chunk_stream *cpu;
	struct chunk_writer *w = begin(&o, &cpu);
	struct chunk_info info;

	CHECK_EQ(mkdir(make_path(chunk_writer_path(w), "cpu0.zst"), 0700), 0);
	add(cpu, 1000, 10);
	finish(w, 2000, &info);
	CHECK_EQ(rmdir(make_path(info.path, "cpu0.zst")), 0);
	CHECK_EQ(make_count(info.path, &info), 10);
	CHECK_EQ(info.lost.damaged, 0);
	CHECK(status_of(make_path(info.path, "cpu0")).st_size > 0);
}

/* ---- removing ---- */

static const char *recorded(void)
{
	static char dir[4096];
	struct chunk_info info;
	struct recording_hold lock;

	snprintf(dir, sizeof(dir), "%s", make_path(make_directory(), "recording"));
	CHECK_EQ(recording_make(dir, NULL, NULL), 0);
	CHECK_EQ(recording_make(dir, NULL, NULL), -EEXIST);
	CHECK_EQ(recording_lock(dir, NULL, &lock, NULL), 0);
	make_chunk(dir, 1000, 10, false, &info);
	make_chunk(dir, 20000, 10, true, &info);
	CHECK_EQ(recording_remove(dir, NULL, NULL), -EBUSY);
	recording_unlock(&lock);
	return dir;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

TEST(a_recording_is_removed)
{
	const char *dir = recorded();

	CHECK_EQ(recording_remove(dir, NULL, NULL), 0);
	CHECK(!is_there(dir));
}

/* Then nothing of it goes. */
TEST(what_is_not_only_a_recording_stays)
{
	const char *dir = recorded(), *other = make_path(dir, "letter");
	struct chunk_info info;
	int fd = open(other, O_WRONLY | O_CREAT, 0600);

	close(fd);
	CHECK_EQ(recording_remove(dir, NULL, NULL), -ENOTEMPTY);
	CHECK(is_there(other));
	CHECK_EQ(unlink(other), 0);
	make_chunk(dir, 40000, 10, false, &info);
	other = make_path(info.path, "letter");
	close(open(other, O_WRONLY | O_CREAT, 0600));
	CHECK_EQ(recording_remove(dir, NULL, NULL), -ENOTEMPTY);
	CHECK(is_there(other));
	CHECK_EQ(make_count(info.path, &info), 10);
}

TEST(no_link_is_removed_nor_what_is_behind_it)
{
	const char *dir = recorded(), *away = make_directory();
	const char *chunk = make_path(dir, "00000000000000000001-00000000000000000002-000009");
	const char *file = make_path(away, "cpu0");

	close(open(file, O_WRONLY | O_CREAT, 0600));
	CHECK_EQ(symlink(away, chunk), 0);
	CHECK(recording_remove(dir, NULL, NULL) < 0);
	CHECK(is_there(file));
	CHECK_EQ(unlink(chunk), 0);
	CHECK_EQ(symlink(dir, make_path(away, "link")), 0);
	CHECK(recording_remove(make_path(away, "link"), NULL, NULL) < 0);
	CHECK_EQ(recording_remove(dir, NULL, NULL), 0);
}

TEST(somebody_elses_is_left_alone)
{
	const struct chunk_owner owner = {SOMEBODY, SOMEBODY};
	const char *dir = recorded();

	if (geteuid() != 0)
		SKIP("only root may make files of others");
	CHECK_EQ(chown(dir, SOMEBODY, SOMEBODY), 0);
	CHECK_EQ(recording_remove(dir, NULL, NULL), -EPERM);
	CHECK_EQ(recording_remove(dir, &owner, NULL), 0);
}

TEST_MAIN()
