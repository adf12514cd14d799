/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_feed.h"

#include <errno.h>
#include <stdlib.h>

#include "answer/feed.h"
#include "answer/grouping.h"
#include "answer/live.h"
#include "cli/command.h"
#include "recorder/background.h"
#include "recorder/control.h"

struct top_feed {
	struct background *own; /* NULL: follows the recorder of options.dir */
	pid_t *pids;		/* owned: what `own` records */
	const char *dir;	/* borrowed */
	struct feed *feed;
};

/* Records by itself what the options say. */
static int own_begin(struct top_feed *f, const struct top_options *o, struct error *e)
{
	struct recorder_options what = {.host = !o->pids.count && !o->cgroups.count,
					.pid_count = o->pids.count,
					.cgroups = (const char *const *)o->cgroups.data,
					.cgroup_count = o->cgroups.count,
					.no_calls = o->detail.waits,
					.no_bytes = o->detail.waits && !o->detail.bytes};
	int err;

	f->pids = calloc(o->pids.count + 1, sizeof(*f->pids));
	if (!f->pids)
		return error_set(e, ENOMEM, "cannot record");
	for (size_t i = 0; i < o->pids.count; i++)
		f->pids[i] = (pid_t)o->pids.data[i];
	what.pids = f->pids;
	err = background_open(&f->own, &what, e);
	if (!err)
		f->dir = background_dir(f->own);
	return err;
}

/* What the rows that can be asked for need: a key of the screen asks for system calls. */
static struct sum_choice sums_of(const struct top_options *o)
{
	const struct filter filter = filter_of(&o->filter);
	struct sum_choice sums = {.by = SUM_BY_NOTHING};
	struct grouping by;
	struct error none = {0};

	if (!grouping_make(&by, o->by ? o->by : "process", &filter, &none))
		sums = grouping_sums(&by);
	sums.pid = 0; /* the screen shows other processes as well */
	if (o->json || o->count)
		return sums;
	sums.by = (sums.by & ~(u32)SUM_BY_NOTHING) | SUM_BY_CALL;
	return sums;
}

int top_feed_open(struct top_feed **feed, const struct top_options *o, struct error *e)
{
	struct top_feed *f = calloc(1, sizeof(*f));
	struct feed_options from = {.notice = notice_stderr};
	int err;

	*feed = f;
	if (!f)
		return error_set(e, ENOMEM, "cannot record");
	f->dir = o->dir;
	err = f->dir ? 0 : own_begin(f, o, e);
	if (err)
		return err;
	from.dir = f->dir;
	from.remove = f->own;
	from.sums = sums_of(o);
	return feed_open(&f->feed, &from, e);
}

/* The reason why there is no chunk: a failure of its own recorder comes first. */
static int feed_fail(struct top_feed *f, int err, struct error *e)
{
	int own = f->own ? background_end(f->own, e) : 0;

	return own ? own : err;
}

int top_feed_next(struct top_feed *f, const char *by, struct source *out, struct error *e)
{
	bool requests = live_is_of_requests(by);
	int err;

	feed_window(f->feed, requests ? TOP_REQUEST_CHUNKS - 1 : 0, requests);
	*out = (struct source){0};
	err = control_rotate(f->dir, e);
	if (!err)
		err = feed_next(f->feed, out, e);
	return err ? feed_fail(f, err, e) : 0;
}

void top_feed_close(struct top_feed *f)
{
	if (!f)
		return;
	background_close(f->own);
	feed_close(f->feed);
	free(f->pids);
	free(f);
}
