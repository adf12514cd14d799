/* SPDX-License-Identifier: Apache-2.0 */
#include "log/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "tests/unit/check.h"

#define ENTRIES 5

static char dir_name[64];

static void dir_empty(int dir)
{
	DIR *stream = opendir(dir_name);
	struct dirent *entry;

	while ((entry = readdir(stream))) {
		if (entry->d_name[0] != '.')
			unlinkat(dir, entry->d_name, 0);
	}
	closedir(stream);
}

static int dir_make(void)
{
	int dir;

	if (!dir_name[0]) {
		snprintf(dir_name, sizeof(dir_name), "/tmp/fathom-log-XXXXXX");
		CHECK(mkdtemp(dir_name));
	}
	dir = open(dir_name, O_RDONLY | O_DIRECTORY);
	CHECK(dir >= 0);
	dir_empty(dir);
	return dir;
}

static void dir_drop(int dir)
{
	dir_empty(dir);
	close(dir);
	rmdir(dir_name);
	dir_name[0] = '\0';
}

static struct log *open_log(int dir, uint64_t segment_bytes, uint64_t begin)
{
	struct error e = {0};
	struct log *l = NULL;

	if (log_open(dir, &(struct log_options){segment_bytes, begin}, &l, &e))
		CHECK_FAIL("%s", e.text);
	return l;
}

/* Entry i: "i" and then i times "x", so that lengths differ. */
static size_t contents(char *to, int i)
{
	size_t n = (size_t)sprintf(to, "%d", i);

	memset(to + n, 'x', (size_t)i);
	return n + (size_t)i;
}

static uint64_t append(struct log *l, int i)
{
	char text[600];
	size_t bytes = contents(text, i);
	const struct log_part parts[] = {{text, bytes / 2}, {text + bytes / 2, bytes - bytes / 2}};
	uint64_t end = 0;

	CHECK_EQ(log_append(l, parts, 2, &end), 0);
	return end;
}

static bool entry_is(const struct log_entry *entry, int i)
{
	char text[600];
	size_t bytes = contents(text, i);

	return entry->bytes == bytes && memcmp(entry->data, text, bytes) == 0;
}

/* Reads to the end: a bit for each entry that came back, in order; any other entry fails. */
static uint64_t read_all(int dir, uint64_t from, uint64_t *lost)
{
	struct error e = {0};
	struct log_reader *r = NULL;
	struct log_entry entry;
	uint64_t seen = 0;
	int last = -1, more;

	CHECK_EQ(log_reader_open(dir, from, &r, &e), 0);
	while ((more = log_reader_next(r, UINT64_MAX, &entry, &e)) > 0) {
		int i = 0;

		while (i < 64 && !entry_is(&entry, i))
			i++;
		CHECK(i < 64 && i > last);
		last = i;
		seen |= 1ull << i;
	}
	if (more < 0)
		CHECK_FAIL("%s", e.text);
	if (lost)
		*lost = log_reader_lost(r);
	log_reader_close(r);
	return seen;
}

TEST(entries_come_back_over_segments_and_openings)
{
	int dir = dir_make();
	uint64_t ends[60], lost;
	struct log *l = NULL;

	for (int i = 0; i < 60; i++) {
		l = i % 7 == 0 ? open_log(dir, 100, 0) : l;
		ends[i] = append(l, i);
		if (i % 7 == 6 || i == 59)
			CHECK_EQ(log_close(l), 0);
	}
	CHECK(read_all(dir, 0, &lost) == (1ull << 60) - 1);
	CHECK_EQ(lost, 0);
	for (int i = 0; i < 59; i++)
		CHECK(read_all(dir, ends[i], &lost) == ((1ull << 60) - 1) >> (i + 1) << (i + 1));
	CHECK_EQ(lost, 0);
	dir_drop(dir);
}

