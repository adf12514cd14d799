/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answer/request_kernel.h"
#include "answer/request_spans.h"

/* ---- loading ---- */

/* What is added to a time of a host for about its Unix time; 0: not known. */
static u64 unix_of(const struct source_view *view)
{
	const struct clock_view *last = view->clocks_count ? &view->clocks[view->clocks_count - 1]
							   : NULL;

	return last && last->unix_ns ? last->unix_ns - last->monotonic_ns : 0;
}

/* How far the clock of the first host of a pair is ahead. */
static int pair_describe(struct request_answer *a, const struct clock_pair *pair)
{
	const struct clock_offsets *o = &a->requests.offsets;
	int err = 0;

	for (size_t i = pair->first; i < pair->end && !err; i++) {
		const struct clock_offset *at = &o->list.data[i];

		err = vec_push(&a->offsets, ((struct clock_offset_view){
						    .host = a->hosts.data[pair->host].name,
						    .against = a->hosts.data[pair->against].name,
						    .min_ns = -at->interval.max_ns,
						    .max_ns = -at->interval.min_ns,
						    .at_ns = at->at_ns}));
	}
	return err;
}

static int offsets_describe(struct request_answer *a)
{
	const struct clock_offsets *o = &a->requests.offsets;
	int err = 0;

	for (size_t i = 0; i < o->pairs.count && !err; i++)
		err = pair_describe(a, &o->pairs.data[i]);
	return err;
}

static const char *container_find(void *arg, const char *id)
{
	return container_name(arg, id);
}

/* Whether a recording is of the boot of this machine, whose files tell names of containers. */
static bool is_here(const struct source *source)
{
	char boot_id[CHUNK_BOOT_BYTES];

	chunk_boot_read(boot_id);
	if (boot_id[0] && strcmp(source->boot_id, boot_id) == 0)
		return true;
	chunk_boot_named(boot_id, source->host);
	return strcmp(source->boot_id, boot_id) == 0;
}

static struct request_host host_of(const struct source *source, struct request_answer *a)
{
	bool here = is_here(source);

	return (struct request_host){.p = source->partial,
				     .name = source->host,
				     .boot = source->boot,
				     .unix_ns = unix_of(&source->view),
				     .container_name = here ? container_find : NULL,
				     .container_arg = here ? &a->containers : NULL};
}

int request_answer_of(const struct sources *sources, u32 min_probability_ppm,
		      struct request_answer *out)
{
	int err = 0;

	for (size_t i = 0; i < sources->list.count && !err; i++)
		err = vec_push(&out->hosts, host_of(sources->list.data[i], out));
	err = err ? err
		  : requests_make(&out->requests, out->hosts.data, out->hosts.count,
				  min_probability_ppm);
	err = err ? err : offsets_describe(out);
	return err ? err : request_events_make(&out->events, out->hosts.data, out->hosts.count);
}

int request_answer_load(const struct source_options *from, u32 min_probability_ppm,
			struct request_answer *out, struct error *e)
{
	struct source_options options = *from;
	const struct sum_choice no_sums = {.by = SUM_BY_NOTHING};
	bool lacks_spans = false;
	int err;

	*out = (struct request_answer){0};
	options.sums = no_sums;
	options.spans = true;
	err = sources_load(&options, &out->sources, e);
	if (err)
		return err;
	for (size_t i = 0; i < out->sources.list.count; i++)
		lacks_spans |= out->sources.list.data[i]->lacks_spans;
	if (lacks_spans)
		notice_tell(&from->notice, "the partial file has no kernel spans, so that requests "
					   "have no time split and are followed less surely: map "
					   "its chunks with 'fathom map --spans'");
	err = request_answer_of(&out->sources, min_probability_ppm, out);
	return err ? error_set(e, err, "cannot follow the requests") : 0;
}

void request_answer_free(struct request_answer *a)
{
	vec_free(&a->offsets);
	request_events_free(&a->events);
	container_names_free(&a->containers);
	requests_free(&a->requests);
	vec_free(&a->hosts);
	sources_free(&a->sources);
}

/* ---- choosing ---- */

/* Whether a trace ends in the range of the answer, as its host has it. */
static bool in_range(const struct requests *r, const struct request_trace *t)
{
	const struct exchange *x = &r->exchanges.data[t->exchange];
	u32 process = x->caller.process ? x->caller.process : x->server.process;

	return partial_in_range(r->hosts[r->processes.list.data[process].host].p, t->end_ns);
}

