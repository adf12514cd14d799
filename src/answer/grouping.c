/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/grouping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/group.h"
#include "answer/overhead.h"
#include "answer/peer_server.h"
#include "answer/profile.h"
#include "base/hash.h"
#include "map/fact/query.h"
#include "map/kernel/openings.h"
#include "map/span/filters.h"
#include "map/unknown.h"

/* ---- the choice ---- */

static bool has_key(const struct grouping *by, const char *name)
{
	for (int i = 0; i < 2; i++)
		if (by->keys[i] && strcmp(by->keys[i]->name, name) == 0)
			return true;
	return false;
}

/* The kinds of subjects that have all keys. */
static unsigned int kinds_of(const struct grouping *by)
{
	return by->keys[0]->of & (by->keys[1] ? by->keys[1]->of : ~0u);
}

/* One of the kinds: the one that the first key prefers, if possible. */
static enum subject_kind kind_choose(const struct grouping *by, unsigned int kinds)
{
	return kinds & by->keys[0]->first ? by->keys[0]->first : kinds & -kinds;
}

static const char *sort_choose(const struct grouping *by)
{
	if (by->of == OF_EVENT || has_key(by, "errno"))
		return "count";
	if (by->of == OF_SPAN || by->of == OF_REQUEST) /* it is never idle */
		return "total";
	return by->of == OF_LIFE && !has_key(by, "cause") ? "cpu" : "work";
}

static int key_read(const char *text, size_t length, const struct key **key, struct error *e)
{
	char known[256] = "";
	size_t at = 0;

	*key = key_find(text, length);
	if (*key)
		return 0;
	for (const struct key *k = key_table; k->name && at < sizeof(known); k++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "",
				       k->name);
	return error_say(e, EINVAL, "cannot be '%.*s'; it is one of %s", (int)length, text, known);
}

static int keys_read(struct grouping *made, const char *by, struct error *e)
{
	size_t length = strcspn(by, ",");
	int err = key_read(by, length, &made->keys[0], e);

	if (err || !by[length])
		return err;
	err = key_read(by + length + 1, strlen(by + length + 1), &made->keys[1], e);
	if (err || keys_pair(made->keys[0], made->keys[1]))
		return err;
	return error_say(e, EINVAL,
			 "cannot be '%s': nothing tells these two apart (a key of the process goes "
			 "with any other key, and besides syscall,file; syscall,errno; file,cause; "
			 "peer,cause; lock,waker)",
			 by);
}

int grouping_make(struct grouping *out, const char *by, const struct filter *filter,
		  struct error *e)
{
	struct grouping made = {0};
	unsigned int kinds;
	int err = keys_read(&made, by, e);

	if (err)
		return err;
	if (filter)
		made.filter = *filter;
	kinds = kinds_of(&made) & filter_kinds(&made.filter);
	if (!kinds && made.keys[0]->of & (OF_COST | OF_REQUEST))
		return error_say(e, EINVAL, "%s is of the whole recording: leave out filters", by);
	if (!kinds)
		return error_say(e, EINVAL, "%s cannot be filtered by %s: 'fathom trace' can", by,
				 made.filter.name ? "--name" : "--file, --peer or --syscall");
	made.of = kind_choose(&made, kinds);
	made.sort = sort_choose(&made);
	snprintf(made.name, sizeof(made.name), "%s", by);
	*out = made;
	return 0;
}

const char *grouping_default(const struct partial *p, const struct filter *filter)
{
	if (filter->name)
		return "name";
	if (filter_of_call(filter) || filter_of_process(filter))
		return "process";
	for (size_t i = 0; i < p->spans.count; i++) {
		const struct app_span *s = p->spans.data[i];

		/* a span that did not end lasts up to the end, if it had begun */
		if (s->ended ? partial_in_range(p, s->end_ns) : s->begun && !p->options.to_ns)
			return "name";
	}
	return "process";
}