/* So no thread that appends waits for the disk. */
TEST(segments_end_without_a_sync_until_somebody_asks_for_one)
{
	int dir = dir_make();
	struct log *l = open_log(dir, 50, 0);
	uint64_t end = 0, lost;

	for (int i = 0; i < 60; i++)
		end = append(l, i);
	CHECK_EQ(log_status(l).syncs, 0);
	CHECK_EQ(log_status(l).synced, 0);
	CHECK_EQ(log_sync(l, end), 0);
	CHECK_EQ(log_status(l).syncs, 1);
	CHECK(log_status(l).synced == end);
	CHECK(read_all(dir, 0, &lost) == (1ull << 60) - 1);
	CHECK_EQ(lost, 0);
	end = append(l, 60);
	end = append(l, 61);
	CHECK_EQ(log_sync(l, end), 0);
	CHECK_EQ(log_close(l), 0);
	CHECK(read_all(dir, 0, &lost) == (1ull << 62) - 1);
	dir_drop(dir);
}

TEST(a_reader_follows_the_writer_up_to_what_is_synced)
{
	int dir = dir_make();
	struct log *l = open_log(dir, 50, 0);
	struct error e = {0};
	struct log_reader *r;
	struct log_entry entry;

	CHECK_EQ(log_reader_open(dir, 0, &r, &e), 0);
	CHECK_EQ(log_reader_next(r, log_status(l).synced, &entry, &e), 0);
	for (int i = 0; i < 20; i++) {
		uint64_t end = append(l, i);

		CHECK_EQ(log_reader_next(r, log_status(l).synced, &entry, &e), 0);
		CHECK_EQ(log_sync(l, end), 0);
		CHECK_EQ(log_reader_next(r, log_status(l).synced, &entry, &e), 1);
		CHECK(entry_is(&entry, i));
		CHECK_EQ(entry.end, end);
	}
	log_reader_close(r);
	log_close(l);
	dir_drop(dir);
}

TEST(one_sync_is_for_all_before_it)
{
	int dir = dir_make();
	struct log *l = open_log(dir, 0, 0);
	uint64_t first = append(l, 1), last;

	append(l, 2);
	last = append(l, 3);
	CHECK_EQ(log_sync(l, last), 0);
	CHECK_EQ(log_sync(l, first), 0);
	CHECK_EQ(log_status(l).syncs, 1);
	CHECK_EQ(log_status(l).synced, last);
	log_close(l);
	dir_drop(dir);
}

struct appender {
	struct log *log;
	int number;
	bool failed;
};

static void *append_and_sync(void *arg)
{
	struct appender *a = arg;

	for (int i = 0; i < 40 && !a->failed; i++) {
		char text[300];
		const struct log_part part = {text, (size_t)sprintf(text, "%d %d", a->number, i)};
		uint64_t end;

		a->failed = log_append(a->log, &part, 1, &end) || log_sync(a->log, end) ||
			    log_status(a->log).synced < end;
	}
	return NULL;
}

