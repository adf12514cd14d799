/* SPDX-License-Identifier: Apache-2.0 */
#include "up/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

struct usage {
	uint64_t cpu_ns, memory_bytes;
};

/* The CPU time and the resident memory of a process; zeros if it is gone. */
static struct usage usage_read(int pid)
{
	struct usage usage = {0};
	char path[64], text[1024] = "", *at;
	unsigned long user, kernel;
	long pages, ticks = sysconf(_SC_CLK_TCK);
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return usage;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	at = strrchr(text, ')'); /* the name before may have anything */
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d "
			  "%*d %*d %*u %*u %ld",
			  &user, &kernel, &pages) != 3)
		return usage;
	usage.cpu_ns = (uint64_t)(user + kernel) * (1000000000u / (uint64_t)ticks);
	usage.memory_bytes = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return usage;
}

/* How long ago that was; 0 if it never was. */
static uint64_t age_ns(uint64_t time_ns)
{
	uint64_t now = clock_now_ns();

	return time_ns && time_ns < now ? now - time_ns : 0;
}

static bool runs(const struct board *board, enum up_part part)
{
	return atomic_load(&board->parts[part].state) == PART_RUNNING;
}

static bool is_wanted(const struct board *board, enum up_part part)
{
	return atomic_load(&board->parts[part].state) != PART_OFF;
}

static uint64_t capture_behind_ns(const struct board *board)
{
	return is_wanted(board, PART_CAPTURE) ? age_ns(atomic_load(&board->capture.sealed_ns)) : 0;
}

/* Since when nothing is mapped; before the first chunk, since the recording began. */
static uint64_t map_behind_ns(const struct board *board)
{
	uint64_t to_ns = atomic_load(&board->map.to_ns);

	if (!is_wanted(board, PART_CAPTURE))
		return 0;
	return age_ns(to_ns ? to_ns : atomic_load(&board->capture.begun_ns));
}

static uint64_t store_behind_ns(const struct board *board)
{
	return age_ns(atomic_load(&board->serve.behind_since_ns));
}

static bool is_full(const struct board *board)
{
	unsigned int failed = atomic_load(&board->serve.failed);
	char error[ERROR_TEXT_BYTES];

	board_text(error, board->serve.error, sizeof(error));
	return failed == ENOSPC || failed == EDQUOT || strstr(error, strerrordesc_np(ENOSPC)) ||
	       strstr(error, strerrordesc_np(EDQUOT));
}

const char *up_state(const struct board *board, const char *own)
{
	bool works = !own || strcmp(own, "ok") == 0 || strcmp(own, "loading") == 0;

	if (is_full(board) || (own && strcmp(own, "full") == 0))
		return "full";
	if (!works)
		return own;
	for (int part = 0; part < PARTS; part++) {
		if (is_wanted(board, part) && !runs(board, part))
			return "lagging";
	}
	if (capture_behind_ns(board) > UP_LAG_NS || map_behind_ns(board) > UP_LAG_NS ||
	    store_behind_ns(board) > UP_LAG_NS)
		return "lagging";
	return "ok";
}

static void usage_write(struct json *j, int pid)
{
	struct usage usage = usage_read(pid);

	json_s64(j, "pid", pid);
	json_u64(j, "cpu_ns", usage.cpu_ns);
	json_u64(j, "memory_bytes", usage.memory_bytes);
}

static void part_write(const struct board *board, enum up_part part, struct json *j)
{
	const struct board_part *p = &board->parts[part];
	int pid = atomic_load(&p->pid);
	char why[ERROR_TEXT_BYTES];

	board_text(why, p->why, sizeof(why));
	json_object_begin(j, NULL);
	json_string(j, "name", part_name(part));
	json_string(j, "state", part_state_name(atomic_load(&p->state)));
	json_u64(j, "starts", atomic_load(&p->starts));
	if (pid)
		usage_write(j, pid);
	if (*why)
		json_string(j, "why", why);
	json_object_end(j);
}

/* The child of capture that deletes old chunks. Without it capture does that itself. */
static void keep_write(const struct board *board, struct json *j)
{
	int pid = atomic_load(&board->capture.keep_pid);

	if (!pid || !runs(board, PART_CAPTURE))
		return;
	json_object_begin(j, NULL);
	json_string(j, "name", "keep");
	/* one that ended has no memory */
	json_string(j, "state",
		    part_state_name(usage_read(pid).memory_bytes ? PART_RUNNING : PART_OFF));
	json_u64(j, "starts", atomic_load(&board->capture.keep_starts));
	usage_write(j, pid);
	json_object_end(j);
}