struct sum_choice grouping_sums(const struct grouping *by)
{
	struct sum_choice sums = filter_sums(&by->filter);

	sums.by |= by->keys[0]->sums | (by->keys[1] ? by->keys[1]->sums : 0);
	if (by->of == OF_CALL && !has_key(by, "cause"))
		sums.by |= SUM_BY_ERROR;
	if (by->of == OF_LIFE && !has_key(by, "cause"))
		sums.by = 0;
	if (!sums.by)
		sums.by = SUM_BY_NOTHING;
	return sums;
}

/* ---- counting ---- */

/* The state of a filling. */
struct filling {
	const struct partial *p;
	struct rows *out;
	const struct grouping *by;
	bool parts; /* each part of time is a row of its own */
	struct filter_use filter;
	bool peers;		      /* connections are counted */
	struct peer_servers *servers; /* if they are; owned */
	bool files;		      /* they, or files, are told apart, or some are left out */
	struct map connections;	      /* hash of a row and a connection -> PRESENT */
	struct map reused;	      /* pids that several processes had -> PRESENT */
	struct key_value values[2];
};

/* The identity of the row of a subject; false: it is in no row. */
static bool row_identity(struct filling *f, const struct subject *s, char *identity, size_t size)
{
	size_t length = 0;

	for (int i = 0; i < 2 && f->by->keys[i]; i++) {
		struct key_value *value = &f->values[i];

		value->identity = value->address = NULL;
		if (!f->by->keys[i]->tell(s, value))
			return false;
		length += (size_t)snprintf(identity + length, size - length, "%s%s",
					   i ? "\002" : "",
					   value->identity ? value->identity : value->text);
		if (length >= size)
			return false;
	}
	return true;
}

static int row_begin(struct filling *f, const struct subject *s, struct row *row)
{
	int err = 0;

	for (int i = 0; i < 2 && f->by->keys[i] && !err; i++) {
		const struct key *key = f->by->keys[i];

		if (f->by->keys[1])
			row->values[i] = rows_text(f->out, "%s", f->values[i].text);
		err = f->by->keys[1] && !row->values[i] ? -ENOMEM : 0;
		if (!err && key->describe)
			err = key->describe(f->out, s, row);
	}
	if (f->by->keys[1])
		row->key = rows_text(f->out, "%s, %s", f->values[0].text, f->values[1].text);
	else
		row->key = rows_text(f->out, "%s", f->values[0].text);
	if (!row->key)
		return -ENOMEM;
	if (f->by->of == OF_LIFE || f->parts || f->by->of == OF_WAIT)
		row->absent |= ROW_NO_ERRORS;
	if (f->by->of == OF_CALL && partial_calls_are_waits(s->p))
		row->absent |= ROW_NO_ERRORS; /* a wait does not tell, a call does */
	if (f->by->of == OF_LIFE && !f->parts)
		row->absent |= ROW_OF_LIVES;
	if (f->by->of == OF_FUNCTION)
		row->absent |= ROW_NO_ERRORS | ROW_NO_PERCENTILES;
	if (f->by->of == OF_EVENT)
		row->absent |= ROW_NO_ERRORS | ROW_NO_DURATIONS | ROW_NO_SPLIT;
	if (f->parts)
		row->absent |= ROW_NO_PERCENTILES; /* until a wait is counted */
	return err;
}

/* Notes the address of the peer, of which a service may have several. */
static int address_note(const struct filling *f, struct group *g)
{
	int err = 0;

	for (int i = 0; i < 2 && f->by->keys[i] && !err; i++)
		if (f->values[i].address)
			err = group_add_address(g, f->values[i].address);
	return err;
}

/* Finds the group of a subject. 0 with *g NULL: it is in no row. */
static int group_find(struct filling *f, const struct subject *s, struct group **g)
{
	char identity[2 * KEY_TEXT_BYTES];

	*g = NULL;
	if (!row_identity(f, s, identity, sizeof(identity)))
		return 0;
	*g = group_of(f->out, identity);
	if (!*g || address_note(f, *g))
		return -ENOMEM;
	return (*g)->row.key ? 0 : row_begin(f, s, &(*g)->row);
}

