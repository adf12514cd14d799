/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"
#include "chunk/chunk.h"
#include "cli/command.h"
#include "cli/read_options.h"
#include "cli/record_lines.h"
#include "cli/record_options.h"
#include "cli/record_summary.h"
#include "cli/terminal.h"
#include "recorder/default_dir.h"
#include "recorder/hook.h"
#include "recorder/owner.h"
#include "recorder/recorder.h"

#define PROGRESS_NS 500000000ull
#define RATE_NS 10000000000ull /* of recording, after which its rate is told */
#define COMMAND_NS 2000000000ull

static volatile sig_atomic_t interrupted; /* number of signals */
static volatile sig_atomic_t interrupted_by;

static void on_signal(int signal)
{
	interrupted++;
	interrupted_by = signal;
}

static bool is_interrupted(void)
{
	return interrupted;
}

/* ---- while it records ---- */

struct session {
	struct recorder *recorder;
	u64 until_ns;  /* 0: no end */
	int status;    /* of the command */
	bool command;  /* there is one */
	bool follow;   /* record until its last descendant ends */
	bool ended;    /* the command has ended */
	bool progress; /* stderr is a terminal, and no command writes to it */
	bool rate;     /* how much is recorded in an hour is still to be told */
	bool compress; /* --compress */
	bool limited;  /* old chunks go: --keep */
};

static void progress_print(const struct session *s, u64 begin, u64 now)
{
	struct recorder_counts c;

	recorder_counts(s->recorder, &c);
	fprintf(stderr,
		"\r\033[Krecording %.1f s, %" PRIu64 " chunks sealed, %" PRIu64
		" records lost (press Ctrl-C to stop)",
		(double)(now - begin) / 1e9, c.sealed.chunks, recorder_lost(&c));
}

static u64 bytes_written(const struct session *s)
{
	struct recorder_counts c;

	recorder_counts(s->recorder, &c);
	return c.written_bytes;
}

/* What existed at the begin, which is recorded once, is in `first_bytes`. */
static void rate_print(struct session *s, u64 begin, u64 now, u64 first_bytes)
{
	if (!s->rate || now - begin < RATE_NS)
		return;
	s->rate = false;
	if (s->progress)
		fprintf(stderr, "\r\033[K");
	record_rate_print(stderr, bytes_written(s) - first_bytes, now - begin, s->compress);
}

static bool command_ended(struct session *s)
{
	pid_t child = recorder_child(s->recorder);

	if (child && !s->ended && waitpid(child, &s->status, WNOHANG) == child)
		s->ended = true;
	return s->ended;
}

static bool session_ended(struct session *s)
{
	return command_ended(s) && !(s->follow && recorder_descendants_run(s->recorder));
}

static u64 time_left(const struct session *s)
{
	u64 now = clock_now_ns();

	if (!s->until_ns)
		return ~0ull;
	return s->until_ns > now ? s->until_ns - now : 0;
}

static int session_run(struct session *s, struct error *e)
{
	u64 begin = clock_now_ns(), printed = 0, first_bytes = bytes_written(s);
	int err = 0;

	while (!err && !interrupted && !recorder_is_asked_to_end(s->recorder)) {
		u64 now = clock_now_ns();

		if (session_ended(s) || (s->until_ns && now >= s->until_ns))
			break;
		err = recorder_step(s->recorder, e);
		hooks_reap();
		rate_print(s, begin, now, first_bytes);
		if (s->progress && now - printed >= PROGRESS_NS) {
			progress_print(s, begin, now);
			printed = now;
		}
		if (!err)
			recorder_wait(s->recorder, time_left(s));
	}
	if (s->progress && printed)
		fprintf(stderr, "\r\033[K");
	return err;
}

/* ---- the command ---- */

/* Rings are locked in memory, so enough must be left for the host. */
static int buffer_check(u64 bytes, struct error *e)
{
	char wanted[UNITS_TEXT_BYTES], there[UNITS_TEXT_BYTES];
	struct sysinfo info;

	if (sysinfo(&info) || bytes / info.mem_unit <= info.totalram / 2)
		return 0;
	return error_say(e, ENOMEM, "--buffer %s is more than half of this host's memory (%s)",
			 units_format_bytes(bytes, wanted),
			 units_format_bytes((u64)info.totalram * info.mem_unit, there));
}

static int scope_fill(const struct record_options *o, const struct operands *operands,
		      struct recorder_options *r, struct error *e)
{
	pid_t *pids;
	int err = buffer_check(o->buffer_bytes, e);

