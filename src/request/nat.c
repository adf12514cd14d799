/* SPDX-License-Identifier: Apache-2.0 */
#include "request/nat.h"

#include <stdlib.h>

#include "base/order.h"

#define LOOKED_MOST                                                                                \
	256 /* ends with the same numbers of bytes that are looked at, before and behind */

static int nat_end_compare(const void *a, const void *b)
{
	const struct nat_end *x = a, *y = b;

	COMPARE(x->forth, y->forth);
	COMPARE(x->back, y->back);
	COMPARE(x->unix_ns, y->unix_ns);
	COMPARE(x->server, y->server);
	COMPARE(x->end, y->end);
	return 0;
}

static bool fits(const struct nat_end *a, const struct nat_end *b)
{
	u64 apart = a->unix_ns > b->unix_ns ? a->unix_ns - b->unix_ns : b->unix_ns - a->unix_ns;

	return a->server != b->server && a->host != b->host && a->forth == b->forth &&
	       a->back == b->back && (!a->unix_ns || !b->unix_ns || apart <= NAT_APART_NS);
}

/* Whether a caller connected the address of a server: its own address alone was translated. */
static bool is_called(const struct nat_end *caller, const struct nat_end *server)
{
	const struct record_socket *c = caller->socket, *s = server->socket;

	return c->remote_port == s->local_port && c->remote_hi == s->local_hi &&
	       c->remote_lo == s->local_lo;
}

static bool is_called_by(const struct nat_end *a, const struct nat_end *b)
{
	return a->server ? is_called(b, a) : is_called(a, b);
}

/* What fits an end. */
struct fitting {
	size_t named, others; /* whose addresses say so, and the rest */
	size_t first;	      /* the first one of the better kind without another end */
	bool found;
};

static void fitting_note(struct fitting *f, const struct nat_end *list, size_t of, size_t at)
{
	bool named = is_called_by(&list[of], &list[at]);

	if (!fits(&list[of], &list[at]))
		return;
	if (!list[at].other && (!f->found || (named && !f->named))) {
		f->first = at;
		f->found = true;
	}
	f->named += named;
	f->others += !named;
}

static struct fitting fitting_find(const struct nat_end *list, size_t count, size_t of)
{
	struct fitting f = {0};
	size_t first = of > LOOKED_MOST ? of - LOOKED_MOST : 0;

	for (size_t at = first; at < count && at <= of + LOOKED_MOST; at++)
		fitting_note(&f, list, of, at);
	return f;
}

static u32 how_many(const struct fitting *f)
{
	return (u32)(f->named ? f->named : f->others);
}

void nat_ends_pair(struct nat_end *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), nat_end_compare);
	for (size_t i = 0; i < count; i++) {
		struct fitting servers = fitting_find(list, count, i), callers;
		struct nat_end *server;
		u32 pairs;

		if (list[i].server || !servers.found)
			continue;
		server = &list[servers.first];
		callers = fitting_find(list, count, servers.first);
		pairs = how_many(&servers) > how_many(&callers) ? how_many(&servers)
								: how_many(&callers);
		list[i].ambiguous = server->ambiguous = pairs;
		if (pairs > NAT_AMBIGUOUS_MOST)
			continue;
		list[i].other = server->end + 1;
		server->other = list[i].end + 1;
	}
}
