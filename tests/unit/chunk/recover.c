/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk that a crash left is sealed up to its last whole packet. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/crc32c.h"
#include "chunk/format.h"
#include "chunk/manifest.h"
#include "make.h"
#include "tests/unit/check.h"

#define PACKETS 4u
#define IN_PACKET 5u

static struct chunk_info found;
static uint64_t unix_offset_ns; /* of the chunk that was left open last */
static int found_count, left_count;
static struct error left_why;

static void on_recovered(void *arg, const struct chunk_info *info, const struct error *why)
{
	if (info) {
		found = *info;
		found_count++;
	} else {
		left_why = *why;
		left_count++;
	}
}

/* An open chunk as a killed recorder leaves it: 4 packets of 5 records. Its path. */
static const char *leave_open(const char *dir)
{
	static char path[8192];
	const struct chunk_writer_options options = {.dir = dir, .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_stream *cpu;
	union make_record r;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	cpu = chunk_writer_stream(w, CHUNK_STREAM_CPU, 0);
	for (unsigned int i = 0; i < PACKETS * IN_PACKET + 3; i++) {
		make_syscall(&r, 1000 + i, 0, i);
		CHECK_EQ(chunk_writer_add(cpu, &r.head), 0);
		if (i % IN_PACKET == IN_PACKET - 1)
			CHECK_EQ(chunk_writer_flush(w, 1001 + i, NULL), 0);
	}
	snprintf(path, sizeof(path), "%s", chunk_writer_path(w));
	unix_offset_ns = strtoull(strrchr(path, '/') + sizeof("/.open-") - 1, NULL, 10) - 1000;
	chunk_writer_close(w);
	return path;
}

/* The end of each packet of a stream. */
static unsigned int packet_ends(const char *path, off_t ends[16])
{
	int fd = open(path, O_RDONLY);
	struct packet_head head;
	off_t at = 0;
	unsigned int n = 0;

	CHECK(fd >= 0);
	while (pread(fd, &head, sizeof(head), at) == sizeof(head) && n < 16) {
		at += (off_t)(head.packet_bits / 8);
		ends[n++] = at;
	}
	close(fd);
	return n;
}

static int entries_in(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	CHECK(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

/* Truncated at every byte: as many records as whole packets before it have. */
TEST(a_stream_cut_anywhere)
{
	const char *dir = make_directory();
	off_t ends[16], size;
	unsigned int n = packet_ends(make_path(leave_open(dir), "cpu0"), ends);

	CHECK_EQ(n, 1 + PACKETS);
	size = ends[n - 1];
	CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
	for (off_t cut = 0; cut <= size; cut++) {
		unsigned int whole = 0;
		struct chunk_info info;
		struct error e = {0};

		dir = make_directory();
		CHECK_EQ(truncate(make_path(leave_open(dir), "cpu0"), cut), 0);
		while (whole < n && ends[whole] <= cut)
			whole++;
		found_count = 0;
		if (whole < 2) {
			/* no packet with a record is whole: nothing stays */
			CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, &e), 0);
			CHECK_EQ(entries_in(dir), 0);
		} else {
			CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, &e), 1);
			CHECK_EQ(found_count, 1);
			CHECK_EQ(found.state, CHUNK_RECOVERED);
			CHECK_EQ(make_count(found.path, &info), (whole - 1) * IN_PACKET);
			CHECK_EQ(info.lost.damaged, 0);
			CHECK_EQ(found.end_ns, 1001 + (whole - 1) * IN_PACKET);
			CHECK_EQ(entries_in(dir), 1);
		}
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, &e), 0);
		make_forget(dir);
	}
}

/* Makes what lies at `path` another user's, as whom the test goes on. */
static void become_another(const char *path)
{
	if (geteuid() != 0)
		return;
	CHECK_EQ(chown(path, 65534, 65534), 0);
	for (int i = 0; i < 3; i++) {
		const char *const names[] = {"metadata", ".manifest", "cpu0"};

		CHECK_EQ(chown(make_path(path, names[i]), 65534, 65534), 0);
	}
	CHECK_EQ(seteuid(65534), 0);
}