/* Notes why time of a thread or span is unknown, if some of it is. */
static void unknown_note(struct group *g, const struct subject *s, const struct unknown_of *of,
			 s64 unknown_ns)
{
	if (unknown_ns > 0)
		g->row.unknown |= unknown_reasons(s->p, of);
}

/* Adds each part of a time to the row of that part. A part is a row even if nothing is in it. */
static int parts_add(struct filling *f, struct subject *s, const struct split *split,
		     const struct unknown_of *of)
{
	int err = 0;

	for (s->part = 0; s->part < SPLIT_PARTS_COUNT && !err; s->part++) {
		s64 ns = split->ns[s->part];
		struct group *g;

		if (!ns && f->by->keys[1])
			continue;
		err = group_find(f, s, &g);
		if (err || !g)
			continue;
		g->row.total_ns += (u64)ns;
		g->row.time.ns[s->part] = split_sum(g->row.time.ns[s->part], ns);
		if (of && s->part == SPLIT_unknown)
			unknown_note(g, s, of, ns);
	}
	return err;
}

static int one_add(struct filling *f, struct subject *s, const struct split *split,
		   const struct unknown_of *of, bool error)
{
	u64 duration_ns = s->kind == OF_LIFE ? (u64)split_total(split) : of->end_ns - of->begin_ns;
	struct group *g;
	int err;

	if (!filter_takes(&f->filter, s))
		return 0;
	if (f->parts)
		return parts_add(f, s, split, of);
	err = group_find(f, s, &g);
	if (err || !g)
		return err;
	unknown_note(g, s, of, split->ns[SPLIT_unknown]);
	return group_add(g, split, duration_ns, error);
}

/* Counts the connection of a sum, unless it is counted in that row already. */
static int connection_count(struct filling *f, struct group *g, const struct sum *sum)
{
	const struct fact_socket *socket = f->peers ? opening_socket(f->p, sum) : NULL;
	u64 hash;

	if (!socket)
		return 0;
	/* its facts can be told more than once */
	hash = hash_pair(sum->file.key, socket->socket.remote_port ^ socket->socket.remote_lo);
	hash = hash_pair((u64)(uintptr_t)g, hash);
	if (map_get(&f->connections, hash))
		return 0;
	g->row.connections++;
	return map_put(&f->connections, hash, PRESENT);
}

static int sum_add(struct filling *f, struct subject *s)
{
	struct group *g;
	int err;

	if (!filter_takes(&f->filter, s))
		return 0;
	if (f->parts)
		return parts_add(f, s, &s->sum->split, NULL);
	err = group_find(f, s, &g);
	if (!err && g && s->kind == OF_CALL && sum_error(s->sum->key))
		err = group_add_errno(g, sum_error(s->sum->key), s->sum->errors);
	if (g && s->sum->errors)
		g->row.absent &= ~(unsigned int)ROW_NO_ERRORS;
	if (!err && g)
		err = connection_count(f, g, s->sum);
	if (err || !g)
		return err;
	if (s->kind == OF_CALL && s->sum->key & SUM_CALL_OTHER && !f->files)
		group_add_time(g, &s->sum->split);
	else
		return group_add_sum(g, s->sum);
	return 0;
}

/* Counts a wait in the row of its part, which has its time already. */
static int wait_count(struct filling *f, struct subject *s)
{
	struct group *g;
	int err;

	s->part = sum_wait_part(s->sum->key);
	if (s->part >= SPLIT_PARTS_COUNT || !filter_takes(&f->filter, s))
		return 0;
	err = group_find(f, s, &g);
	if (err || !g)
		return err;
	g->row.count += s->sum->count;
	g->row.absent &= ~(unsigned int)ROW_NO_PERCENTILES;
	return histogram_merge(&g->durations, &s->sum->durations);
}

