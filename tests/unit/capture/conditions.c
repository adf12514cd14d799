/* SPDX-License-Identifier: Apache-2.0 */
/* The steal time of each CPU is told from its first reading on. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/capture/recording.h"

#define SECOND_NS 1000000000u
#define CPUS 4

static char stat_path[] = "/tmp/fathom-stat-XXXXXX";

struct told {
	u64 count, steal_ns, first_begin_ns;
};

static int steal_see(void *arg, const struct capture_stream *stream, const struct record_head *r)
{
	const struct record_steal *steal = (const void *)r;
	struct told *told = arg;

	(void)stream;
	if (r->kind != RECORD_steal || steal->of_cpu >= CPUS)
		return 0;
	told += steal->of_cpu;
	if (!told->count++)
		told->first_begin_ns = steal->begin_ns;
	told->steal_ns += steal->steal_ns;
	return 0;
}

static int lost_see(void *arg, const struct capture_stream *stream, const struct record_lost *lost)
{
	(void)arg, (void)stream, (void)lost;
	return 0;
}

/* /proc/stat as we see it: seconds that were taken from each CPU, negative: there is no such CPU.
 */
static void stat_write(const int *steal)
{
	long ticks = sysconf(_SC_CLK_TCK);
	FILE *file = fopen(stat_path, "w");

	CHECK(file);
	fprintf(file, "cpu  0 0 0 0 0 0 0 0 0 0\n");
	for (int i = 0; i < CPUS; i++) {
		if (steal[i] >= 0)
			fprintf(file, "cpu%d 0 0 0 0 0 0 0 %ld 0 0\n", i, steal[i] * ticks);
	}
	CHECK_EQ(fclose(file), 0);
}

static void stat_replace(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespace here");
	close(mkstemp(stat_path));
	stat_write((const int[CPUS]){-1, -1, -1, -1});
	CHECK_EQ(mount(stat_path, "/proc/stat", NULL, MS_BIND, NULL), 0);
}

TEST(a_cpu_that_comes_late_begins_there)
{
	static const int first[CPUS] = {-1, 5, -1, 9}, second[CPUS] = {7, 6, -1, 9},
			 third[CPUS] = {8, 6, 1, 9};
	char *argv[] = {"/bin/true", NULL};
	struct capture_options options = {0};
	struct told told[CPUS] = {0};
	struct capture_sink sink = {told, steal_see, lost_see};
	struct capture *c;
	u64 cut, came_ns;

	need_root();
	stat_replace();
	recording_begin(&c, &options, &sink, argv);
	stat_write(first);
	CHECK_OK(capture_cut(c, &sink, &cut));
	CHECK_OK(capture_cut(c, &sink, &cut));
	came_ns = clock_now_ns();
	stat_write(second);
	CHECK_OK(capture_cut(c, &sink, &cut));
	stat_write(third);
	CHECK_OK(capture_cut(c, &sink, &cut));
	CHECK_OK(capture_cut(c, &sink, &cut));
	capture_stop(c);
	CHECK_OK(capture_cut(c, &sink, &cut));
	umount("/proc/stat");
	unlink(stat_path);
	capture_close(c);

	CHECK_EQ(told[0].steal_ns, SECOND_NS);
	CHECK(told[0].first_begin_ns >= came_ns);
	CHECK_EQ(told[1].steal_ns, SECOND_NS);
	CHECK(told[1].first_begin_ns < came_ns);
	CHECK_EQ(told[2].steal_ns, 0);
	CHECK(told[2].first_begin_ns >= came_ns);
	CHECK_EQ(told[3].steal_ns, 0);
	CHECK(told[3].count >= 3);
}

TEST_MAIN()