/* A disk that fails, or rights that are missing, are no reason to throw away what lies there. */
TEST(what_cannot_be_read_now_is_neither_cut_nor_deleted)
{
	const char *const names[] = {"cpu0", ".manifest"};

	for (int i = 0; i < 2; i++) {
		const char *dir = make_directory(), *path = leave_open(dir);
		char file[8300];
		struct error e = {0};
		struct stat before, after;
		int err;

		snprintf(file, sizeof(file), "%s", make_path(path, names[i]));
		CHECK_EQ(stat(file, &before), 0);
		CHECK_EQ(chown(dir, geteuid() ? geteuid() : 65534, (gid_t)-1), 0);
		CHECK_EQ(chmod(file, 0200), 0); /* to be written, not read */
		become_another(path);
		err = recording_recover(dir, NULL, on_recovered, NULL, &e);
		CHECK_EQ(seteuid(getuid()), 0);
		CHECK_EQ(err, -EACCES);
		CHECK_EQ(stat(file, &after), 0);
		CHECK_EQ(after.st_size, before.st_size);
		CHECK_EQ(chmod(file, 0600), 0);
		found_count = 0;
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
		CHECK_EQ(make_count(found.path, &found), PACKETS * IN_PACKET);
	}
}

/* The manifest of a fathom that is newer than this one. */
static void make_newer(const char *chunk)
{
	char text[4096] = "", *at, file[8300];
	FILE *f;

	snprintf(file, sizeof(file), "%s/" MANIFEST_NAME, chunk);
	f = fopen(file, "r+");
	CHECK(f != NULL);
	CHECK(fread(text, 1, sizeof(text) - 1, f) > 0);
	at = strstr(text, "fathom_chunk=");
	CHECK(at != NULL);
	at[sizeof("fathom_chunk=") - 1] = '9';
	at = strstr(text, "checksum=");
	CHECK(at != NULL);
	snprintf(at, 32, "checksum=%08x\n", crc32c(0, text, (size_t)(at - text)));
	rewind(f);
	CHECK_EQ(fputs(text, f) < 0, 0);
	CHECK_EQ(fclose(f), 0);
}

/* A chunk that cannot be recovered does not prevent the others, or a new one. */
TEST(a_chunk_that_cannot_be_recovered_is_left)
{
	const char *dir = make_directory(), *path = leave_open(dir);
	const struct chunk_writer_options options = {.dir = dir, .begin_ns = 9000, .no_sync = true};
	struct chunk_writer *w;
	struct chunk_info info;
	struct error e = {0};
	char newer[8192];
	struct stat st;
	FILE *f;

	snprintf(newer, sizeof(newer), "%s", path);
	make_newer(newer);
	leave_open(dir);
	f = fopen(make_path(dir, ".open-00000000000000001000-000007"), "w");
	CHECK(f != NULL);
	fclose(f);
	found_count = left_count = 0;
	CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, &e), 1);
	CHECK_EQ(found_count, 1);
	CHECK_EQ(left_count, 2);
	CHECK(strstr(left_why.text, "version 9") != NULL);
	CHECK(strstr(left_why.text, newer) != NULL);
	CHECK_EQ(make_count(found.path, &info), PACKETS * IN_PACKET);
	CHECK_EQ(stat(make_path(newer, "cpu0"), &st), 0);
	CHECK_EQ(stat(make_path(dir, ".open-00000000000000001000-000007"), &st), 0);
	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	chunk_writer_abandon(w);
	CHECK_EQ(recording_recover(dir, NULL, NULL, NULL, &e), 0);
}

/* A chunk without records is removed. */
TEST(a_chunk_that_is_abandoned)
{
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w = make_begun(&options, CHUNK_STREAM_CPU);

	CHECK_EQ(chunk_writer_flush(w, 1040, NULL), 0);
	CHECK_EQ(entries_in(options.dir), 1);
	chunk_writer_abandon(w);
	CHECK_EQ(entries_in(options.dir), 0);
	chunk_writer_abandon(NULL);
}

