/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of `fathom trace --all` for a large recording: 100 MB of compressed chunks are up to
 * 27 million records, for which 4 GiB of address space must suffice. Also checks how often it is
 * read.
 */
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/check.h"
#include "tests/unit/chunk/make.h"

#define RECORDS 1000000u
#define BYTES_EACH 150u
#define BYTES_ANYWAY ((rlim_t)64 << 20)

/* Runs the command with its output in `out` and a limit of its address space. Returns its status.
 */
static int run(const char *out, rlim_t bytes, char *const argv[])
{
	const struct rlimit limit = {bytes, bytes};
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || setrlimit(RLIMIT_AS, &limit))
			_exit(99);
		execv(getenv("FATHOM"), argv);
		_exit(98);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	return status;
}

static int fathom(const char *out, rlim_t bytes, const char *dir, const char *json)
{
	char *const argv[] = {"fathom", "trace", "--all", (char *)dir, (char *)json, NULL};

	return run(out, bytes, argv);
}

TEST(all_of_a_large_recording_fits_into_the_memory)
{
	const char *dir = make_directory();
	struct chunk_info info;

#ifdef __SANITIZE_ADDRESS__
	SKIP("sanitizers take all of the address space");
#endif
	make_chunk(dir, 1000, RECORDS, true, &info);
	CHECK_EQ(fathom("/dev/null", BYTES_ANYWAY + RECORDS * BYTES_EACH, dir, NULL), 0);
	CHECK_EQ(fathom("/dev/null", BYTES_ANYWAY + RECORDS * BYTES_EACH, dir, "--json"), 0);
}

TEST(too_little_memory_is_told_with_what_helps)
{
	const char *dir = make_directory();
	char said[256] = "";
	struct chunk_info info;
	int fd, status, saved = dup(STDERR_FILENO);

#ifdef __SANITIZE_ADDRESS__
	SKIP("sanitizers take all of the address space");
#endif
	make_chunk(dir, 1000, RECORDS, true, &info);
	fd = open(make_path(dir, "said"), O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && saved >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	status = fathom("/dev/null", BYTES_ANYWAY, dir, NULL);
	CHECK(dup2(saved, STDERR_FILENO) >= 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CHECK(pread(fd, said, sizeof(said) - 1, 0) > 0);
	CHECK(strstr(said, "--pid") && strchr(said, '\n') == said + strlen(said) - 1);
	close(fd);
	close(saved);
}

/* Counts how often the command closes the file that it read. */
static size_t times_read(const char *file, char *const argv[], int *status)
{
	_Alignas(struct inotify_event) char events[4096];
	int fd = inotify_init1(IN_NONBLOCK);
	size_t times = 0;
	ssize_t n;

	CHECK(fd >= 0 && inotify_add_watch(fd, file, IN_OPEN | IN_CLOSE_NOWRITE) >= 0);
	*status = run("/dev/null", RLIM_INFINITY, argv);
	n = read(fd, events, sizeof(events));
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const void *)(events + at);

		times += event->mask & IN_CLOSE_NOWRITE ? 1 : 0;
		at += (ssize_t)(sizeof(*event) + event->len);
	}
	close(fd);
	return times;
}

/* If the first reading finds no trace, there is no second one. */
TEST(where_no_trace_is_chosen_all_is_read_once)
{
	const char *dir = make_directory();
	char *const report[] = {"fathom", "report", "--json", (char *)dir, NULL};
	char *const choices[][2] = {
		{NULL}, {"--slowest", "2"}, {"--name", "any"}, {"--service", "any"}};
	struct chunk_info info;
	const char *file;
	int status;
	size_t once;

	make_chunk(dir, 1000, 100, true, &info);
	file = make_path(info.path, "cpu0.zst");
	once = times_read(file, report, &status);
	CHECK(once && status == 0);
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		char *const trace[] = {"fathom",      "trace",	     "--json", (char *)dir,
				       choices[i][0], choices[i][1], NULL};

		CHECK_EQ(times_read(file, trace, &status), once);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	}
}

TEST_MAIN()
