/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To attach and detach leaves nothing behind in this process; tests/e2e/traps/attach.py looks at
 * the kernel.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/capture.h"
#include "tests/unit/check.h"

#define TIMES 16
#define WARM 4 /* what is made once is there then */

static size_t entries(const char *path)
{
	DIR *d = opendir(path);
	size_t count = 0;

	CHECK(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

static size_t lines(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t count = 0;
	int c;

	CHECK(f);
	while ((c = getc(f)) != EOF)
		count += c == '\n';
	fclose(f);
	return count;
}

static size_t resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long total, resident = 0;

	CHECK(f && fscanf(f, "%lu %lu", &total, &resident) == 2);
	fclose(f);
	return resident;
}

struct held {
	size_t fds, threads, mappings, pages;
};

static struct held held_now(void)
{
	return (struct held){entries("/proc/self/fd"), entries("/proc/self/task"),
			     lines("/proc/self/maps"), resident_pages()};
}

static int ignore(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	++*(size_t *)arg;
	return 0;
}

static void capture_once(void)
{
	struct capture_options options = {.host = true, .stacks_min_ns = 1000000000};
	size_t records = 0;
	struct capture_sink sink = {.arg = &records, .record = ignore};
	struct capture *c = NULL;
	struct error e = {0};
	u64 cut;

	CHECK_EQ(capture_open(&options, &c, &e), 0);
	CHECK_EQ(capture_start(c, 0, &sink, &e), 0);
	CHECK_EQ(capture_poll(c, &sink), 0);
	CHECK(capture_cut(c, &sink, &cut) >= 0);
	CHECK(records > 0);
	capture_close(c);
}

TEST(captures_leave_nothing)
{
	struct held before = {0}, middle = {0}, after;
	size_t early, late;

	if (geteuid() != 0)
		SKIP("recording needs root");
	for (int i = 0; i < TIMES; i++) {
		if (i == WARM)
			before = held_now();
		if (i == (WARM + TIMES) / 2)
			middle = held_now();
		capture_once();
	}
	after = held_now();
	CHECK_EQ(after.fds, before.fds);
	CHECK_EQ(after.threads, before.threads);
	CHECK(after.mappings <= before.mappings + 4); /* of malloc */
	/* malloc takes more now and then; what leaks is more each time */
	early = middle.pages > before.pages ? middle.pages - before.pages : 0;
	late = after.pages > middle.pages ? after.pages - middle.pages : 0;
	printf("# grown by %zu and %zu pages\n", early, late);
	CHECK((early < late ? early : late) <= (1u << 19) / (size_t)sysconf(_SC_PAGESIZE));
}

TEST_MAIN()
