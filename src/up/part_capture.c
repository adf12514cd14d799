/* SPDX-License-Identifier: Apache-2.0 */
/* The part with privileges: records the host. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "chunk/directory.h"
#include "recorder/owner.h"
#include "recorder/recorder.h"
#include "recorder/recover.h"
#include "recorder/retention.h"
#include "up/part.h"
#include "up/raising.h"

#define CHUNK_NS 1000000000u
#define RETENTION_END_MS 500

static volatile sig_atomic_t asked;

static void on_signal(int signal)
{
	asked = signal;
}

/* The recorder waits by itself; a signal ends the wait. */
static void signal_catch(void)
{
	const struct sigaction action = {.sa_handler = on_signal};
	sigset_t ends;

	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
}

/* This part alone writes it. */
static void lowered_tell(struct board_capture *board, bool lowered, u64 *told_ns)
{
	u64 now_ns = clock_now_ns();

	if (atomic_load(&board->lowered) && *told_ns)
		atomic_fetch_add(&board->lowered_ns, now_ns - *told_ns);
	atomic_store(&board->lowered, lowered);
	*told_ns = now_ns;
}

static void counts_tell(struct recorder *r, struct board_capture *board, u64 *told_ns)
{
	struct recorder_counts counts;

	recorder_counts(r, &counts);
	if (counts.sealed.chunks != atomic_load(&board->chunks))
		atomic_store(&board->sealed_ns, clock_now_ns());
	atomic_store(&board->chunks, counts.sealed.chunks);
	atomic_store(&board->bytes, counts.sealed.bytes);
	atomic_store(&board->rings_missed, counts.rings_missed);
	atomic_store(&board->lost,
		     counts.lost_buffer + counts.lost_recursion + counts.lost_application);
	lowered_tell(board, counts.lowered, told_ns);
	atomic_store(&board->in_turns, counts.in_turns);
}

static int host_record(struct part_context *c, struct recorder *r, u64 first, struct error *e)
{
	struct board_capture *board = &c->board->capture;
	struct raising raising = {.board = c->board,
				  .budget_ppm = c->options->budget_ppm,
				  .seen = (u32)(atomic_load(&c->board->map.raise) >> 32)};
	u64 told_ns = 0;
	int err = 0;

	atomic_store(&board->raised_pid, 0);
	atomic_store(&board->lowered, false);
	atomic_store(&board->in_turns, false);
	atomic_store(&board->budget_ppm, c->options->budget_ppm);
	if (!atomic_load(&board->begun_next)) {
		atomic_store(&board->begun_ns, clock_now_ns());
		atomic_store(&board->begun_next, first + 1);
	}
	atomic_store(&board->sealed_ns, clock_now_ns());
	part_runs(c, PART_CAPTURE);
	while (!err && !asked && !recorder_is_asked_to_end(r)) {
		err = recorder_step(r, e);
		counts_tell(r, board, &told_ns);
		raising_follow(&raising, r);
		if (!err)
			recorder_wait(r, ~0ull);
	}
	if (err) {
		struct error later = {0}; /* the first one is told */

		recorder_finish(r, &later);
		return err;
	}
	err = recorder_finish(r, e);
	counts_tell(r, board, &told_ns);
	return err;
}

/*
 * The number behind all sealed chunks. Chunks that a crash left open, and that the recorder is
 * about to seal, have it or a higher one, as the first chunk of this run has.
 */
static u64 number_next(int dir)
{
	const struct recording_hold hold = {.dir = dir, .lock = -1};
	struct chunk_names names = {0};
	u64 next = 0;

	if (chunk_names_list(CHUNKS_DIR, &hold, &names, NULL))
		return 0;
	for (size_t i = 0; i < names.count; i++) {
		if (!names.names[i].open && names.names[i].seq >= next)
			next = names.names[i].seq + 1;
	}
	chunk_names_free(&names);
	return next;
}

/* In a process of its own. The status is an errno. */
static int user_recover(const struct part_context *c, const char *dir,
			const struct recording_hold *hold)
{
	struct error e = {0};
	int err = login_take(&c->login);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = err ? err : recover_report(dir, hold, NULL, &e);
	if (*e.text)
		fprintf(stderr, "fathom up: capture: %s\n", e.text);
	fflush(NULL);
	return -err;
}

/* Who reads chunks in place of root. */
struct readers {
	const struct part_context *c;
	int retention; /* a socket to the process that deletes old chunks; 0: none */
	pid_t pid;     /* of that process; 0: none */
};

/*
 * Chunks that a crash left belong to the user of map and serve, who may have changed them. So that
 * user reads them, and not root. If this ends the process, the chunks stay, and recording goes on.
 */
