/* SPDX-License-Identifier: Apache-2.0 */
/* Which cgroups a path names. */
#include "capture/scope/cgroup_find.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/check.h"

/* The mount of the first hierarchy that can be followed. */
static bool mount_first(char *path, size_t size, struct cgroup_places *found)
{
	FILE *file = setmntent("/proc/self/mounts", "re");
	struct mntent *mount;
	bool is = false;

	CHECK(file);
	while (!is && (mount = getmntent(file))) {
		if (strncmp(mount->mnt_type, "cgroup", 6) != 0)
			continue;
		snprintf(path, size, "%s", mount->mnt_dir);
		is = cgroup_find(path, found, NULL) == 0;
	}
	endmntent(file);
	return is;
}

TEST(directory_is_one_cgroup)
{
	struct cgroup_places found;
	struct stat st;
	char path[256];

	if (!mount_first(path, sizeof(path), &found))
		SKIP("no cgroups");
	CHECK_EQ(found.count, 1);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(found.list[0].key.id, st.st_ino);
	CHECK(found.list[0].key.hierarchy <= 12);
	CHECK_STR(found.list[0].mount, "");
}

/* The root is there in each hierarchy: each with its mount, and once. */
TEST(path_below_mounts_is_one_in_each)
{
	struct cgroup_places found;
	char path[256];

	if (!mount_first(path, sizeof(path), &found))
		SKIP("no cgroups");
	CHECK_EQ(cgroup_find(".", &found, NULL), 0);
	CHECK(found.count >= 1 && found.count <= CGROUP_PLACES);
	for (size_t i = 0; i < found.count; i++) {
		struct stat st;

		CHECK_EQ(stat(found.list[i].mount, &st), 0);
		CHECK_EQ(found.list[i].key.id, st.st_ino);
		for (size_t k = 0; k < i; k++)
			CHECK(memcmp(&found.list[i].key, &found.list[k].key,
				     sizeof(found.list[i].key)) != 0);
	}
}

TEST(what_is_none_is_said)
{
	static const char *const none[] = {"no/such", "/no/such", "/proc", "/etc/passwd"};
	struct cgroup_places found = {.count = 7};

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		struct error e = {0};

		CHECK_EQ(cgroup_find(none[i], &found, &e), -ENOENT);
		CHECK(strstr(e.text, none[i]) && strstr(e.text, "there is no cgroup"));
		CHECK_EQ(found.count, 7);
	}
}

TEST_MAIN()