static bool passes_through(const struct requests *r, const struct request_trace *t,
			   const char *service)
{
	for (size_t i = t->first; i < t->end; i++) {
		const struct request_span *s = &r->spans.data[i];

		if (s->kind == REQUEST_APP)
			continue;
		if (strcmp(request_span_service(r, s->of, s->kind == REQUEST_SERVER), service) ==
			    0 ||
		    strcmp(request_operation(r, s->of)->service, service) == 0 ||
		    strcmp(request_operation(r, s->of)->name, service) == 0)
			return true;
	}
	return false;
}

static bool has_error(const struct requests *r, const struct request_trace *t)
{
	for (size_t i = t->first; i < t->end; i++)
		if (r->spans.data[i].kind != REQUEST_APP &&
		    request_is_unanswered(r, r->spans.data[i].of))
			return true;
	return false;
}

static bool has_id(const struct request_trace *t, const char *id)
{
	char text[TRACE_ID_BYTES];

	trace_id_format(text, t->id);
	return strcasecmp(text, id) == 0;
}

static bool is_chosen(const struct requests *r, const struct request_trace *t,
		      const struct request_choice *c)
{
	if (c->trace_id)
		return has_id(t, c->trace_id);
	return (c->all || !(t->flags & (TRACE_OF_STREAM | TRACE_INSIDE))) && in_range(r, t) &&
	       (!c->through || passes_through(r, t, c->through)) && (!c->errors || has_error(r, t));
}

