/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hook.h"

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

#include "base/thread.h"
#include "base/vec.h"
#include "cli/privileges.h"

#define HOOKS_MAX 8 /* at once */
#define WAITING_MAX 1024

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER; /* the first that waits may have its */
static struct login login;  /* whose the commands are; of the thread that starts them */
static struct rlimit files; /* what they may open, which recording raises for itself; likewise */
static VEC(pid_t) running;  /* guarded by mutex */

struct waiting {
	const char *command;
	char *path; /* owned */
};
static VEC(struct waiting) waiting; /* guarded by mutex; their turn comes in this order */
static bool refused;		    /* guarded by mutex; no turn comes any more */

/* A command that does not ask for the path gets it as its last argument. */
static void child_run(const char *command, const char *path)
{
	static const char last[] = " \"$1\"";
	char *text = alloca(strlen(command) + sizeof(last));
	sigset_t none;

	strcpy(text, command);
	if (!strchr(command, '$'))
		strcat(text, last);
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

/* With the mutex. */
static void start(const char *command, const char *path)
{
	pid_t pid = fork();

	if (pid == 0)
		child_run(command, path);
	if (pid < 0) {
		fprintf(stderr, "fathom: cannot run --on-chunk for %s: %s\n", path,
			strerror(errno));
		return;
	}
	if (vec_push(&running, pid))
		fprintf(stderr, "fathom: --on-chunk for %s is not watched: out of memory\n", path);
}

/* With the mutex. The first has had its turn, or gets none. */
static void waiting_drop(void)
{
	free(waiting.data[0].path);
	waiting.count--;
	memmove(waiting.data, waiting.data + 1, waiting.count * sizeof(*waiting.data));
}

/*
 * Each has its turn on this thread. It alone keeps the capabilities to become another user; all
 * that a program of root could have again is dropped for its children.
 */
static void *starter_run(void *arg)
{
	(void)arg;
	for (int cap = 0; cap <= 63; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (privileges_limit(login_capabilities(&login), NULL)) {
		fprintf(stderr, "fathom: cannot give privileges up: --on-chunk does not run\n");
		pthread_mutex_lock(&mutex);
		refused = true;
		while (waiting.count)
			waiting_drop();
		pthread_mutex_unlock(&mutex);
		return NULL;
	}
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!waiting.count || running.count >= HOOKS_MAX)
			pthread_cond_wait(&turn, &mutex);
		start(waiting.data[0].command, waiting.data[0].path);
		waiting_drop();
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
		return error_set(e, errno, "cannot tell what --on-chunk may open");
	err = starter_start();
	return err ? error_set(e, err, "cannot start the thread of --on-chunk") : 0;
}

/* With the mutex. Told once, until all that wait have had their turn. */
static bool is_full(const char *path)
{
	static bool told;
	bool full = waiting.count >= WAITING_MAX;

	if (full && !told)
		fprintf(stderr,
			"fathom: --on-chunk is slower than the chunks: %d wait, so it does not run "
			"for %s and others\n",
			WAITING_MAX, path);
	told = full || (told && waiting.count);
	return full;
}

void hook_run(const char *command, const char *path)
{
	struct waiting last = {command, strdup(path)};

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

static void tell(pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		fprintf(stderr, "fathom: --on-chunk (pid %d) was killed by signal %d\n", (int)pid,
			WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fprintf(stderr, "fathom: --on-chunk (pid %d) ended with status %d\n", (int)pid,
			WEXITSTATUS(status));
}

static size_t reap_once(void)
{
	size_t left = 0;

	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < running.count; i++) {
		int status;
		pid_t pid = waitpid(running.data[i], &status, WNOHANG);

		if (pid == running.data[i])
			tell(pid, status);
		else if (pid == 0)
			running.data[left++] = running.data[i];
	}
	running.count = left;
	pthread_cond_signal(&turn);
	left = running.count + waiting.count;
	pthread_mutex_unlock(&mutex);
	return left;
}

void hooks_reap(bool wait)
{
	size_t left = reap_once();

	for (int tenths = 0; wait && left && tenths < 600; tenths++) {
		usleep(100000);
		left = reap_once();
	}
	if (wait && left)
		fprintf(stderr, "fathom: %zu commands of --on-chunk still run, or never did\n",
			left);
}
