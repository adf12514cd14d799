/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a program with libfathom (app_writer.c) and talks to it. */
#ifndef TESTS_UNIT_CAPTURE_APP_WRITER_H
#define TESTS_UNIT_CAPTURE_APP_WRITER_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/record.h"
#include "tests/unit/check.h"

struct writer {
	pid_t pid;
	FILE *to, *from;
};

static inline u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static inline const char *writer_read(struct writer *w)
{
	static char line[64];

	CHECK(fgets(line, sizeof(line), w->from) != NULL);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static inline struct writer writer_start(void)
{
	const char *program = getenv("APP_WRITER");
	struct writer w;
	int to[2], from[2];

	CHECK(program != NULL);
	CHECK_EQ(pipe2(to, O_CLOEXEC), 0);
	CHECK_EQ(pipe2(from, O_CLOEXEC), 0);
	w.pid = fork();
	CHECK(w.pid >= 0);
	if (w.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(program, program, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	w.to = fdopen(to[1], "w");
	w.from = fdopen(from[0], "r");
	CHECK_STR(writer_read(&w), "ready");
	return w;
}

static inline void writer_send(struct writer *w, const char *command)
{
	fprintf(w->to, "%s\n", command);
	fflush(w->to);
}

static inline const char *writer_ask(struct writer *w, const char *command)
{
	writer_send(w, command);
	return writer_read(w);
}

static inline void writer_reap(struct writer *w)
{
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	fclose(w->to);
	fclose(w->from);
}

#endif