/* kill -9 in the middle of writing; all that was flushed is there, and the next begins. */
TEST(a_killed_recorder)
{
	const struct chunk_writer_options options = {.dir = make_directory(), .begin_ns = 1000};
	const struct record_head *record;
	struct recording *recording;
	struct make_walk walk = {0};
	struct chunk_info info;
	uint64_t records = 0;
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct chunk_writer *w;
		union make_record r;

		if (chunk_writer_open(&w, &options, NULL))
			_exit(1);
		for (unsigned int i = 0; i < 5000; i++) {
			make_syscall(&r, 1000 + i, i % 2, i);
			chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, i % 2), &r.head);
			if (i == 3999)
				chunk_writer_flush(w, 1000 + 4000, NULL);
		}
		kill(getpid(), SIGKILL);
	}
	CHECK(child > 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(recording_recover(options.dir, NULL, on_recovered, NULL, NULL), 1);
	CHECK_EQ(make_count(found.path, &info), 4000);
	CHECK_EQ(found.complete_ns, 5001); /* all streams were written up to one instant */
	make_chunk(options.dir, 9000, 10, false, &info);
	CHECK_EQ(info.seq, found.seq + 1);
	CHECK_EQ(recording_open(&recording, &options.dir, 1, NULL, NULL), 0);
	CHECK_EQ(recording_info(recording)->gap_count, 1);
	CHECK_EQ(found.complete_ns, found.end_ns);
	CHECK_EQ(recording_info(recording)->gaps[0].from_ns, found.complete_ns);
	CHECK_EQ(recording_info(recording)->gaps[0].to_ns, 9000);
	walk.info = recording_info(recording);
	while (make_walk_next(&walk, &record))
		records++;
	CHECK_EQ(records, 4010);
	recording_close(recording);
}

/* Also where the chunk is read before it is sealed, unless that is to be left out. */
TEST(a_gap_begins_where_the_first_stream_ends)
{
	const char *dir = make_directory();
	const struct chunk_writer_options options = {.dir = dir, .begin_ns = 1000, .no_sync = true};
	const struct recording_options only_sealed = {.only_sealed = true};
	struct recording *recording;
	struct chunk_info later;
	struct chunk_writer *w;
	union make_record r;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	for (u16 cpu = 0; cpu < 2; cpu++) {
		struct chunk_stream *stream = chunk_writer_stream(w, CHUNK_STREAM_CPU, cpu);

		make_syscall(&r, cpu ? 1010 : 1900, cpu, 0);
		CHECK_EQ(chunk_writer_add(stream, &r.head), 0);
		CHECK_EQ(chunk_writer_flush(w, r.head.time_ns + 1, NULL), 0);
	}
	chunk_writer_close(w);
	make_chunk(dir, 9000, 10, false, &later);
	CHECK_EQ(recording_open(&recording, &dir, 1, &only_sealed, NULL), 0);
	CHECK_EQ(recording_info(recording)->chunk_count, 1);
	CHECK_EQ(recording_info(recording)->begin_ns, 9000);
	recording_close(recording);
	for (int sealed = 0; sealed < 2; sealed++) {
		if (sealed)
			CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
		CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
		CHECK_EQ(recording_info(recording)->chunks[0].state,
			 sealed ? CHUNK_RECOVERED : CHUNK_OPEN);
		CHECK_EQ(recording_info(recording)->chunks[0].end_ns, 1902);
		CHECK_EQ(recording_info(recording)->gap_count, 1);
		CHECK_EQ(recording_info(recording)->gaps[0].from_ns, 1011);
		CHECK_EQ(recording_info(recording)->gaps[0].to_ns, 9000);
		recording_close(recording);
	}
}

/* Packets behind a bad one stay, and CTF readers are content: nothing lies between them. */
TEST(a_torn_page)
{
	for (unsigned int torn = 0; torn <= PACKETS; torn++) {
		const char *dir = make_directory();
		const char *path = make_path(leave_open(dir), "cpu0");
		/* the first packet is empty; what the last one had, nobody knows */
		unsigned int left = PACKETS - (torn > 0);
		unsigned int missing = torn > 0 && torn < PACKETS ? IN_PACKET : 0;
		struct chunk_info info;
		off_t ends[16];
		int fd;

		CHECK_EQ(packet_ends(path, ends), 1 + PACKETS);
		fd = open(path, O_WRONLY);
		CHECK_EQ(pwrite(fd, "torn", 4, ends[torn] - 20), 4);
		close(fd);
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
		CHECK_EQ(found.lost.damaged, missing);
		CHECK_EQ(found.end_ns, 1001 + (torn < PACKETS ? PACKETS : left) * IN_PACKET);
		CHECK_EQ(packet_ends(make_path(found.path, "cpu0"), ends), PACKETS);
		CHECK_EQ(make_count(found.path, &info), left * IN_PACKET);
		CHECK_EQ(info.lost.damaged, missing);
		make_forget(dir);
	}
}