static void processes_write(const struct board *board, struct json *j)
{
	json_array_begin_lines(j, "processes");
	json_object_begin(j, NULL);
	json_string(j, "name", "up");
	json_string(j, "state", part_state_name(PART_RUNNING));
	json_u64(j, "starts", 1);
	usage_write(j, atomic_load(&board->pid));
	json_object_end(j);
	for (int part = 0; part < PARTS; part++)
		part_write(board, part, j);
	keep_write(board, j);
	json_array_end(j);
}

static void text_write(struct json *j, const char *key, const char *text, size_t bytes)
{
	char copy[sizeof(((struct board *)NULL)->dir)];

	board_text(copy, text, bytes);
	json_string(j, key, copy);
}

/* How many received spans were joined with a thread, by how that is known or why it is not. */
static void join_write(const struct board *board, struct json *j)
{
	const struct board_join *join = &board->join;
	const struct board_serve *serve = &board->serve;
	uint64_t left_out = atomic_load(&serve->claims_left_out);

	json_object_begin(j, "join");
	for (int i = 0; i < JOINED_LEFT_OUT; i++)
		json_u64(j, joined_key(i), atomic_load(&join->spans[i]));
	json_u64(j, "no_pid", atomic_load(&serve->no_pid));
	json_u64(j, "other_host", atomic_load(&serve->other_host));
	json_u64(j, "left_out", atomic_load(&join->spans[JOINED_LEFT_OUT]) + left_out);
	json_u64(j, "passes", atomic_load(&join->passes));
	json_u64(j, "chunks", atomic_load(&join->chunks));
	json_u64(j, "cpu_ns", atomic_load(&join->cpu_ns));
	json_object_end(j);
}

/* Requests of services, instrumented or not. */
static void requests_write(const struct board *board, struct json *j)
{
	const struct board_requests *r = &board->requests;

	json_object_begin(j, "requests");
	json_bool(j, "followed", atomic_load(&r->followed));
	json_u64(j, "stored", atomic_load(&r->requests));
	json_u64(j, "decided", atomic_load(&r->decided));
	json_u64(j, "open", atomic_load(&r->open));
	json_u64(j, "spans", atomic_load(&r->spans));
	json_u64(j, "refused", atomic_load(&r->refused));
	json_u64(j, "request_spans", atomic_load(&r->rate));
	json_u64(j, "chunks_left_out", atomic_load(&r->chunks_left_out));
	json_u64(j, "behind_ns", age_ns(atomic_load(&r->to_ns)));
	json_u64(j, "learned", atomic_load(&r->learned));
	json_u64(j, "passes", atomic_load(&r->passes));
	json_u64(j, "cpu_ns", atomic_load(&r->cpu_ns));
	json_object_end(j);
}

void up_senders_write(const struct board *board, struct json *j)
{
	const struct board_serve *serve = &board->serve;
	unsigned int count = atomic_load(&serve->senders_shown);

	json_array_begin_lines(j, "senders");
	for (unsigned int i = 0; i < count && i < BOARD_SENDERS; i++) {
		struct sender_info info = serve->senders[i];

		board_text(info.address, info.address, sizeof(info.address));
		board_text(info.program, info.program, sizeof(info.program));
		board_text(info.language, info.language, sizeof(info.language));
		for (int s = 0; s < SENDER_SERVICES; s++)
			board_text(info.services[s], info.services[s], sizeof(info.services[s]));
		sender_info_write(j, &info);
	}
	json_array_end(j);
	json_u64(j, "senders_count", atomic_load(&serve->senders_count));
}

void up_monitors_write(const struct board *board, struct json *j)
{
	struct monitors_counts counts = board->serve.monitors;

	for (unsigned int i = 0; i < MONITORS_RED_MAX; i++) {
		struct monitors_red *red = &counts.red[i];

		board_text(red->name, red->name, sizeof(red->name));
		board_text(red->text, red->text, sizeof(red->text));
	}
	monitors_counts_write(&counts, j);
}