static int chunks_recover(const struct part_context *c, const char *dir,
			  const struct recording_hold *hold, struct error *e)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(user_recover(c, dir, hold));
	if (pid < 0)
		return error_set(e, errno, "cannot recover chunks");
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return error_set(e, errno, "cannot recover chunks");
	}
	if (WIFSIGNALED(status))
		notice_tell(&c->options->notice,
			    "capture: chunks that a crash left are damaged, and stay as they are");
	return WIFEXITED(status) && WEXITSTATUS(status)
		       ? error_set(e, WEXITSTATUS(status), "cannot recover chunks")
		       : 0;
}

/*
 * Ends this process when capture has ended, also within a round. A signal at the death of the
 * parent does not: capture has dropped the right to send one to another user's process.
 */
static void *capture_await(void *arg)
{
	struct pollfd fd = {.fd = *(const int *)arg};

	while (poll(&fd, 1, -1) <= 0)
		;
	poll(NULL, 0, RETENTION_END_MS); /* it may end by itself */
	_exit(0);
}

/* In a process of its own, which ends with capture. */
static int retention_run(const struct part_context *c, const char *dir,
			 const struct recording_hold *hold, int fd)
{
	const struct recording_hold own = {hold->dir, -1};
	const struct retainer_options options = {
		.dir = dir, .hold = &own, .keep = c->options->keep};
	int err = login_take(&c->login);
	pthread_t thread;

	if (hold->lock >= 0)
		close(hold->lock); /* the next capture need not wait for this process */
	prctl(PR_SET_NAME, "fathom-keep");
	signal(SIGTERM, SIG_IGN); /* to all of the group, too: it ends when capture has ended */
	err = err ? err : thread_start(&thread, capture_await, &fd);
	return err ? err : retention_serve(&options, fd);
}

/* What maps chunks before they are deleted is of that user, too. */
static int retention_begin(struct readers *readers, const char *dir,
			   const struct recording_hold *hold, struct error *e)
{
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return error_set(e, errno, "cannot make a socket");
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int status;

		close(fds[0]);
		status = -retention_run(readers->c, dir, hold, fds[1]);
		fflush(NULL);
		_exit(status);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return error_set(e, errno, "cannot start the process that deletes old chunks");
	}
	readers->retention = fds[0];
	readers->pid = pid;
	atomic_store(&readers->c->board->capture.keep_pid, pid);
	atomic_fetch_add(&readers->c->board->capture.keep_starts, 1);
	return 0;
}

/* Before capture has threads and kernel programs, which a child would have, too. */
static int readers_begin(void *arg, const char *dir, const struct recording_hold *hold,
			 struct error *e)
{
	struct readers *readers = arg;
	int err = chunks_recover(readers->c, dir, hold, e);

	return err ? err : retention_begin(readers, dir, hold, e);
}

/* Others than root write the directory, so its entries are not reached by their paths. */
static int chunks_open(struct readers *readers, struct recorder **r,
		       const struct recorder_options *options, u64 *first, struct error *e)
{
	const struct part_context *c = readers->c;
	struct recorder_options o = *options;
	int fd = recording_make_at(c->dir, CHUNKS_DIR, owner_find(), e), err;

	if (fd < 0)
		return fd;
	o.dir_fd = &fd;
	if (c->owned && geteuid() == 0) {
		o.recover = readers_begin;
		o.recover_arg = readers;
		o.retention_helper = &readers->retention;
		o.retention_pid = &readers->pid;
	}
	*first = number_next(fd);
	err = recorder_open(r, &o, e);
	close(fd);
	return err;
}

int part_capture(struct part_context *c, struct error *e)
{
	char dir[PATH_MAX];
	struct recorder_options options = {.dir = dir,
					   .host = true,
					   .no_calls = true,
					   .no_bytes = c->options->no_bytes,
					   .budget_ppm = c->options->budget_ppm,
					   .budget_turns = true,
					   .rotate = {.time_ns = CHUNK_NS},
					   .keep = c->options->keep};
	struct readers readers = {.c = c};
	struct recorder *recorder = NULL;
	u64 first = 0;
	int err;

	if (snprintf(dir, sizeof(dir), "%s/" CHUNKS_DIR, c->options->dir) >= (int)sizeof(dir))
		return error_set(e, ENAMETOOLONG, "cannot record");
	signal_catch();
	atomic_store(&c->board->capture.chunks, 0);
	atomic_store(&c->board->capture.keep_pid, 0);
	if (c->owned)
		owner_set(&c->login.owner);
	err = chunks_open(&readers, &recorder, &options, &first, e);
	if (!err)
		err = host_record(c, recorder, first, e);
	recorder_close(recorder);
	if (readers.retention)
		close(readers.retention); /* the process ends */
	return err;
}
