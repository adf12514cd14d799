/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop in a cgroup that may use 20 ms of CPU in each 100: throttled, as the
 * cgroup counts it. wait_ns holds that time too, the kernel counts it there.
 */
#include <sys/stat.h>

#include "tests/truth/truth.h"

/* The two versions of the controller: where it is mounted, what its files are called. */
struct controller {
	const char *mount, *quota_file, *quota, *period_file, *period, *throttled;
	int64_t throttled_unit_ns;
};

static const struct controller controllers[] = {
	{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "20000", "cpu.cfs_period_us", "100000",
	 "throttled_time", 1},
	{"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "20000", "cpu.cfs_period_us", "100000",
	 "throttled_time", 1},
	{"/sys/fs/cgroup", "cpu.max", "20000 100000", NULL, NULL, "throttled_usec", 1000},
};

static const struct controller *controller;
static char group[128];

static int file_write(const char *name, const char *text)
{
	char path[256];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static int64_t throttled_ns(void)
{
	char path[256], name[64];
	long long value, found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/cpu.stat", group);
	file = fopen(path, "re");
	while (file && fscanf(file, "%63s %lld", name, &value) == 2)
		if (!strcmp(name, controller->throttled))
			found = value;
	if (file)
		fclose(file);
	return found * controller->throttled_unit_ns;
}

/* Makes the group with its quota; 0 or a negative errno. */
static int group_make(const struct controller *of)
{
	int err;

	controller = of;
	snprintf(group, sizeof(group), "%s/truth-%d", of->mount, getpid());
	if (mkdir(group, 0755))
		return -errno;
	err = of->period_file ? file_write(of->period_file, of->period) : 0;
	if (!err)
		err = file_write(of->quota_file, of->quota);
	if (err)
		rmdir(group);
	return err;
}

/* It reads the counter while it runs, so no throttling is cut in two. */
static void loop_under_quota(void)
{
	struct truth truth;
	int64_t before;

	truth_begin(&truth, "quota", "loop under a CPU quota");
	before = throttled_ns();
	busy_until(truth_now() + 1000 * MS);
	truth_end(&truth, "throttled", throttled_ns() - before);
}

int main(void)
{
	int err = -ENOENT;
	pid_t child;

	for (size_t i = 0; err && i < sizeof(controllers) / sizeof(controllers[0]); i++)
		err = group_make(&controllers[i]);
	if (err)
		TRUTH_SKIP("no cgroup with a CPU quota can be made: %s", strerror(-err));
	child = fork();
	if (!child) {
		err = file_write("cgroup.procs", "0");
		if (!err)
			loop_under_quota();
		_exit(err ? 77 : 0);
	}
	waitpid(child, &err, 0);
	rmdir(group);
	return WIFEXITED(err) ? WEXITSTATUS(err) : 1;
}
