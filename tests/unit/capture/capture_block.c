/* SPDX-License-Identifier: Apache-2.0 */
/* Records writes to a disk while what is known of block I/O is not as it should be. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/internal.h"
#include "programs.skel.h"
#include "tests/unit/capture/recording.h"

#define DISK_WRITES 16

static int disk_open(void)
{
	char path[] = "/var/tmp/fathom-disk-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	if (fallocate(fd, 0, 0, 1 << 20) || fcntl(fd, F_SETFL, O_DIRECT))
		return -1;
	return fd;
}

/* 16 writes to the disk, each a request of its own. */
static int disk_write(int fd)
{
	void *block = aligned_alloc(4096, 4096);
	int failed = 0;

	memset(block, 1, 4096);
	for (int i = 0; i < DISK_WRITES; i++)
		failed |= pwrite(fd, block, 4096, i * 65536) != 4096;
	free(block);
	return failed ? 77 : 0;
}

static int truth_disk(void)
{
	int fd = disk_open();

	return fd < 0 ? 77 : disk_write(fd);
}

/* As if so much were under way on the disks: how many there is room for. */
static u64 map_fill(int map, bool count_only)
{
	static char value[1024];
	u64 there = 0;

	for (u64 key = 1; key <= 16384; key++) {
		if (count_only)
			there += bpf_map_lookup_elem(map, &key, value) == 0;
		else
			there += bpf_map_update_elem(map, &key, value, BPF_ANY) == 0;
	}
	return there;
}

static void disk_recorded_with_full(bool bios)
{
	char *argv[] = TRUTH_COMMAND("disk");
	struct capture_options options = {0};
	struct seen s = {0};
	struct capture_sink sink = {&s, seen_record, seen_lost};
	int map, status;
	u64 others;

	recording_begin(&s.c, &options, &sink, argv);
	map = bpf_map__fd(bios ? s.c->programs->maps.block_bios
			       : s.c->programs->maps.block_requests);
	others = map_fill(map, false);
	CHECK(others > 10000);
	CHECK_OK(capture_release(s.c, &failure));
	status = recording_end(s.c, &sink, capture_child(s.c));
	CHECK_EQ(map_fill(map, true), others);
	capture_close(s.c);
	if (WEXITSTATUS(status) == 77)
		SKIP("no direct writes to a disk here");
	CHECK_EQ(status, 0);
	CHECK(s.written + s.lost >= DISK_WRITES);
	CHECK(s.lost > 0);
}

/* What is under way is never thrown out, and what there is no room for is counted. */
TEST(a_request_without_room_is_counted)
{
	need_root();
	disk_recorded_with_full(false);
	disk_recorded_with_full(true);
}

static const struct truth truths[] = {
	{"disk", truth_disk},
	{NULL, NULL},
};

int main(int argc, char **argv)
{
	return truth_main(truths, argc, argv);
}
