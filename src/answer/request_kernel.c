/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/request_kernel.h"

#include "answer/span_make.h"

/* ---- finding ---- */

/* The spans of a thread in a stint. A wait or fault lies in the last call that is there. */
static int stint_find(struct request_kernel_list *out, const struct requests *r,
		      const struct stint *s, const struct request_kernel *of)
{
	const struct thread_times *t = &r->times[of->host];
	struct thread_numbers within = thread_times_within(t, s->tid, s->from_ns, s->to_ns);
	struct request_kernel found = *of;
	u64 call = 0, until_ns = 0;
	int err = 0;

	for (u32 at = within.first; at < within.end && !err; at++) {
		enum node_kind kind;
		struct kspan k;
		u64 id;

		kspans_get(&t->p->kspans, t->order.data[at], &k);
		id = tree_kspan_id(r->hosts[of->host].boot, &k, k.tid, &kind);
		found.number = t->order.data[at];
		found.parent = k.kind != KSPAN_SYSCALL && k.begin_ns < until_ns ? call : of->parent;
		err = vec_push(out, found);
		if (k.kind == KSPAN_SYSCALL) {
			call = id;
			until_ns = k.end_ns;
		}
	}
	return err;
}

int request_kernel_find(struct request_kernel_list *out, const struct requests *r, u32 exchange)
{
	const struct request_span server = {exchange, REQUEST_SERVER};
	const struct exchange *x = &r->exchanges.data[exchange];
	const struct request_kernel of = {.host = r->processes.list.data[x->server.process].host,
					  .parent = request_span_id(r, &server)};
	const struct stint *list;
	size_t count = stints_of(&r->stints, exchange, &list);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = stint_find(out, r, &list[i], &of);
	return err;
}

/* ---- spans ---- */

static struct node node_of(const struct requests *r, const struct request_kernel *k,
			   struct kspan *span)
{
	enum node_kind kind;
	struct node n;

	kspans_get(&r->hosts[k->host].p->kspans, k->number, span);
	n = (struct node){.id = tree_kspan_id(r->hosts[k->host].boot, span, span->tid, &kind),
			  .parent = k->parent,
			  .begin_ns = span->begin_ns,
			  .end_ns = span->end_ns,
			  .tid = span->tid,
			  .pid = span->pid,
			  .of = k->number + 1,
			  .end_soft = span->open && span->kind == KSPAN_SYSCALL};
	n.kind = kind;
	return n;
}

struct span_position request_kernel_position(const struct requests *r,
					     const struct request_kernel *k)
{
	struct kspan span;
	const struct node n = node_of(r, k, &span);

	return (struct span_position){n.id, n.parent, n.begin_ns, n.end_ns, true, 0};
}

const struct span *request_kernel_span(struct span_builder *b, const struct requests *r,
				       const struct request_kernel *k)
{
	struct kspan span;
	const struct node n = node_of(r, k, &span);

	b->p = r->hosts[k->host].p;
	b->tree = &r->apps.trees[k->host];
	b->host = r->hosts[k->host].name;
	if (!span_make(b, &n, false))
		return NULL;
	/* within a request, a wait for work has its cause, as in the time of the server */
	b->span.time = span.split;
	if (span.kind == KSPAN_WAIT)
		b->span.name = split_part_name(span.part);
	b->span.trace_id[0] = '\0';
	b->span.host = b->host;
	return &b->span;
}
