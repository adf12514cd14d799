/* SPDX-License-Identifier: Apache-2.0 */
#include "request/messages.h"

#include "base/group_sort.h"
#include "base/order.h"
#include "request/byte_ranges.h"

/* A call of a thread that moved bytes ended. */
struct moved {
	u64 time_ns;
	u32 host, tid;
};

struct finding {
	VEC(struct moved) moved; /* by host, thread, time */
	const struct thread_times *times;
	struct message_list *out;
};

static struct group_key moved_key(const void *element)
{
	const struct moved *m = element;

	return (struct group_key){m->host, m->tid};
}

static int moved_compare(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	COMPARE(x->host, y->host);
	COMPARE(x->tid, y->tid);
	COMPARE(x->time_ns, y->time_ns);
	return 0;
}

static const struct group_order moved_order = {sizeof(struct moved), moved_key, moved_compare};

static int ranges_note(struct finding *f, u32 host, const struct byte_ranges *ranges)
{
	int err = 0;

	for (size_t i = 0; i < ranges->count && !err; i++)
		err = vec_push(&f->moved, ((struct moved){ranges->data[i].time_ns, host,
							  ranges->data[i].tid}));
	return err;
}

static int moved_find(struct finding *f, const struct connection_ends *ends)
{
	int err = 0;

	for (size_t i = 0; i < ends->list.count && !err; i++) {
		const struct socket_end *end = &ends->list.data[i];

		err = ranges_note(f, end->host, &end->sent);
		err = err ? err : ranges_note(f, end->host, &end->received);
	}
	return err ? err : vec_group_sort(&f->moved, &moved_order);
}

/* When the call before this one, of the thread, had moved its bytes; 0: there is none. */
static u64 moved_before(const struct finding *f, u32 host, const struct byte_range *send)
{
	const struct moved now = {send->time_ns, host, send->tid};
	size_t n = COUNT_BEFORE(&f->moved, m, moved_compare(m, &now) < 0);
	const struct moved *last = n ? &f->moved.data[n - 1] : NULL;

	return last && last->host == host && last->tid == send->tid ? last->time_ns : 0;
}

/* An instant up to which the call that sent had not begun. 0: nothing tells. */
static u64 sent_after(const struct finding *f, u32 host, const struct byte_range *send)
{
	u64 moved = moved_before(f, host, send), known;

	if (!f->times)
		return moved;
	known = thread_times_sending(&f->times[host], send->tid, send->time_ns);
	return known > moved ? known : moved;
}

static int direction_find(struct finding *f, const struct socket_end *from,
			  const struct socket_end *to)
{
	int err = 0;

	for (size_t i = 0; i < from->sent.count && !err; i++) {
		const struct byte_range *send = &from->sent.data[i];
		size_t at = range_completing(&to->received, send->to);
		struct message m = {.from = from->host, .to = to->host};

		if (at == NO_RANGE)
			continue;
		m.sent_ns = sent_after(f, from->host, send);
		m.received_ns = to->received.data[at].time_ns;
		if (m.sent_ns)
			err = vec_push(f->out, m);
	}
	return err;
}

int messages_find(struct message_list *out, const struct connections *connections,
		  const struct thread_times *times)
{
	struct finding f = {.times = times, .out = out};
	int err = moved_find(&f, &connections->ends);

	for (size_t i = 0; i < connections->list.count && !err; i++) {
		const struct connection *c = &connections->list.data[i];

		if (c->caller.host == c->server.host || c->ambiguous > 1)
			continue;
		err = direction_find(&f, &c->caller, &c->server);
		err = err ? err : direction_find(&f, &c->server, &c->caller);
	}
	vec_free(&f.moved);
	return err;
}