static void tear(const char *path, off_t at)
{
	int fd = open(path, O_WRONLY);

	CHECK_EQ(pwrite(fd, "torn", 4, at), 4);
	close(fd);
}

/* The next packet says how many the `lost` records of a damaged one told. */
TEST(losses_that_a_damaged_packet_told)
{
	static const enum chunk_stream_kind kinds[] = {CHUNK_STREAM_CPU, CHUNK_STREAM_APP};

	for (int i = 0; i < 2; i++) {
		const struct chunk_writer_options options = {
			.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
		struct chunk_writer *w;
		struct chunk_stream *s;
		struct chunk_info info;
		union make_record r;
		char path[8300];
		off_t ends[16];

		CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
		s = chunk_writer_stream(w, kinds[i], 0);
		make_syscall(&r, 1010, i ? 0xffff : 0, 1);
		CHECK_EQ(chunk_writer_add(s, &r.head), 0);
		CHECK_EQ(chunk_writer_flush(w, 1020, NULL), 0);
		CHECK_EQ(make_lost(s, LOST_buffer, 700, 1021, 1022), 0);
		CHECK_EQ(make_lost(s, LOST_damaged, 50, 1023, 1024), 0);
		CHECK_EQ(chunk_writer_flush(w, 1040, NULL), 0);
		r.head.time_ns = 1050;
		CHECK_EQ(chunk_writer_add(s, &r.head), 0);
		CHECK_EQ(make_lost(s, LOST_recursion, 7, 1051, 1052), 0);
		CHECK_EQ(chunk_writer_flush(w, 1060, NULL), 0);
		snprintf(path, sizeof(path), "%s",
			 make_path(chunk_writer_path(w), i ? "app-0" : "cpu0"));
		chunk_writer_close(w);
		CHECK_EQ(packet_ends(path, ends), 4);
		tear(path, ends[2] - 12);
		for (int recovered = 0; recovered < 2; recovered++) {
			*strrchr(path, '/') = '\0';
			CHECK_EQ(make_count(recovered ? found.path : path, &info), 3);
			CHECK_EQ(info.lost.damaged, 2);
			CHECK_EQ(info.lost.recursion, 7);
			CHECK_EQ(i ? info.lost.application : info.lost.buffer, 700);
			CHECK_EQ(i ? info.lost.buffer : info.lost.application, 0);
			if (!recovered)
				CHECK_EQ(recording_recover(options.dir, NULL, on_recovered, NULL,
							   NULL),
					 1);
		}
	}
}

/* A crash while a hole is closed leaves the file as it was: it is another one until it is whole. */
TEST(a_hole_is_closed_in_another_file)
{
	for (int torn = 0; torn < 2; torn++) {
		const char *dir = make_directory(), *chunk = leave_open(dir);
		const char *path = make_path(chunk, "cpu0");
		struct stat before, after;
		struct chunk_info info;
		off_t ends[16];
		FILE *f = fopen(make_path(chunk, RECOVERED_NEW), "w");

		CHECK(f != NULL);
		CHECK_EQ(fclose(f), 0);
		packet_ends(path, ends);
		tear(path, ends[torn ? 2 : PACKETS] - 20);
		CHECK_EQ(stat(path, &before), 0);
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
		CHECK_EQ(stat(make_path(found.path, "cpu0"), &after), 0);
		CHECK_EQ(before.st_ino != after.st_ino, torn);
		CHECK_EQ(make_count(found.path, &info), (PACKETS - 1) * IN_PACKET);
		CHECK_EQ(entries_in(found.path), 3);
	}
}

/* If the disk has no room for a copy, holes are closed in the file itself. */
TEST(a_hole_is_closed_without_room)
{
	static char rest[4096];
	const unsigned int records = 4000;
	const struct chunk_writer_options options = {
		.dir = make_directory(), .begin_ns = 1000, .no_sync = true};
	struct chunk_writer *w;
	struct stat before, after;
	struct chunk_info info;
	union make_record r;
	char path[8300];
	off_t ends[16];
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", options.dir, "tmpfs", 0, "size=2m"))
		SKIP("it takes rights to make a small disk");
	w = make_begun(&options, CHUNK_STREAM_CPU);
	for (unsigned int i = 0; i < 4 * records; i++) {
		make_syscall(&r, 2000 + i, 0, i);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head), 0);
		if (i % records == records - 1)
			CHECK_EQ(chunk_writer_flush(w, 2001 + i, NULL), 0);
	}
	snprintf(path, sizeof(path), "%s", make_path(chunk_writer_path(w), "cpu0"));
	chunk_writer_close(w);
	CHECK_EQ(packet_ends(path, ends), 5);
	tear(path, ends[2] - 20);
	fd = open(make_path(options.dir, "rest"), O_WRONLY | O_CREAT, 0600);
	while (write(fd, rest, sizeof(rest)) == sizeof(rest))
		;
	/* that the chunk is sealed takes some */
	CHECK_EQ(ftruncate(fd, lseek(fd, 0, SEEK_END) - (64 << 10)), 0);
	close(fd);
	CHECK_EQ(stat(path, &before), 0);
	CHECK(before.st_size > 256 << 10);
	CHECK_EQ(recording_recover(options.dir, NULL, on_recovered, NULL, NULL), 1);
	CHECK_EQ(stat(make_path(found.path, "cpu0"), &after), 0);
	CHECK_EQ(before.st_ino, after.st_ino);
	CHECK_EQ(make_count(found.path, &info), 3 * records + 1);
	CHECK_EQ(info.lost.damaged, records);
	CHECK_EQ(entries_in(found.path), 3);
	CHECK_EQ(umount(options.dir), 0);
}

