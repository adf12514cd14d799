/* SPDX-License-Identifier: Apache-2.0 */
/* To attach and detach leaves nothing behind, in this process or in the kernel. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "capture/capture.h"
#include "tests/unit/check.h"

#define TIMES 100
#define WARM 5 /* what is made once is there then */

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

/* How many objects the kernel has, by one of bpf_prog_get_next_id() and its like. */
static unsigned int objects(int (*next)(u32, u32 *))
{
	unsigned int count = 0;
	u32 id = 0;

	while (next(id, &id) == 0)
		count++;
	return count;
}

struct held {
	size_t fds, threads, mappings, pages;
	unsigned int programs, maps, links;
};

static struct held held_now(void)
{
	return (struct held){entries("/proc/self/fd"),	    entries("/proc/self/task"),
			     lines("/proc/self/maps"),	    resident_pages(),
			     objects(bpf_prog_get_next_id), objects(bpf_map_get_next_id),
			     objects(bpf_link_get_next_id)};
}

/* The kernel frees them a while after their last user is gone. */
static struct held held_in_the_end(const struct held *before)
{
	struct held now = held_now();

	for (int i = 0; i < 100 && (now.programs > before->programs || now.maps > before->maps ||
				    now.links > before->links);
	     i++) {
		usleep(100000);
		now = held_now();
	}
	return now;
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

TEST(a_hundred_captures_leave_nothing)
{
	struct held before = {0}, after;

	if (geteuid() != 0)
		SKIP("recording needs root");
	for (int i = 0; i < TIMES; i++) {
		if (i == WARM)
			before = held_now();
		capture_once();
	}
	after = held_in_the_end(&before);
	CHECK_EQ(after.fds, before.fds);
	CHECK_EQ(after.threads, before.threads);
	CHECK(after.mappings <= before.mappings + 4); /* of malloc */
	CHECK(after.pages <= before.pages + (8u << 20) / (size_t)sysconf(_SC_PAGESIZE));
	CHECK(after.programs <= before.programs);
	CHECK(after.maps <= before.maps);
	CHECK(after.links <= before.links);
}

TEST_MAIN()
