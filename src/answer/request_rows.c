/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/request_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "answer/group.h"
#include "answer/request_spans.h"

#define OUTSIDE "(not recorded)"

/* What an exchange counts as. */
struct counted {
	const struct requests *r;
	u32 exchange;
	const struct exchange *x;
	struct request_bounds bounds;
	struct split time;
};

static bool is_counted(const struct requests *r, const struct exchange *x, u64 end_ns)
{
	u32 process = x->caller.process ? x->caller.process : x->server.process;

	return !(x->flags & EXCHANGE_STREAM) && process &&
	       partial_in_range(r->hosts[r->processes.list.data[process].host].p, end_ns);
}

static void edge_describe(struct group *g, const struct counted *c)
{
	const struct request_operation *op = request_operation(c->r, c->exchange);

	g->row.values[0] = c->x->caller.process ? request_span_service(c->r, c->exchange, false)
						: OUTSIDE;
	g->row.values[1] = op->name;
	g->row.caller = g->row.values[0];
	g->row.callee = op->name;
}

/* The group of an exchange; NULL: the memory ran out. */
static struct group *group_find(struct rows *out, const struct counted *c, enum request_rows_by by)
{
	const struct request_operation *op = request_operation(c->r, c->exchange);
	const char *caller = c->x->caller.process ? request_span_service(c->r, c->exchange, false)
						  : OUTSIDE;
	const char *name = by == REQUEST_ROWS_SERVICE ? op->service : op->name;
	char key[2048];
	struct group *g;

	if (by == REQUEST_ROWS_EDGE)
		snprintf(key, sizeof(key), "%s -> %s", caller, name);
	else
		snprintf(key, sizeof(key), "%s", name);
	g = group_of(out, key);
	if (!g || g->row.key)
		return g;
	g->row.key = rows_text(out, "%s", key);
	g->row.service = op->service;
	g->row.absent = ROW_OF_REQUESTS;
	if (by == REQUEST_ROWS_EDGE)
		edge_describe(g, c);
	return g->row.key ? g : NULL;
}

static int exchange_add(struct rows *out, const struct requests *r, u32 i, enum request_rows_by by)
{
	struct counted c = {.r = r, .exchange = i, .x = &r->exchanges.data[i]};
	bool server = by != REQUEST_ROWS_EDGE && c.x->server.process;
	const struct edge *e = &r->edges[i];
	struct group *g;
	u64 awaited_ns = r->awaited[i].ns, duration_ns;

	if (!c.x->caller.process && !c.x->server.process)
		return 0;
	c.bounds = server ? request_span_bounds(r, i, true) : request_brief_bounds(r, i);
	if (!is_counted(r, c.x, c.bounds.end_ns))
		return 0;
	c.time = server ? request_server_time(r, i) : request_brief_time(r, i);
	g = group_find(out, &c, by);
	if (!g)
		return -ENOMEM;
	if (by == REQUEST_ROWS_EDGE && e->candidates && e->probability_ppm < EDGE_SURE_PPM)
		g->row.unsure++;
	duration_ns = c.bounds.end_ns - c.bounds.begin_ns;
	g->row.own_ns += duration_ns > awaited_ns ? duration_ns - awaited_ns : 0;
	return group_add(g, &c.time, duration_ns, request_is_unanswered(r, i));
}

int request_rows_fill(struct rows *out, const struct requests *r, enum request_rows_by by)
{
	int err = 0;

	for (u32 i = 0; i < r->exchanges.count && !err; i++)
		err = exchange_add(out, r, i, by);
	for (size_t i = 0; i < out->groups.count && !err; i++)
		err = row_own(out, &out->groups.data[i]->row);
	return err;
}