/* A stream that is searched in vain, and goes, is told. */
TEST(a_stream_that_is_too_damaged)
{
	const char *dir = make_directory(), *chunk = leave_open(dir);
	struct packet_head head;
	struct chunk_info info;
	FILE *f = fopen(make_path(chunk, "cpu0"), "r");

	CHECK(f != NULL && fread(&head, sizeof(head), 1, f) == 1);
	fclose(f);
	head.cpu_id = 1;
	head.packet_bits = head.content_bits = 8ull * PACKET_TARGET_BYTES;
	f = fopen(make_path(chunk, "cpu1"), "w");
	for (int i = 0; i < 10000; i++)
		CHECK_EQ(fwrite(&head, sizeof(head), 1, f), 1);
	fclose(f);
	CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
	CHECK_EQ(make_count(found.path, &info), PACKETS * IN_PACKET);
	CHECK_EQ(info.lost.damaged, 1);
}

/* Later damage is counted in addition to the damage at the recovery. */
TEST(a_recovered_chunk_that_is_damaged_again)
{
	const char *dir = make_directory();
	const char *path = make_path(leave_open(dir), "cpu0");
	struct chunk_info info;
	off_t ends[16];
	int fd;

	packet_ends(path, ends);
	fd = open(path, O_WRONLY);
	CHECK_EQ(pwrite(fd, "torn", 4, ends[1] + 100), 4);
	close(fd);
	CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
	path = make_path(found.path, "cpu0");
	packet_ends(path, ends);
	CHECK_EQ(truncate(path, ends[2]), 0);
	CHECK_EQ(make_count(found.path, &info), 2 * IN_PACKET);
	CHECK_EQ(info.lost.damaged, 2 * IN_PACKET);
}

/* It died between the manifest and the rename. */
TEST(sealed_but_for_its_name)
{
	const char *dir = make_directory();
	struct chunk_info info;

	make_chunk(dir, 1000, 10, false, &info);
	CHECK_EQ(rename(info.path, make_path(dir, ".open-00000000000000001000-000000")), 0);
	CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
	CHECK_EQ(found.state, CHUNK_SEALED);
	CHECK_STR(found.path, info.path);
	CHECK_EQ(make_count(found.path, &info), 10);
}

