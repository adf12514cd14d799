/* SPDX-License-Identifier: Apache-2.0 */
/* Partial files answer as the recordings do of whose chunks they are. */
#include "answer/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "answer/json.h"
#include "answer/map_chunks.h"
#include "answer/report.h"
#include "answer/sources.h"
#include "tests/unit/answer/recordings.h"
#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

static char told[4096];

static void line_keep(void *arg, const char *line)
{
	size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, "%s\n", line);
}

static int text_write(void *arg, const char *data, size_t bytes)
{
	return fwrite(data, 1, bytes, arg) == bytes ? 0 : -EIO;
}

static int load(const char *const *paths, size_t count, struct sources *s, struct error *e)
{
	const struct source_options o = {.dirs = paths,
					 .dirs_count = count,
					 .threads = 2,
					 .spans = true,
					 .notice = {.tell = line_keep}};

	told[0] = '\0';
	return sources_load(&o, s, e);
}

static void report_add(FILE *to, const struct sources *s, const char *by)
{
	const struct report_choice choice = {.by = by};
	const struct json_sink sink = {text_write, to};
	struct rows rows = {0};
	struct report report;
	struct json json;

	CHECK_EQ(report_make(&report, &rows, s, &choice), 0);
	json_init(&json, &sink);
	report_write_json(&json, &report);
	CHECK_EQ(json_end(&json), 0);
	rows_free(&rows);
}

/* The reports of what these paths name, as JSON. */
static char *reports_of(const char *const *paths, size_t count)
{
	static const char *const bys[] = {"thread", "syscall", "cause", "file"};
	struct error e = {0};
	struct sources s;
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);

	if (load(paths, count, &s, &e))
		CHECK_FAIL("%s", e.text);
	for (size_t i = 0; i < 4; i++)
		report_add(to, &s, bys[i]);
	fclose(to);
	sources_free(&s);
	return text;
}

static void check_same(const char *const *one, size_t ones, const char *const *other, size_t others)
{
	char *a = reports_of(one, ones), *b = reports_of(other, others);

	CHECK_STR(b, a);
	free(a);
	free(b);
}

static const char *file_name(int number)
{
	static char names[16][4096];

	snprintf(names[number], sizeof(names[number]), "%s/%d", make_directory(), number);
	return names[number];
}

/* Maps what the paths name into a new file. */
static const char *map_of(const char *const *paths, size_t count, int number)
{
	const struct source_options o = {.dirs = paths,
					 .dirs_count = count,
					 .threads = 2,
					 .spans = true,
					 .notice = {.tell = line_keep}};
	const char *name = file_name(number);
	struct partial_file *file = NULL;
	struct error e = {0};

	told[0] = '\0';
	if (chunks_map_to_file(&o, &file, &e) || partial_file_write(file, name, &e))
		CHECK_FAIL("%s", e.text);
	partial_file_free(file);
	return name;
}

static const char *chunk_of(const char *dir, size_t at)
{
	static char paths[16][4096];

	chunk_path(dir, at, paths[at]);
	return paths[at];
}

/* Chunks of 10 ms, with a gap before each third one. */
static const char *chunks_make(size_t count)
{
	const char *dir = make_directory();

	for (u64 i = 0; i < count; i++) {
		u64 begin_ns = (1000 + 10 * i + 5 * (i / 3)) * MS;

		chunk_write(dir, begin_ns, begin_ns + 10 * MS, i % 4 ? "" : "named",
			    (u32)(7 + i % 3));
	}
	return dir;
}

TEST(a_file_of_a_recording_answers_as_it_does)
{
	const char *dir = chunks_make(8), *file = map_of(&dir, 1, 0);

	check_same(&dir, 1, &file, 1);
}

TEST(files_of_single_chunks_answer_as_their_recording)
{
	const char *dir = chunks_make(6), *files[6];

	for (size_t i = 0; i < 6; i++) {
		const char *chunk = chunk_of(dir, i);

		files[5 - i] = map_of(&chunk, 1, (int)i);
	}
	check_same(&dir, 1, files, 6);
}

