/* SPDX-License-Identifier: Apache-2.0 */
/* The part that receives, keeps and answers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "up/coverage.h"
#include "up/part.h"
#include "up/pins.h"
#include "up/reread.h"
#include "up/reread_cpus.h"
#include "up/status.h"

#define LOOK_NS 250000000u
#define OWNER_WAIT_NS 1000000000u
#define OWNER_LOOK_MS 100
#define RATE_LOOKS 20 /* the rate is of so many looks */

/* How many spans came by each of the last looks. */
struct rate {
	uint64_t spans[RATE_LOOKS], time_ns[RATE_LOOKS];
	unsigned int at, count;
};

static uint64_t rate_add(struct rate *r, uint64_t spans, uint64_t now_ns)
{
	unsigned int first = r->count < RATE_LOOKS ? 0 : r->at;
	uint64_t before = r->count ? r->spans[first] : spans;
	uint64_t time_ns = r->count ? now_ns - r->time_ns[first] : 0;

	r->spans[r->at] = spans;
	r->time_ns[r->at] = now_ns;
	r->at = (r->at + 1) % RATE_LOOKS;
	r->count += r->count < RATE_LOOKS;
	return time_ns ? (uint64_t)((double)(spans - before) * 1e12 / (double)time_ns) : 0;
}

static void status_tell(struct board_serve *board, struct serve *s, struct rate *rate)
{
	struct serve_status status;
	uint64_t now_ns = clock_now_ns(), since_ns = atomic_load(&board->behind_since_ns);

	serve_status(s, &status);
	atomic_store(&board->received, status.received);
	atomic_store(&board->rejected, status.rejected);
	atomic_store(&board->mapped, status.mapped);
	atomic_store(&board->stored, status.stored);
	atomic_store(&board->store_spans, status.store_spans);
	atomic_store(&board->store_bytes, status.store_bytes);
	atomic_store(&board->behind_bytes, status.behind_bytes);
	atomic_store(&board->unlisted, status.unlisted);
	atomic_store(&board->no_pid, status.claims.no_pid);
	atomic_store(&board->other_host, status.claims.other_host);
	atomic_store(&board->claims_left_out, status.claims.left_out);
	atomic_store(&board->failed, (unsigned int)status.log_failed);
	atomic_store(&board->log_lost_bytes, status.log_lost_bytes);
	atomic_store(&board->log_cut_bytes, status.log_cut_bytes);
	atomic_store(&board->lost_files, status.lost_files);
	atomic_store(&board->free_bytes, status.free_bytes);
	atomic_store(&board->min_free_bytes, status.min_free_bytes);
	memcpy(board->lost_why, status.lost_why, sizeof(board->lost_why));
	memcpy(board->error, status.store_error, sizeof(board->error));
	snprintf(board->state, sizeof(board->state), "%s", status.state);
	atomic_store(&board->spans_per_s, rate_add(rate, status.received + status.mapped, now_ns));
	atomic_store(&board->behind_since_ns, !status.behind_bytes ? 0
					      : since_ns	   ? since_ns
								   : now_ns);
}

static const char *state_of(void *arg, const char *own)
{
	return up_state(((const struct part_context *)arg)->board, own);
}

static void parts_write(void *arg, struct json *j)
{
	up_parts_write(((const struct part_context *)arg)->board, j);
}

/* Asks the supervisor, which may look into all processes. */
static bool owner_find(void *arg, uint64_t inode, const struct socket_ends *ends,
		       struct socket_owner *owner)
{
	static uint64_t number; /* one thread asks */
	struct owner_question question = {++number, inode, *ends};
	struct part_context *c = arg;
	uint64_t end_ns = clock_now_ns() + OWNER_WAIT_NS;
	struct pollfd fd = {.fd = c->owners[0], .events = POLLIN};
	struct owner_answer answer;

	if (send(fd.fd, &question, sizeof(question), MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    sizeof(question))
		return false;
	while (clock_now_ns() < end_ns && poll(&fd, 1, OWNER_LOOK_MS) >= 0) {
		if (recv(fd.fd, &answer, sizeof(answer), MSG_DONTWAIT) != sizeof(answer) ||
		    answer.number != number) /* that of an earlier question, which came too late */
			continue;
		*owner = answer.owner;
		return owner->pid != 0;
	}
	return false;
}

static int kernel_read(void *arg, struct received_batch *batch, struct pool *pool, struct error *e)
{
	const struct part_context *c = arg;

	return reread_kernel(c->dir, c->path, batch, pool, e);
}

static int cpus_read(void *arg, const struct cpu_runs_query *query, struct cpu_runs *out,
		     struct error *e)
{
	const struct part_context *c = arg;

