/* SPDX-License-Identifier: Apache-2.0 */
/* The part that receives, keeps and answers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "up/part.h"
#include "up/status.h"

#define LOOK_NS 250000000u
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
	atomic_store(&board->failed, (unsigned int)status.log_failed);
	memcpy(board->error, status.store_error, sizeof(board->error));
	snprintf(board->state, sizeof(board->state), "%s", status.state);
	atomic_store(&board->spans_per_s, rate_add(rate, status.received + status.mapped, now_ns));
	atomic_store(&board->behind_since_ns, !status.behind_bytes ? 0
					      : since_ns	   ? since_ns
								   : now_ns);
}

static const char *state_of(void *arg, const char *own)
{
	return up_state(arg, own);
}

static void parts_write(void *arg, struct json *j)
{
	up_parts_write(arg, j);
}

int part_serve(struct part_context *c, struct error *e)
{
	const struct serve_more more = {state_of, parts_write, c->board};
	struct serve_options options = c->options->serve;
	struct serve_addresses addresses, before;
	struct serve *serve = NULL;
	struct rate rate = {0};
	int err;

	umask(077);
	options.dir = c->path;
	options.spans = dup(c->spans);
	options.more = c->options->capture ? &more : NULL;
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
	do
		status_tell(&c->board->serve, serve, &rate);
	while (!part_is_asked_to_end(LOOK_NS));
	return serve_close(serve, e);
}