void up_parts_write(const struct board *board, struct json *j)
{
	const struct board_capture *capture = &board->capture;
	const struct board_map *map = &board->map;

	text_write(j, "user", board->user, sizeof(board->user));
	processes_write(board, j);
	json_object_begin(j, "capture");
	json_u64(j, "chunks", atomic_load(&capture->chunks));
	json_u64(j, "bytes", atomic_load(&capture->bytes));
	json_u64(j, "lost", atomic_load(&capture->lost));
	json_u64(j, "behind_ns", capture_behind_ns(board));
	json_u64(j, "programs_missed", atomic_load(&capture->rings_missed));
	json_u64(j, "raises", atomic_load(&capture->raises));
	json_u64(j, "raises_refused", atomic_load(&capture->raises_refused));
	json_u64(j, "raises_ended", atomic_load(&capture->raises_ended));
	if (atomic_load(&capture->raised_pid))
		json_s64(j, "raised_pid", atomic_load(&capture->raised_pid));
	json_bool(j, "lowered", atomic_load(&capture->lowered));
	json_bool(j, "in_turns", atomic_load(&capture->in_turns));
	json_u64(j, "lowered_ns", atomic_load(&capture->lowered_ns));
	json_double(j, "budget_percent", (double)atomic_load(&capture->budget_ppm) / 1e4);
	json_object_end(j);
	json_object_begin(j, "map");
	json_u64(j, "chunks", atomic_load(&map->chunks));
	json_u64(j, "damaged", atomic_load(&map->damaged));
	json_u64(j, "spans", atomic_load(&map->spans));
	json_u64(j, "refused", atomic_load(&map->refused));
	json_u64(j, "late", atomic_load(&map->late));
	json_u64(j, "given_up", atomic_load(&map->given_up));
	json_u64(j, "forgotten", atomic_load(&map->forgotten));
	json_u64(j, "behind_ns", map_behind_ns(board));
	json_u64(j, "kernel_spans",
		 atomic_load(&map->kernel_spans) + atomic_load(&board->join.kernel_spans) +
			 atomic_load(&board->requests.kernel_spans));
	json_u64(j, "kernel_left_out", atomic_load(&map->kernel_left_out));
	json_u64(j, "pins", atomic_load(&map->pins));
	json_u64(j, "pins_failed", atomic_load(&map->pins_failed));
	json_object_end(j);
	join_write(board, j);
	requests_write(board, j);
	json_double(j, "spans_per_s", (double)atomic_load(&board->serve.spans_per_s) / 1000);
}

static void store_write(const struct board_serve *serve, struct json *j)
{
	unsigned int failed = atomic_load(&serve->failed);
	char error[ERROR_TEXT_BYTES];

	board_text(error, serve->error, sizeof(error));
	json_object_begin(j, "received");
	json_u64(j, "spans", atomic_load(&serve->received));
	json_u64(j, "spans_rejected", atomic_load(&serve->rejected));
	json_object_end(j);
	json_object_begin(j, "store");
	json_u64(j, "spans", atomic_load(&serve->store_spans));
	json_u64(j, "bytes", atomic_load(&serve->store_bytes));
	json_u64(j, "behind_bytes", atomic_load(&serve->behind_bytes));
	if (*error)
		json_string(j, "error", error);
	json_string(j, "state",
		    atomic_load(&serve->store_missing) ? "missing"
		    : *error			       ? "failed"
						       : "ok");
	if (failed)
		json_string(j, "log_error", strerror((int)failed));
	json_u64(j, "unlisted_spans", atomic_load(&serve->unlisted));
	json_u64(j, "lost_files", atomic_load(&serve->lost_files));
	board_text(error, serve->lost_why, sizeof(error));
	if (*error)
		json_string(j, "lost_why", error);
	json_u64(j, "log_lost_bytes", atomic_load(&serve->log_lost_bytes));
	json_u64(j, "log_cut_bytes", atomic_load(&serve->log_cut_bytes));
	json_u64(j, "free_bytes", atomic_load(&serve->free_bytes));
	json_u64(j, "min_free_bytes", atomic_load(&serve->min_free_bytes));
	json_object_end(j);
}

static void addresses_write(const struct board *board, struct json *j)
{
	struct serve_addresses addresses;
	const char *option, *address;
	unsigned int at = 0;

	board_addresses(&addresses, board);
	json_object_begin(j, "addresses");
	while ((address = serve_addresses_next(&addresses, &at, &option)))
		json_string(j, option, address);
	json_object_end(j);
}

void up_status_write(const struct board *board, struct json *j)
{
	char own[sizeof(board->serve.state)];
	const char *state;

	board_text(own, board->serve.state, sizeof(own));
	state = up_state(board, runs(board, PART_SERVE) && *own ? own : NULL);
	json_object_begin(j, NULL);
	json_u64(j, "version", 1);
	json_string(j, "state", state);
	text_write(j, "dir", board->dir, sizeof(board->dir));
	json_u64(j, "running_ns", age_ns(board->begun_ns));
	addresses_write(board, j);
	store_write(&board->serve, j);
	up_parts_write(board, j);
	up_senders_write(board, j);
	up_monitors_write(board, j);
	json_object_end(j);
}