	return reread_cpus(c->dir, c->path, query, out, e);
}

/* What map keeps of it. */
static void coverage_read_of(void *arg, uint64_t from_ns, uint64_t to_ns, struct coverage *out)
{
	const struct part_context *c = arg;
	const struct board_part *capture = &c->board->parts[PART_CAPTURE];
	const struct coverage_query query = {.from_ns = from_ns,
					     .to_ns = to_ns,
					     .now_ns = clock_read_ns(CLOCK_REALTIME),
					     .is_recording = atomic_load(&capture->state) ==
							     PART_RUNNING};
	int folder = openat(c->dir, "map", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct coverage_table table = {0};

	if (coverage_read(&table, folder) == 0)
		coverage_look(&table, &query, out);
	coverage_free(&table);
	if (folder >= 0)
		close(folder);
}

/* ---- pins ---- */

static int pins_write(void *arg, struct json *j, struct error *e)
{
	const struct part_context *c = arg;
	pin_list list = {0};
	int err = pins_list(c->dir, &list);

	for (size_t i = 0; i < list.count && !err; i++)
		pin_write(j, &list.data[i]);
	vec_free(&list);
	return err ? error_set(e, err, "cannot read the pins") : 0;
}

static int pin_add(void *arg, const struct pin_request *request, struct json *j, struct error *e)
{
	const struct part_context *c = arg;
	struct pin pin = {.from_ns = request->from_ns, .to_ns = request->to_ns};
	int err;

	snprintf(pin.trace, sizeof(pin.trace), "%s", request->trace);
	snprintf(pin.why, sizeof(pin.why), "%s", request->why);
	err = pin_make(c->dir, &pin, NULL, pins_bytes(c->options->keep.bytes), e);
	if (err)
		return err;
	json_array_begin(j, "pins");
	pin_write(j, &pin);
	json_array_end(j);
	return 0;
}

static int pin_drop(void *arg, const char *name, struct error *e)
{
	return pin_remove(((const struct part_context *)arg)->dir, name, e);
}

/* ---- who sends ---- */

static void senders_tell(struct board_serve *board, struct serve *s)
{
	sender_list list = {0};
	size_t count;

	if (serve_senders(s, &list) == 0) {
		count = list.count < BOARD_SENDERS ? list.count : BOARD_SENDERS;
		if (count)
			memcpy(board->senders, list.data, count * sizeof(*list.data));
		atomic_store(&board->senders_shown, (unsigned int)count);
		atomic_store(&board->senders_count, (unsigned int)list.count);
	}
	vec_free(&list);
}

static void monitors_tell_board(struct board_serve *board, struct serve *s)
{
	struct monitors_counts counts;

	serve_monitors(s, &counts);
	board->monitors = counts;
}

int part_serve(struct part_context *c, struct error *e)
{
	const struct serve_pins pins = {pins_write, pin_add, pin_drop, c};
	const struct serve_more more = {state_of,
					parts_write,
					c,
					c->options->capture ? &pins : NULL,
					c->options->capture ? kernel_read : NULL,
					c->options->capture ? cpus_read : NULL,
					c->options->capture ? coverage_read_of : NULL};
	struct serve_options options = c->options->serve;
	struct serve_addresses addresses, before;
	struct serve *serve = NULL;
	struct rate rate = {0};
	const struct owner_finder finder = {owner_find, c};
	int err;

	umask(077);
	options.dir = c->path;
	options.name = c->board->dir;
	options.spans = dup(c->spans);
	options.more = c->options->capture ? &more : NULL;
	options.finder = &finder;
	options.claims = c->options->capture ? c->claims[0] : 0;
	/* a port that the kernel chose stays the same */
	board_addresses(&before, c->board);
	serve_addresses_keep(&options, &before);
	err = options.spans < 0 ? error_set(e, errno, "cannot serve")
				: serve_open(&options, &serve, &addresses, e);
	if (err == -ELIBACC) {
		memcpy(c->board->serve.error, e->text, sizeof(c->board->serve.error));
		atomic_store(&c->board->serve.store_missing, true);
	}
	if (err)
		return err;
	c->board->serve.addresses = addresses;
	part_runs(c, PART_SERVE);
	do {
		status_tell(&c->board->serve, serve, &rate);
		senders_tell(&c->board->serve, serve);
		monitors_tell_board(&c->board->serve, serve);
	} while (!part_is_asked_to_end(LOOK_NS));
	return serve_close(serve, e);
}
