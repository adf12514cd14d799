/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of several hosts: each with its own threads and clock. */
#include "answer/sources.h"

#include <errno.h>
#include <string.h>

#include "answer/json.h"
#include "answer/report.h"
#include "tests/unit/answer/recordings.h"
#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

#define WEB_BOOT "11111111-0000-0000-0000-000000000001"
#define DATABASE_BOOT "22222222-0000-0000-0000-000000000002"
#define UNIX_NS 1700000000000000000ull /* 1000 ms of the monotonic clock of both */
#define AHEAD_NS 3600000000000ull      /* the clock of the database is ahead of that of the web */

static const char *web, *database;

/*
 * Two hosts record the same 20 ms; thread 7 of both sleeps from 2 ms on. The monotonic clock of the
 * database says an hour more. Behind a gap the web goes on for 10 ms.
 */
static void hosts_make(void)
{
	web = make_directory();
	database = make_directory();
	chunk_host = "web";
	chunk_boot = WEB_BOOT;
	chunk_clock_ns = UNIX_NS - 1000 * MS;
	chunk_write(web, 1000 * MS, 1010 * MS, "server", 7);
	chunk_write(web, 1010 * MS, 1020 * MS, "", 8);
	chunk_write(web, 1030 * MS, 1040 * MS, "", 9);
	chunk_host = "database";
	chunk_boot = DATABASE_BOOT;
	chunk_clock_ns = UNIX_NS - 1000 * MS - AHEAD_NS;
	chunk_write(database, AHEAD_NS + 1000 * MS, AHEAD_NS + 1010 * MS, "postgres", 7);
	chunk_write(database, AHEAD_NS + 1010 * MS, AHEAD_NS + 1020 * MS, "", 7);
}

static void both_load(struct sources *sources, struct time_point from, struct time_point to)
{
	const char *const dirs[] = {web, database};
	const struct source_options o = {.dirs = dirs, .dirs_count = 2, .from = from, .to = to};
	struct error e = {0};

	if (sources_load(&o, sources, &e))
		CHECK_FAIL("%s", e.text);
}

static const struct time_point everything = {0};

static struct time_point unix_ms(u64 ms)
{
	return (struct time_point){TIME_POINT_UNIX, UNIX_NS + ms * MS};
}

TEST(each_host_has_its_own_threads)
{
	struct sources sources;

	hosts_make();
	both_load(&sources, everything, everything);
	CHECK(sources.several);
	CHECK_EQ(sources.list.count, 2);
	CHECK_STR(sources.list.data[0]->host, "database");
	CHECK_STR(sources.list.data[1]->host, "web");
	CHECK_EQ(sources.list.data[0]->partial->lives.count, 1);
	CHECK_EQ(sources.list.data[1]->partial->lives.count, 3);
	CHECK_EQ(sources.list.data[0]->from_ns, AHEAD_NS + 1000 * MS);
	CHECK_EQ(sources.list.data[1]->from_ns, 1000 * MS);
	CHECK_EQ(sources.view.gaps_count, 1);
	CHECK_STR(sources.view.gaps[0].host, "web");
	CHECK_EQ(sources.view.gaps[0].from_ns, 1020 * MS);
	CHECK_EQ(sources.view.clocks_count, 5);
	CHECK_STR(sources.view.clocks[0].host, "database");
	CHECK_STR(sources.view.clocks[0].boot_id, DATABASE_BOOT);
	CHECK_STR(sources.view.clocks[4].host, "web");
	sources_free(&sources);
}

/* Names of two hosts stay separate. */
TEST(rows_tell_their_host)
{
	const struct report_choice choice = {.by = "syscall", .sort = "key"};
	struct sources sources;
	struct rows rows;
	struct report report;
	size_t getpid = 0;

	hosts_make();
	both_load(&sources, everything, everything);
	CHECK_EQ(report_make(&report, &rows, &sources, &choice), 0);
	CHECK_EQ(report.hosts, 2);
	for (size_t i = 0; i < report.rows_count; i++) {
		CHECK(report.rows[i].host);
		if (strcmp(report.rows[i].key, "getpid") != 0)
			continue;
		CHECK_STR(report.rows[i].host, getpid++ ? "web" : "database");
		CHECK_EQ(report.rows[i].count, getpid == 1 ? 2 : 3);
	}
	CHECK_EQ(getpid, 2);
	rows_free(&rows);
	sources_free(&sources);
}

static int text_keep(void *arg, const char *bytes, size_t count)
{
	strncat(arg, bytes, count);
	return 0;
}