/* ---- the kinds of subjects ---- */

/* Whether it ended before the range, or began after it. */
static bool lives_beside(const struct partial *p, const struct life *l)
{
	bool behind = p->options.to_ns && l->origin_ns >= p->options.to_ns;

	return behind || partial_over_before(p, l->state.last_ns);
}

static u32 life_process(const struct partial *p, const struct life *l)
{
	return l->pid ? l->pid : query_pid(p, l->tid, query_held_until(p, l->tid, l->origin_ns));
}

/* Processes with the same pid are distinguished by the time at which another one got the pid. */
static int lives_fill(struct filling *f, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];
		struct subject s = {.p = p,
				    .host = f->out->source_host,
				    .kind = OF_LIFE,
				    .tid = l->tid,
				    .life = l,
				    .number = i,
				    .part = -1};
		const struct unknown_of of = {
			.tid = l->tid, .begin_ns = l->origin_ns, .end_ns = l->state.last_ns};

		if (lives_beside(p, l))
			continue;
		s.pid = life_process(p, l);
		s.time_ns = s.at_ns = query_held_until(p, s.pid, l->origin_ns);
		err = one_add(f, &s, &l->total, &of, false);
	}
	return err;
}

static int spans_fill(struct filling *f, const struct partial *p)
{
	struct span_time *times = calloc(p->spans.count + 1, sizeof(*times));
	int err = times ? span_times(p, times) : -ENOMEM;

	for (size_t i = 0; i < p->spans.count && !err; i++) {
		const struct app_span *span = p->spans.data[i];
		u64 begin_ns = times[i].begin_ns;
		const struct span_place place = query_span_place(p, span, begin_ns);
		struct subject s = {.p = p,
				    .host = f->out->source_host,
				    .kind = OF_SPAN,
				    .pid = place.pid,
				    .tid = place.tid,
				    .at_ns = begin_ns,
				    .span = span,
				    .part = -1};
		struct unknown_of of;

		if (!partial_in_range(p, times[i].end_ns))
			continue;
		s.time_ns = query_held_until(p, s.pid, begin_ns);
		of = (struct unknown_of){place.pid, place.tid, begin_ns, times[i].end_ns, true};
		err = one_add(f, &s, &times[i].split, &of, span->status == 2);
	}
	free(times);
	return err;
}

/* Finds the pids that the kernel gave to another process in the time of the partial. */
static int reused_find(struct filling *f, const struct partial *p)
{
	struct map until = {0}; /* pid -> until when the first process that had it did */
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];
		u32 pid = lives_beside(p, l) ? 0 : life_process(p, l);
		u64 held = pid ? query_held_until(p, pid, l->origin_ns) | 1 : 0; /* never NULL */
		void *first = pid ? map_get(&until, pid) : NULL;

		if (pid && !first)
			err = map_put(&until, pid, (void *)(uintptr_t)held);
		else if (pid && first != (void *)(uintptr_t)held)
			err = map_put(&f->reused, pid, PRESENT);
	}
	map_free(&until);
	return err;
}

static int sums_fill(struct filling *f, const struct partial *p, const struct sums *sums,
		     enum subject_kind kind, int (*add)(struct filling *f, struct subject *s))
{
	int err = 0;

	for (size_t i = 0; i < sums->list.count && !err; i++) {
		const struct sum *sum = &sums->list.data[i];
		struct subject s = {.p = p,
				    .host = f->out->source_host,
				    .kind = kind,
				    .pid = sum->pid,
				    .time_ns = UINT64_MAX,
				    .at_ns = UINT64_MAX,
				    .sum = sum,
				    .part = -1,
				    .servers = f->servers,
				    .reused = sum->pid && map_get(&f->reused, sum->pid)};

		if (kind == OF_CALL)
			s.call = sum->key & SUM_CALL_MASK;
		else if (kind == OF_WAIT)
			s.call = sum->key >> SUM_WAIT_CALL_SHIFT & SUM_CALL_MASK;
		err = add(f, &s);
	}
	return err;
}

