/* SPDX-License-Identifier: Apache-2.0 */
/* Starts programs that publish contexts (publisher/main.c) and talks to them. */
#ifndef TESTS_UNIT_CAPTURE_CONTEXT_PUBLISHER_H
#define TESTS_UNIT_CAPTURE_CONTEXT_PUBLISHER_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/check.h"

struct publisher {
	pid_t pid;
	FILE *to, *from;
};

static struct publisher publisher; /* the running one; ended by the next start */

static inline void publisher_path(const char *name, char *path)
{
	const char *folder = getenv("PUBLISHERS");

	int len = snprintf(path, PATH_MAX, "%s/%s", folder ? folder : ".", name);

	CHECK(len < PATH_MAX);
	if (access(path, R_OK))
		SKIP("%s was not built: no compiler for it", name);
}

static inline void publisher_end(void)
{
	if (!publisher.pid)
		return;
	fclose(publisher.to);
	fclose(publisher.from);
	kill(publisher.pid, SIGKILL);
	waitpid(publisher.pid, NULL, 0);
	publisher.pid = 0;
}

/* Its answer to the last line: the number of a thread or process. */
static inline int publisher_answer(void)
{
	char line[64];
	int number;

	if (!fgets(line, sizeof(line), publisher.from) || sscanf(line, "done %d", &number) != 1)
		CHECK_FAIL("the publisher does not answer");
	return number;
}

static inline void publisher_start(const char *path)
{
	int to[2], from[2];

	publisher_end();
	signal(SIGPIPE, SIG_IGN);
	CHECK(!pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	publisher.pid = fork();
	CHECK(publisher.pid >= 0);
	if (!publisher.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(path, path, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	publisher.to = fdopen(to[1], "w");
	publisher.from = fdopen(from[0], "r");
	CHECK_EQ(publisher_answer(), publisher.pid);
}

/* Lets it do one thing and waits until it is done. */
__attribute__((format(printf, 1, 2))) static inline int publisher_do(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(publisher.to, format, arguments);
	va_end(arguments);
	fprintf(publisher.to, "\n");
	fflush(publisher.to);
	return publisher_answer();
}

static inline unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

#endif
