/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups that are named by their path, and what is made there while a recording begins. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/scope/cgroup_find.h"
#include "capture/state.h"
#include "programs.skel.h"
#include "tests/unit/capture/recording.h"

static char directory[256];
static const char *const named[] = {directory};

static const struct capture_options options = {.cgroups = named, .cgroup_count = 1};

static int ignore(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	(void)arg;
	(void)stream;
	(void)r;
	return 0;
}

static const struct capture_sink sink = {.record = ignore};

static void directory_remove(void)
{
	rmdir(directory);
}

/* A cgroup of a hierarchy that is there. */
static void directory_make(void)
{
	static const char *const mounts[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu",
					     "/sys/fs/cgroup"};

	need_root();
	if (!directory[0])
		atexit(directory_remove);
	directory_remove(); /* of the test before */
	for (size_t i = 0; i < sizeof(mounts) / sizeof(*mounts); i++) {
		struct cgroup_places found;

		snprintf(directory, sizeof(directory), "%s/fathom-unit-%d", mounts[i], getpid());
		if (cgroup_find(mounts[i], &found, NULL) == 0 && mkdir(directory, 0755) == 0)
			return;
	}
	SKIP("no cgroup can be made here");
}

/* How many cgroups are in scope, and whether what is at the path now is one. */
static size_t scope_count(struct capture *c, bool *has_it)
{
	int map = bpf_map__fd(c->programs->maps.scope_cgroups);
	struct cgroup_key key, *last = NULL;
	struct stat st;
	size_t count = 0;

	*has_it = false;
	for (; bpf_map_get_next_key(map, last, &key) == 0; last = &key) {
		count++;
		*has_it |= stat(directory, &st) == 0 && key.id == st.st_ino;
	}
	return count;
}

static void again(void)
{
	CHECK_EQ(rmdir(directory), 0);
	CHECK_EQ(mkdir(directory, 0755), 0);
}

/* No one tells the programs, which are not attached yet. */
TEST(made_again_before_the_programs_are_attached)
{
	struct capture *c = NULL;
	bool there;

	directory_make();
	CHECK_OK(capture_open(&options, &c, &failure));
	again();
	CHECK_OK(capture_start(c, 0, &sink, &failure));
	scope_count(c, &there);
	CHECK(there);
	capture_close(c);
}

/* Removed cgroups leave nothing in the map, however many there were. */
TEST(made_again_many_times)
{
	struct capture *c = NULL;
	bool there;

	directory_make();
	CHECK_OK(capture_open(&options, &c, &failure));
	CHECK_OK(capture_start(c, 0, &sink, &failure));
	for (int i = 0; i < 2000; i++)
		again();
	CHECK_EQ(scope_count(c, &there), 1);
	CHECK(there);
	CHECK_EQ(rmdir(directory), 0);
	CHECK_EQ(scope_count(c, &there), 0);
	CHECK_EQ(mkdir(directory, 0755), 0);
	CHECK_EQ(scope_count(c, &there), 1);
	CHECK(there);
	capture_close(c);
}

/* Only a recording that has begun waits for one to be made again. */
TEST(gone_before_the_programs_are_attached)
{
	struct capture *c = NULL;
	struct error e = {0};

	directory_make();
	CHECK_OK(capture_open(&options, &c, &failure));
	CHECK_EQ(rmdir(directory), 0);
	CHECK_EQ(capture_start(c, 0, &sink, &e), -ENOENT);
	CHECK(strstr(e.text, "there is no cgroup"));
	capture_close(c);
}

TEST_MAIN()