	if (err)
		return err;
	pids = calloc(o->pids.count + 1, sizeof(*pids));
	if (!pids)
		return error_set(e, ENOMEM, "cannot start a recording");
	for (size_t i = 0; i < o->pids.count; i++)
		pids[i] = (pid_t)o->pids.data[i];
	r->host = record_options_host(o, operands);
	r->host_name = o->host;
	r->pids = pids;
	r->pid_count = o->pids.count;
	r->pids_alone = o->no_children;
	r->cgroups = (const char *const *)o->cgroups.data;
	r->cgroup_count = o->cgroups.count;
	r->syscalls = o->syscalls.given ? o->syscalls.record : NULL;
	r->spans_only = o->spans_only;
	r->no_calls = o->detail.waits;
	r->budget_ppm = (u32)o->budget.ppm;
	r->budget_hard = o->budget.hard;
	r->budget_pause_ns = o->budget.pause_ns;
	r->no_bytes = o->detail.waits && !o->detail.bytes;
	r->detail_scopes = o->detail.scopes;
	r->detail_scope_count = o->detail.scope_count;
	r->calls_ns = o->detail.calls_ns;
	r->calls_every_ns = o->detail.every_ns;
	r->stacks_min_ns = o->stacks.min_ns;
	r->sample_hz = o->sample.hz;
	r->stack_bytes = o->stacks.bytes > o->sample.bytes ? o->stacks.bytes : o->sample.bytes;
	r->flight = o->flight;
	r->events = (const char *const *)o->events.data;
	r->event_count = o->events.count;
	r->buffer_bytes = o->buffer_bytes;
	r->rotate = record_options_rotate(o);
	r->keep = o->keep;
	r->compress = o->compress;
	r->on_chunk = o->on_chunk;
	r->command = operands->command;
	r->interrupted = is_interrupted;
	return 0;
}

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[sizeof(caught) / sizeof(caught[0])];

/* Runs in each child: a command gets the signal dispositions that fathom was started with. */
static void signals_give_back(void)
{
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i], &before[i], NULL);
}

/*
 * A signal that is sent to fathom alone, not typed at the terminal, ends only the recording. It
 * must not cause a failure while the recording begins. A signal that was ignored when fathom
 * started, by nohup or by a shell that runs it in the background, stays ignored.
 */
