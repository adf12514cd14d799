/* SPDX-License-Identifier: Apache-2.0 */
#include "up/start.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef int part_fn(struct part_context *c, struct error *e);

static part_fn *const functions[PARTS] = {
	[PART_CAPTURE] = part_capture, [PART_MAP] = part_map, [PART_SERVE] = part_serve};

/* Ctrl-C at a terminal reaches all; only the supervisor acts on it, and asks parts in turn. */
static void signals_set(void)
{
	sigset_t blocked;

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* The change of the user clears the signal, so it comes after. */
static int rights_take(struct part_context *c, enum up_part part, pid_t parent, struct error *e)
{
	int err = part == PART_CAPTURE || geteuid() != 0 ? 0 : login_take(&c->login);

	if (err)
		return error_set(e, err, "cannot become user %s",
				 c->login.name ? c->login.name : "of map and serve");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		return error_set(e, errno, "cannot follow the supervisor");
	return getppid() == parent ? 0 : error_say(e, ESRCH, "the supervisor is gone");
}

/* Whether nothing changes by itself: capture begins without privilege, or serve without library. */
static bool is_never(const struct board_part *board, enum up_part part, int err)
{
	if (atomic_load(&board->state) == PART_RUNNING)
		return false;
	return part == PART_CAPTURE ? err == -EPERM || err == -EACCES
				    : part == PART_SERVE && err == -ELIBACC;
}

static int part_run(struct part_context *c, enum up_part part, pid_t parent)
{
	struct board_part *board = &c->board->parts[part];
	struct error e = {0};
	char name[16];
	int err;

	snprintf(name, sizeof(name), "fathom-%s", part_name(part));
	prctl(PR_SET_NAME, name);
	signals_set();
	err = rights_take(c, part, parent, &e);
	err = err ? err : functions[part](c, &e);
	if (!err)
		return 0;
	memcpy(board->why, e.text, sizeof(board->why));
	return is_never(board, part, err) ? PART_EXIT_NEVER : 1;
}

pid_t part_start(struct part_context *c, enum up_part part)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int status = part_run(c, part, parent);

		fflush(NULL);
		_exit(status);
	}
	return pid < 0 ? -errno : pid;
}