TEST(threads_append_and_sync_at_once)
{
	int dir = dir_make(), count = 0;
	struct log *l = open_log(dir, 300, 0);
	struct appender appenders[4];
	pthread_t threads[4];
	struct log_reader *r;
	struct log_entry entry;

	for (int i = 0; i < 4; i++) {
		appenders[i] = (struct appender){l, i, false};
		CHECK_EQ(pthread_create(&threads[i], NULL, append_and_sync, &appenders[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		CHECK(!appenders[i].failed);
	}
	CHECK_EQ(log_reader_open(dir, 0, &r, NULL), 0);
	while (log_reader_next(r, UINT64_MAX, &entry, NULL) > 0)
		count++;
	CHECK_EQ(count, 160);
	CHECK_EQ(log_reader_lost(r), 0);
	log_reader_close(r);
	log_close(l);
	dir_drop(dir);
}

/* Stands for fdatasync() in the log. */
static _Atomic int sync_error;
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
	if (!sync_error)
		return __real_fdatasync(fd);
	errno = sync_error;
	return -1;
}

TEST(a_log_goes_on_in_a_new_segment_after_a_sync_failed)
{
	int dir = dir_make(), err;
	struct log *l = open_log(dir, 0, 0);
	const struct log_part part = {"x", 1};
	uint64_t good, lost, later;

	CHECK_EQ(log_append(l, &part, 1, &good), 0);
	CHECK_EQ(log_sync(l, good), 0);
	CHECK_EQ(log_append(l, &part, 1, &lost), 0);
	sync_error = ENOSPC;
	CHECK_EQ(log_sync(l, lost), -ENOSPC);
	CHECK_EQ(log_status(l).failed, -ENOSPC);
	CHECK_EQ(log_append(l, &part, 1, &later), -ENOSPC); /* at once */
	sync_error = 0;
	do {
		err = log_append(l, &part, 1, &later);
	} while (err == -ENOSPC);
	CHECK_EQ(err, 0);
	CHECK_EQ(log_sync(l, later), 0);
	CHECK_EQ(log_sync(l, good), 0);
	CHECK_EQ(log_sync(l, lost), -EIO); /* though its position is passed */
	CHECK_EQ(log_status(l).failed, 0);
	CHECK_EQ(log_status(l).synced, later);
	CHECK_EQ(log_close(l), 0);
	l = open_log(dir, 0, 0);
	CHECK_EQ(log_status(l).end, later);
	log_close(l);
	dir_drop(dir);
}

TEST(old_segments_are_removed)
{
	int dir = dir_make();
	struct log *l = open_log(dir, 40, 0);
	uint64_t ends[20], lost;

	for (int i = 0; i < 20; i++)
		ends[i] = append(l, i);
	CHECK_EQ(log_trim(l, ends[9], NULL), 0);
	CHECK(log_status(l).begin > 0);
	CHECK(log_status(l).begin <= ends[9]);
	CHECK((read_all(dir, ends[9], &lost) & 0xffc00) == 0xffc00);
	CHECK_EQ(lost, 0);
	read_all(dir, ends[0], &lost);
	CHECK(lost > 0); /* a reader that was behind learns of it */
	CHECK_EQ(log_trim(l, ends[19], NULL), 0);
	CHECK(read_all(dir, 0, NULL) >> 19 == 1); /* the last one is still written */
	log_close(l);
	dir_drop(dir);
}

TEST(a_log_has_one_writer)
{
	int dir = dir_make();
	struct log *l = open_log(dir, 0, 0), *second = NULL;

	CHECK_EQ(log_open(dir, &(struct log_options){0}, &second, NULL), -EBUSY);
	CHECK(!second);
	log_close(l);
	log_close(open_log(dir, 0, 0));
	dir_drop(dir);
}

TEST(appends_go_behind_what_a_reader_has_seen)
{
	int dir = dir_make();
	struct log *l = open_log(dir, 0, 0);
	uint64_t lost;

	append(l, 1);
	log_close(l);
	l = open_log(dir, 0, 5000);
	append(l, 2);
	CHECK_EQ(log_close(l), 0);
	CHECK_EQ(read_all(dir, 5000, &lost), 1 << 2);
	CHECK_EQ(lost, 0);
	dir_drop(dir);
}

TEST(an_entry_that_is_too_large_is_refused)
{
	int dir = dir_make();
	struct log *l = open_log(dir, 0, 0);
	const struct log_part parts[] = {{"", 0}, {"x", LOG_ENTRY_BYTES_MAX}, {"x", 1}};
	uint64_t end;

	CHECK_EQ(log_append(l, parts, 3, &end), -EMSGSIZE);
	CHECK_EQ(log_status(l).end, 0);
	log_close(l);
	dir_drop(dir);
}

/* A file with entries 0 to ENTRIES - 1 as its only segment. */
struct image {
	unsigned char bytes[600];
	size_t count;
	size_t ends[ENTRIES]; /* offset behind each entry */
};

#define SEGMENT "0000000000000000.log"

static void image_make(int dir, struct image *image)
{
	struct log *l = open_log(dir, 0, 0);
	int fd;

	for (int i = 0; i < ENTRIES; i++)
		image->ends[i] = (size_t)append(l, i) + 24;
	log_close(l);
	fd = openat(dir, SEGMENT, O_RDONLY);
	image->count = (size_t)read(fd, image->bytes, sizeof(image->bytes));
	close(fd);
	CHECK_EQ(image->count, image->ends[ENTRIES - 1]);
}

static void image_write(int dir, const unsigned char *bytes, size_t count)
{
	int fd;

	dir_empty(dir);
	fd = openat(dir, SEGMENT, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(write(fd, bytes, count), (ssize_t)count);
	close(fd);
}

/* Opens the log as a new process would, appends, and gives what is there then. */
static uint64_t after_recovery(int dir)
{
	struct log *l = open_log(dir, 0, 0);

	append(l, 40);
	CHECK_EQ(log_close(l), 0);
	return read_all(dir, 0, NULL);
}

TEST(a_cut_at_any_byte_keeps_the_whole_entries)
{
	int dir = dir_make();
	struct image image;

	image_make(dir, &image);
	for (size_t cut = 0; cut <= image.count; cut++) {
		uint64_t whole = 0;

		for (int i = 0; i < ENTRIES; i++)
			whole |= image.ends[i] <= cut ? 1ull << i : 0;
		image_write(dir, image.bytes, cut);
		CHECK(read_all(dir, 0, NULL) == whole);
		CHECK(after_recovery(dir) == (whole | 1ull << 40));
	}
	dir_drop(dir);
}

TEST(zeros_or_noise_behind_the_end_are_cut)
{
	int dir = dir_make();
	struct image image;

	image_make(dir, &image);
	for (int fill = 0; fill < 256; fill += 51) {
		memset(image.bytes + image.count, fill, 50);
		image_write(dir, image.bytes, image.count + 50);
		CHECK(after_recovery(dir) == (((1ull << ENTRIES) - 1) | 1ull << 40));
	}
	/* an entry of another place */
	memcpy(image.bytes + image.count, image.bytes + 24, 50);
	image_write(dir, image.bytes, image.count + 50);
	CHECK(after_recovery(dir) == (((1ull << ENTRIES) - 1) | 1ull << 40));
	dir_drop(dir);
}

TEST(damage_of_any_byte_costs_the_entry_that_it_hits)
{
	int dir = dir_make();
	struct image image;

	image_make(dir, &image);
	for (size_t at = 0; at < image.count; at++) {
		uint64_t whole = (1ull << ENTRIES) - 1, lost;

		for (int i = ENTRIES - 1; i >= 0 && at >= 24; i--) {
			if (at < image.ends[i] && (i == 0 || at >= image.ends[i - 1]))
				whole &= ~(1ull << i);
		}
		image.bytes[at] ^= 1u << at % 8;
		image_write(dir, image.bytes, image.count);
		CHECK(read_all(dir, 0, &lost) == whole);
		CHECK((lost > 0) == (at >= 24));
		CHECK(after_recovery(dir) == (whole | 1ull << 40));
		image.bytes[at] ^= 1u << at % 8;
	}
	dir_drop(dir);
}

TEST(a_newer_version_is_refused)
{
	int dir = dir_make();
	struct image image;
	struct log *l = NULL;
	struct error e = {0};
	uint32_t crc;

	image_make(dir, &image);
	image.bytes[7]++;
	image_write(dir, image.bytes, image.count);
	CHECK_EQ(read_all(dir, 0, NULL), (1 << ENTRIES) - 1); /* damage, not a version */
	crc = crc32c(0, image.bytes, 16);
	memcpy(image.bytes + 16, &crc, 4);
	image_write(dir, image.bytes, image.count);
	CHECK_EQ(log_open(dir, &(struct log_options){0}, &l, &e), -EPROTONOSUPPORT);
	dir_drop(dir);
}

TEST_MAIN()