TEST(the_document_has_no_range_of_its_own)
{
	static char text[65536];
	const struct report_choice choice = {.by = "process"};
	struct sources sources;
	struct rows rows;
	struct report report;
	struct json json;

	hosts_make();
	both_load(&sources, everything, everything);
	CHECK_EQ(report_make(&report, &rows, &sources, &choice), 0);
	text[0] = '\0';
	json_init(&json, &(struct json_sink){text_keep, text});
	report_write_json(&json, &report);
	CHECK(strncmp(text, "{\"schema\":1,\"clock\":[{\"host\":\"database\",", 40) == 0);
	CHECK(strstr(text, "\"gaps\":[{\"host\":\"web\",\"from_ns\":1020000000,"));
	CHECK(strstr(text,
		     "{\"key\":\"postgres\",\"host\":\"database\",\"process\":\"postgres\","));
	rows_free(&rows);
	sources_free(&sources);
}

/* Cut at the same instant, whatever the monotonic clocks say. */
TEST(a_range_is_unix_time)
{
	struct sources sources;

	hosts_make();
	both_load(&sources, unix_ms(5), unix_ms(15));
	CHECK_EQ(sources.list.data[0]->from_ns, AHEAD_NS + 1005 * MS);
	CHECK_EQ(sources.list.data[0]->to_ns, AHEAD_NS + 1015 * MS);
	CHECK_EQ(sources.list.data[1]->from_ns, 1005 * MS);
	CHECK_EQ(sources.list.data[1]->to_ns, 1015 * MS);
	CHECK_EQ(sources.list.data[0]->recorded_ns, 10 * MS);
	CHECK_EQ(sources.view.gaps_count, 0);
	sources_free(&sources);
	both_load(&sources, unix_ms(32), everything); /* only one recorded so long */
	CHECK(sources.several);
	CHECK_EQ(sources.list.count, 1);
	CHECK_STR(sources_host(&sources, sources.list.data[0]), "web");
	sources_free(&sources);
}

TEST(other_ranges_are_refused)
{
	static const struct time_point points[] = {{TIME_POINT_MONOTONIC, 1005 * MS},
						   {TIME_POINT_SINCE_BEGIN, 5 * MS}};

	hosts_make();
	for (int i = 0; i < 4; i++) {
		const char *const dirs[] = {web, database};
		struct source_options o = {.dirs = dirs, .dirs_count = 2};
		struct sources sources;
		struct error e = {0};

		*(i < 2 ? &o.from : &o.to) = points[i % 2];
		CHECK_EQ(sources_load(&o, &sources, &e), -EINVAL);
		CHECK(e.misuse);
		CHECK(strstr(e.text, "2 hosts (database, web)"));
		sources_free(&sources);
		o.dirs_count = 1;
		CHECK_EQ(sources_load(&o, &sources, NULL), 0);
		CHECK(!sources.several);
		CHECK(!sources_host(&sources, sources.list.data[0]));
		sources_free(&sources);
	}
}

TEST(a_range_that_no_host_recorded_is_refused)
{
	const char *dirs[2];
	struct source_options o = {.dirs = dirs, .dirs_count = 2, .from = unix_ms(5000)};
	struct sources sources;
	struct error e = {0};

	hosts_make();
	dirs[0] = web;
	dirs[1] = database;
	CHECK_EQ(sources_load(&o, &sources, &e), -ERANGE);
	CHECK_STR(e.text, "the range is outside of the recordings of all 2 hosts");
	sources_free(&sources);
}

/* On one host Unix time is as good as any other. */
TEST(unix_time_on_one_host)
{
	struct source_options o = {.dirs_count = 1, .from = unix_ms(5), .to = unix_ms(35)};
	struct sources sources;

	hosts_make();
	o.dirs = &web;
	CHECK_EQ(sources_load(&o, &sources, NULL), 0);
	CHECK_EQ(sources.list.data[0]->from_ns, 1005 * MS);
	CHECK_EQ(sources.list.data[0]->to_ns, 1035 * MS);
	CHECK(!sources.view.gaps[0].host);
	sources_free(&sources);
}

/* The checkpoint of a directory is that of its host. */
TEST(each_host_begins_with_its_checkpoint)
{
	struct sources sources;

	hosts_make();
	first_goes(web);
	first_goes(database);
	both_load(&sources, everything, everything);
	CHECK_EQ(sources.list.data[0]->from_ns, AHEAD_NS + 1010 * MS);
	CHECK_EQ(sources.list.data[1]->from_ns, 1010 * MS);
	CHECK_EQ(sources.list.data[0]->partial->lives.count, 1);
	CHECK_EQ(sources.list.data[0]->partial->facts.names.count, 1);
	CHECK_STR(sources.list.data[0]->partial->facts.names.data[0].comm, "postgres");
	CHECK_STR(sources.list.data[1]->partial->facts.names.data[0].comm, "server");
	sources_free(&sources);
}

TEST_MAIN()