static void signals_catch(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		if (sigaction(caught[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	pthread_atfork(NULL, NULL, signals_give_back);
}

/* Ctrl-C reaches the command, too: waits for it briefly, so that its end is recorded. */
static int command_await(struct session *s, struct error *e)
{
	int err = 0;

	s->until_ns = clock_now_ns() + COMMAND_NS;
	while (!err && !session_ended(s) && time_left(s)) {
		err = recorder_step(s->recorder, e);
		if (!err)
			recorder_wait(s->recorder, time_left(s));
	}
	return err;
}

/* Puts advice in front of an error of a full disk. */
static int room_advise(const struct session *s, int err, struct error *e)
{
	const char *kept = s->recorder ? "; what was recorded so far can be read" : "";

	if (err == -ENOSPC || err == -EDQUOT)
		error_say(e, -err,
			  "the disk is full: free some space, set a %slimit with --keep, or choose "
			  "another disk with -o%s",
			  s->limited ? "lower " : "", kept);
	else if (err == -EFBIG)
		error_say(e, -err,
			  "the limit on the size of a file (ulimit -f) is reached: raise it, or "
			  "start new files with --rotate%s",
			  kept);
	return err;
}

/* Seals what was recorded so far, also after a failure. The first error counts. */
static int session_finish(struct session *s, int err, struct error *e)
{
	struct error later = {0};
	int finished = recorder_finish(s->recorder, &later);

	if (!err && finished) {
		*e = later;
		err = finished;
	}
	return room_advise(s, err, e);
}

static int exit_status(const struct session *s)
{
	if (!s->ended)
		return 0;
	return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

static void hidden_report(const struct session *s)
{
	struct recorder_counts c;

	if (*recorder_missing(s->recorder))
		fprintf(stderr,
			"fathom: this kernel lacks these tracepoints: %s; their events are not "
			"recorded ('fathom doctor' says what they are for)\n",
			recorder_missing(s->recorder));
	recorder_counts(s->recorder, &c);
	if (c.hidden_pids == 1)
		fprintf(stderr,
			"fathom: the kernel lists no thread of process %" PRIu64
			": nothing of it is recorded\n",
			c.hidden_pid);
	else if (c.hidden_pids)
		fprintf(stderr,
			"fathom: the kernel lists no thread of %" PRIu64
			" processes (one is %" PRIu64 "): nothing of them is recorded\n",
			c.hidden_pids, c.hidden_pid);
	if (c.no_kernel_stacks)
		fprintf(stderr, "fathom: /proc/kallsyms shows no addresses (kptr_restrict): kernel "
				"stacks are not recorded\n");
}

/* A relative path can name a cgroup in each hierarchy. */
static void cgroups_report(const struct record_options *o)
{
	char mounts[1024];

	for (size_t i = 0; i < o->cgroups.count; i++) {
		size_t n = capture_cgroup_mounts(o->cgroups.data[i], mounts, sizeof(mounts));

		if (n > 1)
			fprintf(stderr,
				"fathom: %zu cgroup hierarchies contain %s; all of them are "
				"recorded: %s\n",
				n, o->cgroups.data[i], mounts);
	}
}

static sig_atomic_t interrupted_before; /* number of signals when the recording ended */

static bool interrupted_again(void)
{
	return interrupted != interrupted_before;
}

/* Records from the begin to the end, and prints the messages about it. */
static int session_hold(struct session *s, const struct record_options *o,
			const struct operands *operands, struct error *e)
{
	int err;

	record_begin_print(stderr, o, operands);
	cgroups_report(o);
	hidden_report(s);
	s->until_ns = o->duration_ns ? clock_now_ns() + o->duration_ns : 0;
	err = session_run(s, e);
	interrupted_before = interrupted;
	if (!err && interrupted && s->command)
		err = command_await(s, e);
	err = session_finish(s, err, e);
	if (!err)
		record_summary_print(s->recorder);
	return err;
}

/* A recording that has not begun leaves no directory, unless it was there before. */
static void directory_abandon(const struct record_options *o, bool made)
{
	if (!o->output)
		default_dir_abandon();
	else if (made)
		recording_remove(o->output, owner_find(), NULL);
}

const struct command command_record;

static int record_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct record_options *o = fields;
	struct recorder_options options = {.dir = o->output};
	struct session s = {.command = operands->command,
			    .follow = o->follow,
			    .progress = isatty(STDERR_FILENO) && !operands->command,
			    .rate = !operands->command && !o->flight,
			    .compress = o->compress,
			    .limited = o->keep.time_ns || o->keep.bytes};
	int command_failed = 0, err = scope_fill(o, operands, &options, e);
	bool opened = false, begun = false;
	bool made = o->output && access(o->output, F_OK) != 0;

	signals_catch();
	if (!err && !o->output) {
		err = default_dir_begin(&options.dir, e);
		options.settle = !err;
	}
	if (!err)
		err = room_advise(&s, recorder_open(&s.recorder, &options, e), e);
	if (!err) {
		opened = true;
		err = session_hold(&s, o, operands, e);
		command_failed = recorder_command_failed(s.recorder);
		begun = recorder_begun(s.recorder);
		if (err && !command_failed) /* before the wait for commands of --on-chunk */
			err = command_fail(&command_record, err, e);
	}
	recorder_close(s.recorder);
	if (opened) /* the recording is closed by now */
		hooks_wait(interrupted_again);
	if ((options.settle || made) && !begun)
		directory_abandon(o, made);
	free((void *)options.pids);
	if (command_failed) {
		fprintf(stderr, "fathom: cannot run %s: %s\n", operands->command[0],
			strerror(-command_failed));
		return command_failed == -ENOENT ? 127 : 126;
	}
	if (err && !opened && interrupted) {
		fprintf(stderr, "fathom: interrupted before the recording began\n");
		return operands->command ? 128 + interrupted_by : 0;
	}
	return err ? err : exit_status(&s);
}

const struct command command_record = {
	.name = "record",
	.summary = "record the host, some processes, or a command",
	.usage = record_usage,
	.description =
		"Records what the kernel does for each thread, and the spans of applications, "
		"into a\n"
		"directory of chunks. Without a scope it records the waits of the whole host "
		"until\n"
		"Ctrl-C; --detail calls records each call, too. Of a command, processes and "
		"cgroups\n"
		"it records each call.",
	.examples = "  fathom record -d 10\n"
		    "  fathom record -d 10 --detail calls\n"
		    "  fathom record -- curl -s http://localhost/\n"
		    "  fathom record -p $(pidof nginx | tr ' ' ,) -d 5s -o nginx.data\n"
		    "  fathom record --rotate 1s --keep 10m -o /var/lib/fathom\n",
	.options = record_option_table,
	.options_bytes = sizeof(struct record_options),
	.check = record_options_check,
	.run = record_run,
	.release = record_options_release,
};
