/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/waited_for.h"

#include <stdlib.h>

#include "base/order.h"

u64 why_instant(const struct partial *p, bool at_begin)
{
	return at_begin && p->options.from_ns ? p->options.from_ns : p->to_ns;
}

static struct touch ranges_last(const struct byte_ranges *ranges, u64 at_ns, bool sent)
{
	for (size_t i = ranges->count; i > 0; i--)
		if (ranges->data[i - 1].time_ns <= at_ns)
			return (struct touch){ranges->data[i - 1].time_ns, ranges->data[i - 1].tid,
					      sent};
	return (struct touch){0};
}

struct touch touch_last(const struct socket_end *end, u64 at_ns)
{
	struct touch sent = ranges_last(&end->sent, at_ns, true);
	struct touch received = ranges_last(&end->received, at_ns, false);

	return sent.time_ns > received.time_ns ? sent : received;
}

/* ---- in order ---- */

static int end_compare(const void *a, const void *b)
{
	const struct waited_end *x = a, *y = b;

	COMPARE(x->host, y->host);
	COMPARE(x->key, y->key);
	COMPARE(x->connection, y->connection);
	COMPARE(x->end.server, y->end.server);
	return 0;
}

static int end_add(struct waited_connections *out, const struct requests *r, u32 number,
		   bool server, bool at_begin)
{
	const struct connection *c = &r->connections.list.data[number];
	const struct socket_end *end = server ? &c->server : &c->caller;
	struct waited_end waited = {.host = end->host,
				    .connection = number,
				    .end = {.connection = c, .server = server}};
	int err;

	if (end->sent.count + end->received.count == 0)
		return 0;
	waited.end.last = touch_last(end, why_instant(r->hosts[end->host].p, at_begin));
	if (!waited.end.last.time_ns)
		return 0;
	waited.key = end->key;
	err = vec_push(&out->by_file, waited);
	waited.key = waited.end.last.tid;
	return err ? err : vec_push(&out->by_thread, waited);
}

int waited_connections_make(struct waited_connections *out, const struct requests *r, bool at_begin)
{
	int err = 0;

	for (u32 i = 0; i < r->connections.list.count && !err; i++) {
		err = end_add(out, r, i, false, at_begin);
		err = err ? err : end_add(out, r, i, true, at_begin);
	}
	if (err || !out->by_file.count)
		return err;
	qsort(out->by_file.data, out->by_file.count, sizeof(*out->by_file.data), end_compare);
	qsort(out->by_thread.data, out->by_thread.count, sizeof(*out->by_thread.data), end_compare);
	return 0;
}

void waited_connections_free(struct waited_connections *c)
{
	vec_free(&c->by_file);
	vec_free(&c->by_thread);
}

/* ---- the best one ---- */

static bool is_better(const struct waited_for *a, const struct waited_for *b)
{
	bool asked = !a->server && a->last.sent, other = !b->server && b->last.sent;

	if (!b->connection || asked != other)
		return !b->connection || asked;
	return a->last.time_ns > b->last.time_ns;
}

static struct waited_for best_of(const struct waited_end *ends, size_t count,
				 const struct waited_end *key)
{
	struct waited_for best = {0};

	for (size_t i = 0; i < count && ends[i].host == key->host && ends[i].key == key->key; i++)
		if (is_better(&ends[i].end, &best))
			best = ends[i].end;
	return best;
}

struct waited_for waited_on_file(const struct waited_connections *c, u32 host, u64 file)
{
	const struct waited_end key = {.host = host, .key = file};
	size_t n = COUNT_BEFORE(&c->by_file, e, end_compare(e, &key) < 0);

	return best_of(c->by_file.data + n, c->by_file.count - n, &key);
}

struct waited_for waited_by_thread(const struct waited_connections *c, u32 host, u32 tid)
{
	const struct waited_end key = {.host = host, .key = tid};
	size_t n = COUNT_BEFORE(&c->by_thread, e, end_compare(e, &key) < 0);

	return best_of(c->by_thread.data + n, c->by_thread.count - n, &key);
}