/* ---- functions ---- */

/* Each function counts once for a stack, however often it called itself. */
static bool is_first(const struct profile_stack *stack, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (stack->functions[i] == stack->functions[at])
			return false;
	return true;
}

static int function_add(struct filling *f, const struct profile *profile,
			const struct profile_stack *stack)
{
	s64 self = profile_self(profile, stack);
	int err = 0;

	for (size_t i = 0; i < stack->count && !err; i++) {
		struct subject s = {.kind = OF_FUNCTION,
				    .function = &profile->functions.data[stack->functions[i]]};
		struct group *g;

		if (!is_first(stack, i))
			continue;
		err = group_find(f, &s, &g);
		if (err || !g)
			continue;
		g->row.with_callees_ns += stack->ns;
		if (self != stack->functions[i])
			continue;
		g->row.count += stack->times;
		g->row.total_ns += stack->ns;
		g->row.time.ns[stack->part] += (s64)stack->ns;
	}
	return err;
}

static int functions_fill(struct filling *f, const struct partial *p)
{
	static const struct profile_choice on_cpu;
	struct profile profile = {0};
	int err = profile_add(&profile, p, f->out->profile ? f->out->profile : &on_cpu, NULL);

	for (size_t i = 0; i < profile.stacks.count && !err; i++)
		err = function_add(f, &profile, &profile.stacks.data[i]);
	profile_free(&profile);
	return err;
}

static int groups_fill(struct rows *out, const struct partial *p, const struct grouping *by)
{
	struct filling f = {.p = p,
			    .out = out,
			    .by = by,
			    .parts = has_key(by, "cause"),
			    .peers = has_key(by, "peer"),
			    .files = grouping_sums(by).by & SUM_BY_FILE,
			    .filter = {.filter = &by->filter}};
	int err = grouping_sums(by).by & SUM_BY_PROCESS ? reused_find(&f, p) : 0;

	if (!err && f.peers && !(f.servers = peer_servers_new(p)))
		err = -ENOMEM;
	if (err)
		goto done;
	switch (by->of) {
	case OF_LIFE:
		err = lives_fill(&f, p);
		break;
	case OF_SPAN:
		err = spans_fill(&f, p);
		break;
	case OF_CALL:
		err = sums_fill(&f, p, &p->calls, OF_CALL, sum_add);
		break;
	case OF_WAIT:
		err = sums_fill(&f, p, &p->waits, OF_WAIT, sum_add);
		goto done;
	case OF_BLOCK:
		err = sums_fill(&f, p, &p->blocks, OF_BLOCK, sum_add);
		break;
	case OF_COST:
		err = fill_overhead(out, p);
		break;
	case OF_REQUEST: /* of all hosts together: report_make() fills them */
		break;
	case OF_EVENT:
		err = sums_fill(&f, p, &p->events.counts, OF_EVENT, sum_add);
		break;
	case OF_FUNCTION:
		err = functions_fill(&f, p);
		break;
	}
	if (!err && f.parts)
		err = sums_fill(&f, p, &p->waits, OF_WAIT, wait_count);
done:
	map_free(&f.connections);
	map_free(&f.reused);
	peer_servers_free(f.servers);
	return err;
}

int rows_fill(struct rows *out, const struct partial *p, const struct grouping *by,
	      const char *host)
{
	int err;

	out->host = host;
	err = groups_fill(out, p, by);
	for (size_t i = 0; i < out->groups.count && !err; i++) {
		out->groups.data[i]->row.host = host;
		err = row_own(out, &out->groups.data[i]->row);
	}
	out->host = NULL;
	return err;
}

int rows_build(struct rows *out, const struct partial *p, const struct grouping *by,
	       const char *sort)
{
	int err;

	*out = (struct rows){0};
	err = rows_fill(out, p, by, NULL);
	return err ? err : rows_finish(out, sort ? sort : by->sort);
}