TEST(a_file_and_a_recording_join)
{
	const char *dir = chunks_make(4), *both[4];

	both[0] = chunk_of(dir, 3);
	both[1] = chunk_of(dir, 1);
	both[0] = map_of(both, 2, 0);
	both[1] = chunk_of(dir, 0);
	both[2] = chunk_of(dir, 2);
	check_same(&dir, 1, both, 3);
}

TEST(a_file_has_the_checkpoint_of_its_recording)
{
	const char *dir = chunks_make(5), *file;

	first_is_absorbed(dir, true);
	file = map_of(&dir, 1, 0);
	check_same(&dir, 1, &file, 1);
}

TEST(a_chunk_that_a_checkpoint_stands_for_is_left_out)
{
	const char *dir = chunks_make(5), *file;

	first_is_absorbed(dir, false);
	file = map_of(&dir, 1, 0);
	check_same(&dir, 1, &file, 1);
}

/* Overwrites what its stream of a CPU ends with. */
static void chunk_damage(const char *dir, size_t at)
{
	char path[4200];
	off_t end;
	int fd;

	snprintf(path, sizeof(path), "%s/cpu0", chunk_of(dir, at));
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0);
	end = lseek(fd, 0, SEEK_END);
	CHECK_EQ(pwrite(fd, "damaged", 7, end - 20), 7);
	close(fd);
}

TEST(what_is_damaged_counts)
{
	const char *dir = chunks_make(4), *file;

	chunk_damage(dir, 1);
	file = map_of(&dir, 1, 0);
	CHECK(strstr(told, "cpu0"));
	check_same(&dir, 1, &file, 1);
	CHECK_STR(told, ""); /* whoever mapped it was told */
}

TEST(a_chunk_that_goes_meanwhile_is_in_the_checkpoint)
{
	const char *dir = chunks_make(5), *file;

	first_goes_when_read(dir, 1);
	file = map_of(&dir, 1, 0);
	CHECK_EQ(first_goes_left(), 0);
	check_same(&dir, 1, &file, 1);
}

TEST(a_range_is_chosen_when_chunks_are_mapped)
{
	const char *dir = chunks_make(5), *name = file_name(0);
	struct source_options o = {.dirs = &dir,
				   .dirs_count = 1,
				   .threads = 2,
				   .spans = true,
				   .from = {TIME_POINT_MONOTONIC, 1012 * MS},
				   .to = {TIME_POINT_SINCE_BEGIN, 37 * MS}};
	struct partial_file *file = NULL;
	struct error e = {0};
	struct sources direct, by_file;

	CHECK_EQ(chunks_map_to_file(&o, &file, &e), 0);
	CHECK_EQ(partial_file_write(file, name, &e), 0);
	partial_file_free(file);
	CHECK_EQ(sources_load(&o, &direct, &e), 0);
	CHECK_EQ(load(&name, 1, &by_file, &e), 0);
	CHECK_EQ(by_file.list.data[0]->from_ns, direct.list.data[0]->from_ns);
	CHECK_EQ(by_file.list.data[0]->to_ns, direct.list.data[0]->to_ns);
	CHECK_EQ(by_file.list.data[0]->recorded_ns, direct.list.data[0]->recorded_ns);
	CHECK_EQ(by_file.view.gaps_count, direct.view.gaps_count);
	CHECK_EQ(kspans_count(&by_file.list.data[0]->partial->kspans),
		 kspans_count(&direct.list.data[0]->partial->kspans));
	sources_free(&direct);
	sources_free(&by_file);
	o.dirs = &name;
	CHECK_EQ(sources_load(&o, &by_file, &e), -EINVAL);
	CHECK(strstr(e.text, "--from and --to to 'fathom map'"));
	sources_free(&by_file);
}

TEST(the_latest_boot_answers)
{
	const char *dir = chunks_make(2), *other, *files[2];
	struct sources s;
	struct error e = {0};

	chunk_boot = "00000000-0000-0000-0000-00000000000a";
	chunk_clock_ns += 3600 * 1000 * MS;
	other = chunks_make(3);
	files[0] = map_of(&other, 1, 0);
	files[1] = map_of(&dir, 1, 1);
	CHECK_EQ(load(files, 2, &s, &e), 0);
	CHECK_STR(s.list.data[0]->boot_id, chunk_boot);
	sources_free(&s);
	chunk_boot = BOOT;
	chunk_clock_ns -= 3600 * 1000 * MS;
	check_same(&other, 1, files, 2);
}

