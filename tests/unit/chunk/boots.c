/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks are of one boot, and which boots of one host. */
#include "chunk/boots.h"

#include <errno.h>

#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

#define SECOND 1000000000ull
#define A "aaaaaaaa-0000-0000-0000-000000000001"
#define B "bbbbbbbb-0000-0000-0000-000000000002"
#define C "cccccccc-0000-0000-0000-000000000003"

/* Writes a chunk of one second that begins at unix_s, of a host that was booted 100 s before 1000.
 */
static void chunk_of(const char *dir, const char *host, const char *boot_id, uint64_t unix_s)
{
	const struct chunk_clock clock = {.monotonic_ns = (unix_s - 900) * SECOND,
					  .unix_ns = unix_s * SECOND};
	const struct chunk_writer_options options = {.dir = dir,
						     .begin_ns = clock.monotonic_ns,
						     .host = host,
						     .boot_id = boot_id,
						     .clock = &clock,
						     .no_sync = true};
	struct chunk_writer *w;
	union make_record call;

	CHECK_EQ(chunk_writer_open(&w, &options, NULL), 0);
	make_syscall(&call, clock.monotonic_ns + 1, 0, 1);
	CHECK_EQ(chunk_writer_add(chunk_writer_stream(w, CHUNK_STREAM_CPU, 0), &call.head), 0);
	CHECK_EQ(chunk_writer_cut(w, clock.monotonic_ns + SECOND, NULL, NULL), 0);
	CHECK_EQ(chunk_writer_seal(w, NULL, NULL), 0);
	chunk_writer_close(w);
}

/* The hosts, with the number of their chunks: "a 2, b 1". */
static const char *hosts_of(const char *dir, int boot)
{
	static char text[256];
	const struct recording_options options = {.boot = boot};
	const struct recording_query query = {&dir, 1, &options};
	struct recording_set set;
	size_t length = 0;
	int err = recording_set_open(&set, &query, NULL);

	if (err)
		return error_name(err);
	for (size_t i = 0; i < set.count; i++) {
		const struct recording_info *info = recording_info(set.data[i]);

		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s %zu",
					   i ? ", " : "", info->host, info->chunk_count);
	}
	recording_set_close(&set);
	return text;
}

TEST(each_host_has_its_latest_boot)
{
	const char *dir = make_directory();

	chunk_of(dir, "web", A, 1000);
	chunk_of(dir, "web", B, 2000);
	chunk_of(dir, "web", B, 2001);
	chunk_of(dir, "database", C, 1000);
	CHECK_STR(hosts_of(dir, 0), "database 1, web 2");
}

TEST(a_host_that_booted_again_is_one)
{
	const char *dir = make_directory();

	chunk_of(dir, "web", A, 1000);
	chunk_of(dir, "web", A, 1001);
	chunk_of(dir, "web", B, 1002);
	CHECK_STR(hosts_of(dir, 0), "web 1");
	CHECK_STR(hosts_of(dir, -1), "web 2");
	CHECK_STR(hosts_of(dir, -2), "ENOENT");
}

TEST(hosts_of_one_name_are_told_apart_by_their_time)
{
	const char *dir = make_directory();

	chunk_of(dir, "web", A, 1000);
	chunk_of(dir, "web", A, 1010);
	chunk_of(dir, "web", B, 1005);
	CHECK_STR(hosts_of(dir, 0), "web 2"); /* one after the other: perhaps two boots */
	chunk_of(dir, "web", B, 1010);
	CHECK_STR(hosts_of(dir, 0), "web@aaaaaaaa 2, web@bbbbbbbb 2");
	chunk_of(dir, "web", C, 900);
	CHECK_STR(hosts_of(dir, 0), "web@aaaaaaaa 2, web@bbbbbbbb 2");
}

TEST(a_boot_is_of_one_host_whatever_its_name)
{
	const char *dir = make_directory();

	chunk_of(dir, "localhost", A, 1000);
	chunk_of(dir, "web", A, 1001);
	CHECK_STR(hosts_of(dir, 0), "localhost 2");
}

TEST(a_boot_without_a_name_is_no_host)
{
	const char *dir = make_directory();

	chunk_of(dir, "web", A, 1000);
	chunk_of(dir, "", B, 1000);
	chunk_of(dir, "web", A, 1001);
	CHECK_STR(hosts_of(dir, 0), "web 2");
}

TEST(an_earlier_boot_is_for_one_host)
{
	const char *dir = make_directory();

	chunk_of(dir, "web", A, 1000);
	chunk_of(dir, "web", B, 2000);
	chunk_of(dir, "database", C, 1000);
	CHECK_STR(hosts_of(dir, -1), "EINVAL");
}

/* The boot is that of the latest chunk, whatever hosts there are. */
TEST(a_recording_is_of_one_host)
{
	const char *dir = make_directory();
	struct recording *recording;

	chunk_of(dir, "web", A, 1000);
	chunk_of(dir, "web", B, 1000);
	chunk_of(dir, "database", C, 2000);
	CHECK_EQ(recording_open(&recording, &dir, 1, NULL, NULL), 0);
	CHECK_STR(recording_info(recording)->host, "database");
	CHECK_EQ(recording_info(recording)->chunk_count, 1);
	recording_close(recording);
}

/* A host that was given a name is another one than that without it, and than that of another name.
 */
TEST(a_name_is_part_of_the_boot)
{
	char plain[CHUNK_BOOT_BYTES], same[CHUNK_BOOT_BYTES], a[CHUNK_BOOT_BYTES];
	char again[CHUNK_BOOT_BYTES], b[CHUNK_BOOT_BYTES];

	chunk_boot_read(plain);
	chunk_boot_named(same, NULL);
	chunk_boot_named(a, "a");
	chunk_boot_named(again, "a");
	chunk_boot_named(b, "b");
	CHECK_STR(same, plain);
	CHECK_STR(again, a);
	CHECK_EQ(strlen(a), 36);
	CHECK(strcmp(a, plain) != 0 && strcmp(a, b) != 0);
}

TEST_MAIN()