static int slower_compare(const void *a, const void *b, void *arg)
{
	const struct requests *r = arg;
	const struct request_trace *x = &r->traces.data[*(const u32 *)a];
	const struct request_trace *y = &r->traces.data[*(const u32 *)b];
	u64 dx = x->end_ns - x->begin_ns, dy = y->end_ns - y->begin_ns;

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* The chosen traces, in the order in which they are given. */
struct chosen {
	VEC(u32) list;
};

static int traces_choose(const struct requests *r, const struct request_choice *c,
			 struct chosen *out, struct request_counts *counts)
{
	int err = 0;

	for (size_t i = 0; i < r->traces.count && !err; i++) {
		const struct request_trace *t = &r->traces.data[i];

		if (t->flags & TRACE_OF_STREAM)
			counts->streams++;
		else if (t->flags & TRACE_INSIDE)
			counts->inside++;
		else
			counts->requests++;
		if (is_chosen(r, t, c))
			err = vec_push(&out->list, (u32)i);
	}
	if (!err && c->slowest && out->list.count) {
		qsort_r(out->list.data, out->list.count, sizeof(u32), slower_compare, (void *)r);
		if (out->list.count > c->slowest)
			out->list.count = c->slowest;
	}
	return err;
}

/* ---- giving ---- */

/* A span of the trace, or one of the kernel below the span of a server. */
struct shown_span {
	struct request_span of;
	u32 kernel; /* number in maker.kernel, + 1; 0: it is one of the trace */
};

struct maker {
	struct span_builder builder;
	const struct requests *r;
	const struct request_events *events;
	const struct request_trace *t;
	VEC(struct shown_span) shown; /* of the trace */
	struct request_kernel_list kernel;
	bool brief, with_kernel;
};

/* The span at its place in the brief or the whole trace, with the times of its host. */
static struct span_position position_of(const struct maker *m, const struct shown_span *s)
{
	struct request_bounds b;

	if (s->kernel)
		return request_kernel_position(m->r, &m->kernel.data[s->kernel - 1]);
	if (m->brief && s->of.kind != REQUEST_APP)
		return request_brief_position(m->r, s->of.of);
	b = request_bounds_of(m->r, &s->of);
	return (struct span_position){request_span_id(m->r, &s->of),
				      request_span_parent(m->r, &s->of),
				      b.begin_ns,
				      b.end_ns,
				      false,
				      0};
}

static struct span_position position_at(const struct trace *trace, size_t index)
{
	const struct maker *m = trace->maker;
	const struct shown_span *s = &m->shown.data[index];
	struct span_position at = position_of(m, s);
	s64 shift_ns = request_shift(m->r, &s->of);

	if (!m->brief) {
		at.shift_ns = shift_ns;
		return at;
	}
	at.begin_ns += (u64)shift_ns;
	at.end_ns += (u64)shift_ns;
	return at;
}

/* Moves the times of a span to the line of time of its trace. */
static void span_shift(struct span_builder *b, s64 shift_ns)
{
	b->span.begin_ns += (u64)shift_ns;
	b->span.end_ns += (u64)shift_ns;
	for (size_t i = 0; i < b->span.events_count; i++)
		b->events[i].time_ns += (u64)shift_ns;
}

static const struct span *span_make_shown(struct maker *m, const struct shown_span *s)
{
	const struct span *span;

	if (s->kernel)
		return request_kernel_span(&m->builder, m->r, &m->kernel.data[s->kernel - 1]);
	if (m->brief && s->of.kind != REQUEST_APP)
		return request_span_brief(&m->builder, m->r, s->of.of);
	span = request_span_make(&m->builder, m->r, &s->of);
	if (span && s->of.kind == REQUEST_SERVER)
		request_events_tell(&m->builder, m->events, m->r, s->of.of);
	return m->builder.failed ? NULL : span;
}

static const struct span *span_at(const struct trace *trace, size_t index, bool brief)
{
	struct maker *m = trace->maker;
	const struct shown_span *s = &m->shown.data[index];
	const struct span *span = span_make_shown(m, s);

	(void)brief;
	if (span && m->brief)
		span_shift(&m->builder, request_shift(m->r, &s->of));
	return span;
}

/* Adds what the kernel did for a request. */
static int kernel_find(struct maker *m, u32 exchange)
{
	const struct request_span server = {exchange, REQUEST_SERVER};
	size_t first = m->kernel.count;
	int err = request_kernel_find(&m->kernel, m->r, exchange);

	for (size_t i = first; i < m->kernel.count && !err; i++)
		err = vec_push(&m->shown, ((struct shown_span){server, (u32)i + 1}));
	return err;
}

/* Finds the spans that are shown: of a brief trace the first of each exchange. */
static int shown_find(struct maker *m)
{
	int err = 0;

	m->shown.count = m->kernel.count = 0;
	for (size_t i = m->t->first; i < m->t->end && !err; i++) {
		const struct request_span *s = &m->r->spans.data[i];

		if (!m->brief || s->kind != REQUEST_SERVER ||
		    !m->r->exchanges.data[s->of].caller.process)
			err = vec_push(&m->shown, ((struct shown_span){*s, 0}));
		if (!err && m->with_kernel && s->kind == REQUEST_SERVER)
			err = kernel_find(m, s->of);
	}
	return err;
}

static int trace_give(struct maker *m, const struct request_answer *a, const struct trace_sink *to)
{
	const struct exchange *x = &m->r->exchanges.data[m->t->exchange];
	u32 process = x->caller.process ? x->caller.process : x->server.process;
	u32 host = m->r->processes.list.data[process].host;
	const struct source_view *view = a->sources.list.count > host
						 ? &a->sources.list.data[host]->view
						 : NULL;
	struct trace trace = {.position = position_at, .span = span_at, .maker = m};
	int err = shown_find(m);

	if (err)
		return err;
	trace.spans_count = m->shown.count;
	if (view) {
		trace.clocks = view->clocks;
		trace.clocks_count = view->clocks_count;
	}
	trace_id_format(trace.trace_id, m->t->id);
	return to->take(to->arg, &trace);
}

int request_answer_give(const struct request_answer *a, const struct request_choice *choice,
			const struct trace_sink *to, struct request_counts *counts)
{
	struct maker m = {.r = &a->requests,
			  .events = &a->events,
			  .brief = choice->brief,
			  .with_kernel = choice->kernel};
	struct chosen chosen = {0};
	int err;

	*counts = (struct request_counts){0};
	err = traces_choose(m.r, choice, &chosen, counts);
	for (size_t i = 0; i < chosen.list.count && !err; i++) {
		m.t = &m.r->traces.data[chosen.list.data[i]];
		err = trace_give(&m, a, to);
	}
	counts->given = chosen.list.count;
	vec_free(&chosen.list);
	vec_free(&m.shown);
	vec_free(&m.kernel);
	builder_free(&m.builder);
	return err;
}
