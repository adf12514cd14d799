/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/hook.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "recorder/cpu_time.h"
#include "recorder/privileges.h"

#define HOOKS_MAX 8 /* commands at once */
#define WAITING_MAX 1024
#define SLOW_NS 10000000000ull /* a chunk that waits for this long is reported */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER; /* a waiting command may start */
static struct login login;  /* the user of the commands; used by the thread that starts them */
static struct rlimit files; /* their limit on open files, which the recorder raises for itself */

struct running {
	pid_t pid;
	char *path; /* of the chunk; owned */
};
static VEC(struct running) running; /* guarded by mutex */

struct waiting {
	const char *command;
	char *path; /* owned */
	u64 since_ns;
};
static VEC(struct waiting) waiting; /* guarded by mutex; started in this order */
static bool refused;		    /* guarded by mutex; no further command starts */
static bool slow_reported;	    /* guarded by mutex; reset when none waits */
static u64 ended_cpu_ns;	    /* guarded by mutex: CPU time of commands that ended */

/* A command without a '$' gets the path as its last argument. */
static void child_run(const char *command, const char *path)
{
	static const char last[] = " \"$1\"";
	char *text = alloca(strlen(command) + sizeof(last));
	sigset_t none;

	strcpy(text, command);
	if (!strchr(command, '$'))
		strcat(text, last);
	setpgid(0, 0); /* the Ctrl-C that ends the recording must not reach the command */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setenv("FATHOM_CHUNK", path, 1);
	syscall(SYS_close_range, 3, ~0u, 0);
	setrlimit(RLIMIT_NOFILE, &files);
	if (login_take(&login))
		_exit(126);
	execl("/bin/sh", "sh", "-c", text, "sh", path, (char *)NULL);
	_exit(127);
}

/* Call with the mutex held. Takes ownership of the path. */
static void start(const char *command, char *path)
{
	struct running last = {fork(), path};

	if (last.pid == 0)
		child_run(command, path);
	if (last.pid > 0 && vec_push(&running, last) == 0)
		return;
	if (last.pid < 0)
		fprintf(stderr, "fathom: cannot run --on-chunk for %s: %s\n", path,
			strerror(errno));
	else
		fprintf(stderr,
			"fathom: the result of --on-chunk for %s will not be reported: out of "
			"memory\n",
			path);
	free(path);
}

/* Call with the mutex held. Removes the first; the caller owns its path. */
static struct waiting waiting_take(void)
{
	struct waiting first = waiting.data[0];

	waiting.count--;
	memmove(waiting.data, waiting.data + 1, waiting.count * sizeof(*waiting.data));
	slow_reported &= waiting.count > 0;
	return first;
}

/*
 * This thread starts all commands. It alone keeps the capabilities to become another user. It drops
 * its bounding set, so that no child can regain a capability, even as root.
 */
static void *starter_run(void *arg)
{
	(void)arg;
	for (int cap = 0; cap <= 63; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (privileges_limit(login_capabilities(&login), NULL)) {
		fprintf(stderr, "fathom: cannot drop privileges, so --on-chunk does not run\n");
		pthread_mutex_lock(&mutex);
		refused = true;
		while (waiting.count)
			free(waiting_take().path);
		pthread_mutex_unlock(&mutex);
		return NULL;
	}
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct waiting first;

		while (!waiting.count || running.count >= HOOKS_MAX)
			pthread_cond_wait(&turn, &mutex);
		first = waiting_take();
		start(first.command, first.path);
	}
	return NULL;
}

static int starter_start(void)
{
	pthread_t thread = 0;
	int err = thread_start(&thread, starter_run, NULL);

	if (!err)
		pthread_detach(thread);
	return err;
}

int hooks_open(const struct chunk_owner *owner, struct error *e)
{
	int err = login_read(&login, owner, e);

	if (err)
		return err;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return error_set(e, errno, "cannot read the limit on open files for --on-chunk");
	err = starter_start();
	return err ? error_set(e, err, "cannot start the thread of --on-chunk") : 0;
}