/* All that was flushed is there, and a CTF reader's metadata fits it. */
static void check_recovered(const char *dir)
{
	struct chunk_info info;

	found_count = 0;
	CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
	CHECK_EQ(found_count, 1);
	CHECK_EQ(make_count(found.path, &info), PACKETS * IN_PACKET);
	CHECK_EQ(info.lost.damaged, 0);
	CHECK_EQ(info.begin_ns, 1000);
	CHECK_EQ(info.end_ns, 1001 + PACKETS * IN_PACKET);
	CHECK(info.clock.unix_ns > 0);
	CHECK_EQ(info.clock.unix_ns - info.clock.monotonic_ns, unix_offset_ns);
}

/* Neither is synced before the end: a power cut may leave nothing of them, or zeros. */
TEST(a_power_cut_took_the_manifest)
{
	const char *dir = make_directory();

	CHECK_EQ(unlink(make_path(leave_open(dir), MANIFEST_NAME)), 0);
	check_recovered(dir);
	dir = make_directory();
	CHECK_EQ(truncate(make_path(leave_open(dir), MANIFEST_NAME), 0), 0);
	check_recovered(dir);
}

TEST(a_power_cut_took_the_metadata_too)
{
	const char *dir = make_directory(), *path = leave_open(dir);
	struct stat st;

	CHECK_EQ(truncate(make_path(path, MANIFEST_NAME), 0), 0);
	CHECK_EQ(truncate(make_path(path, METADATA_NAME), 0), 0);
	check_recovered(dir);
	CHECK_EQ(stat(make_path(found.path, METADATA_NAME), &st), 0);
	CHECK(st.st_size > 1000);
}

/* With a manifest of another chunk in its place, nothing of this one is believed. */
TEST(streams_of_two_chunks)
{
	const char *dir = make_directory(), *path = leave_open(dir);
	char from[8192];
	struct chunk_info info;

	snprintf(from, sizeof(from), "%s", make_path(path, "cpu0"));
	path = leave_open(dir);
	CHECK_EQ(rename(from, make_path(path, "cpu1")), 0);
	CHECK_EQ(unlink(make_path(path, MANIFEST_NAME)), 0);
	found_count = 0;
	recording_recover(dir, NULL, on_recovered, NULL, NULL);
	CHECK_EQ(found_count, 1);
	CHECK_EQ(make_count(found.path, &info), PACKETS * IN_PACKET);
	CHECK_EQ(info.lost.damaged, 0);
}

TEST(an_open_chunk_can_be_read)
{
	const char *path = leave_open(make_directory());
	struct chunk_info info;
	struct stat st;

	CHECK_EQ(make_count(path, &info), PACKETS * IN_PACKET);
	CHECK_EQ(info.state, CHUNK_OPEN);
	CHECK_EQ(info.lost.damaged, 0);
	/* in the middle of a packet as well */
	CHECK_EQ(stat(make_path(path, "cpu0"), &st), 0);
	CHECK_EQ(truncate(make_path(path, "cpu0"), st.st_size - 7), 0);
	CHECK_EQ(make_count(path, &info), (PACKETS - 1) * IN_PACKET);
	CHECK_EQ(info.lost.damaged, 0);
}

/* It is said from the begin on, and of a chunk without `life` nothing is known for sure. */
TEST(what_was_left_out_on_request_is_kept)
{
	const char *const gone[] = {NULL, MANIFEST_NAME, METADATA_NAME, "life"};

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		const char *dir = make_directory();
		const struct chunk_writer_options options = {.dir = dir,
							     .begin_ns = 1000,
							     .cpus = "0",
							     .filters = FILTER_SPANS,
							     .no_sync = true};
		struct chunk_writer *w;
		union make_record r;

		CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
		make_syscall(&r, 1500, 0, 1);
		CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &r.head), 0);
		CHECK_EQ(chunk_writer_flush(w, 2000, NULL), 0);
		if (gone[i])
			CHECK_EQ(unlink(make_path(chunk_writer_path(w), gone[i])), 0);
		chunk_writer_close(w);
		CHECK_EQ(recording_recover(dir, NULL, on_recovered, NULL, NULL), 1);
		CHECK_EQ(found.filters, FILTER_SPANS);
		CHECK_EQ(found.complete_ns > found.begin_ns, i < 3);
	}
}

TEST_MAIN()