TEST(a_range_outside_of_a_recording_is_refused)
{
	const char *dir = chunks_make(2), *chunk = chunk_of(dir, 0);
	struct source_options o = {.dirs = &dir,
				   .dirs_count = 1,
				   .threads = 1,
				   .from = {TIME_POINT_MONOTONIC, 5000 * MS}};
	struct partial_file *file = NULL, *more = NULL;

	CHECK_EQ(chunks_map_to_file(&o, &file, NULL), -ERANGE);
	o.dirs = &chunk; /* as where chunks are mapped one by one */
	CHECK_EQ(chunks_map_to_file(&o, &file, NULL), 0);
	o.dirs = &dir;
	o.from.kind = TIME_POINT_NONE;
	CHECK_EQ(chunks_map_alike(&o, &file->terms, &more, NULL), 0);
	CHECK_EQ(more->terms.from_ns, 5000 * MS);
	partial_file_free(file);
	partial_file_free(more);
}

TEST(an_illegible_chunk_counts_once_for_all_hosts)
{
	const char *const boot = chunk_boot, *const host = chunk_host, *name = file_name(0);
	const char *dirs[2] = {chunks_make(2)};
	const struct source_options o = {.dirs = dirs, .dirs_count = 2, .threads = 1};
	struct partial_file *file = NULL;
	struct sources s;

	chunk_boot = "00000000-0000-0000-0000-00000000000a";
	chunk_host = "other";
	dirs[1] = chunks_make(2);
	chunk_boot = boot;
	chunk_host = host;
	CHECK_EQ(chunks_map_to_file(&o, &file, NULL), 0);
	file->illegible = 1;
	CHECK_EQ(partial_file_write(file, name, NULL), 0);
	partial_file_free(file);
	CHECK_EQ(load(&name, 1, &s, NULL), 0);
	CHECK_EQ(s.list.count, 2);
	CHECK_EQ(s.view.lost.damaged, 1);
	sources_free(&s);
}

TEST(an_earlier_boot_is_of_files_alone)
{
	const char *dir = chunks_make(2), *paths[] = {map_of(&dir, 1, 0), dir};
	const struct source_options o = {.dirs = paths, .dirs_count = 2, .boot = -1};
	struct sources s;
	struct error e = {0};

	CHECK_EQ(sources_load(&o, &s, &e), -EINVAL);
	CHECK(e.misuse);
	CHECK(strstr(e.text, dir) != NULL);
	sources_free(&s);
}

TEST(what_lacks_kernel_spans_says_so)
{
	const char *dir = chunks_make(2), *name = file_name(0);
	const struct source_options o = {.dirs = &dir, .dirs_count = 1, .threads = 1};
	struct partial_file *file = NULL;
	struct error e = {0};
	struct sources s;

	CHECK_EQ(chunks_map_to_file(&o, &file, &e), 0);
	CHECK_EQ(partial_file_write(file, name, &e), 0);
	partial_file_free(file);
	CHECK_EQ(load(&name, 1, &s, &e), 0);
	CHECK(s.list.data[0]->lacks_spans);
	CHECK_EQ(kspans_count(&s.list.data[0]->partial->kspans), 0);
	sources_free(&s);
}

TEST(a_file_that_cannot_be_joined_is_named)
{
	const char *dir = chunks_make(3), *two[2], *files[2];
	struct error e = {0};
	struct sources s;

	two[0] = chunk_of(dir, 0);
	two[1] = chunk_of(dir, 1);
	files[0] = map_of(two, 2, 0);
	two[0] = chunk_of(dir, 2);
	files[1] = map_of(two, 2, 1);
	CHECK_EQ(load(files, 2, &s, &e), -EEXIST);
	CHECK(strstr(e.text, files[1]) && strstr(e.text, "share the chunk"));
	sources_free(&s);
}

TEST_MAIN()