/* Call with the mutex held. Prints this once, until none waits any more. */
static bool is_full(const char *path)
{
	static bool reported;
	bool full = waiting.count >= WAITING_MAX;

	if (full && !reported)
		fprintf(stderr,
			"fathom: --on-chunk is slower than the recording: %d chunks wait for it, "
			"so it does not run for %s and others\n",
			WAITING_MAX, path);
	reported = full || (reported && waiting.count);
	return full;
}

void hook_run(const char *command, const char *path)
{
	struct waiting last = {command, strdup(path), clock_now_ns()};

	pthread_mutex_lock(&mutex);
	if (refused || is_full(path)) {
		free(last.path);
	} else if (!last.path || vec_push(&waiting, last)) {
		fprintf(stderr, "fathom: cannot run --on-chunk for %s: out of memory\n", path);
		free(last.path);
	}
	pthread_cond_signal(&turn);
	pthread_mutex_unlock(&mutex);
}

static void result_report(pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "fathom: --on-chunk (pid %d) was killed by signal %d\n", (int)pid,
			WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fprintf(stderr, "fathom: --on-chunk (pid %d) ended with status %d\n", (int)pid,
			WEXITSTATUS(status));
}

/* Call with the mutex held. */
static void slow_report(void)
{
	if (slow_reported || !waiting.count || running.count < HOOKS_MAX ||
	    clock_now_ns() - waiting.data[0].since_ns < SLOW_NS)
		return;
	slow_reported = true;
	fprintf(stderr,
		"fathom: --on-chunk is slower than the recording: %d commands run, and %s has "
		"waited for 10 s\n",
		HOOKS_MAX, waiting.data[0].path);
}

static u64 cpu_time_of(const struct rusage *used)
{
	return (u64)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000000u +
	       (u64)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) * 1000u;
}

u64 hooks_cpu_ns(void)
{
	u64 ns;

	pthread_mutex_lock(&mutex);
	ns = ended_cpu_ns;
	for (size_t i = 0; i < running.count; i++)
		ns += process_cpu_ns(running.data[i].pid);
	pthread_mutex_unlock(&mutex);
	return ns;
}

size_t hooks_reap(void)
{
	size_t left = 0;

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < running.count; i++) {
		struct rusage used;
		int status;
		pid_t pid = wait4(running.data[i].pid, &status, WNOHANG, &used);

		if (pid == running.data[i].pid) {
			result_report(pid, status);
			ended_cpu_ns += cpu_time_of(&used);
		}
		if (pid == 0)
			running.data[left++] = running.data[i];
		else
			free(running.data[i].path);
	}
	running.count = left;
	slow_report();
	if (waiting.count && running.count < HOOKS_MAX)
		pthread_cond_signal(&turn);
	left = running.count + waiting.count;
	pthread_mutex_unlock(&mutex);
	return left;
}

/* Prints which commands still run, and for which chunks none was run. No further one starts. */
static void left_report(void)
{
	pthread_mutex_lock(&mutex);
	refused = true;
	fprintf(stderr, "fathom: --on-chunk still runs");
	for (size_t i = 0; i < running.count; i++)
		fprintf(stderr, "%s %s (pid %d)", i ? "," : " for", running.data[i].path,
			(int)running.data[i].pid);
	if (waiting.count)
		fprintf(stderr, "; it was not run for %zu chunks, from %s on", waiting.count,
			waiting.data[0].path);
	fprintf(stderr, "\n");
	while (waiting.count)
		free(waiting_take().path);
	pthread_mutex_unlock(&mutex);
}

void hooks_wait(bool (*ends)(void))
{
	size_t left = hooks_reap();

	for (int tenths = 0; left && tenths < 600 && !ends(); tenths++) {
		usleep(100000);
		left = hooks_reap();
	}
	if (left)
		left_report();
}
