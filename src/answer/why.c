/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/critical_words.h"
#include "answer/peer_name.h"
#include "answer/process_name.h"
#include "answer/waited_for.h"
#include "map/fact/query.h"
#include "map/idle.h"

#define LINKS_MOST 6		  /* from a thread to the one for whom it waits, and so on */
#define RUNS_TOLD_NS 100000000ull /* a cut tells of each thread that runs then */
#define NAME_BYTES 512

struct asking {
	const struct requests *r;
	struct why_answer *out;
	u64 at_ns; /* by the clock of the host of the process */
	struct waited_connections connections;
};

/* A thread on the way. */
struct thread_at {
	u32 host, tid;
	u64 at_ns;
};

/* ---- connections ---- */

/* Of the socket on which the thread sleeps, else of the one that it used last. */
static struct waited_for connection_of(const struct asking *ask, const struct thread_at *at,
				       const struct kspan *k)
{
	if (k->file.kind == FILE_KIND_tcp || k->file.kind == FILE_KIND_unix)
		return waited_on_file(&ask->connections, at->host, k->file.key);
	return waited_by_thread(&ask->connections, at->host, at->tid);
}

/* The other end: its address, and who is there; a tid of 0: it was not recorded. */
static const char *peer_text(struct asking *ask, const struct waited_for *w,
			     const struct critical_who *who)
{
	const struct socket_end *end = w->server ? &w->connection->server : &w->connection->caller;
	struct span_builder *b = &ask->out->builder;
	char name[NAME_BYTES] = "";

	if (end->socket)
		peer_name(ask->r->hosts[end->host].p, end->socket, name, sizeof(name));
	if (!*name)
		return who->name ? critical_who_text(b, who) : "a peer that was not recorded";
	if (!who->name)
		return builder_text(b, who->tid ? "%s" : "%s (not recorded)", name);
	return builder_text(b, "%s, %s", name, critical_who_text(b, who));
}

/* What the thread waits for from the other end. *next gets the thread there; tid 0: not known. */
static const char *connection_text(struct asking *ask, const struct waited_for *w, bool idle,
				   struct thread_at *next)
{
	const struct socket_end *peer = w->server ? &w->connection->caller : &w->connection->server;
	struct touch last =
		touch_last(peer, why_instant(ask->r->hosts[peer->host].p, ask->out->at_begin));
	struct critical_who who = {0};
	const char *text;

	if (last.tid && peer->sent.count + peer->received.count) {
		*next = (struct thread_at){
			peer->host, last.tid,
			why_instant(ask->r->hosts[peer->host].p, ask->out->at_begin)};
		who = critical_who_of(&ask->out->builder, ask->r, peer->host, last.tid,
				      last.time_ns);
	}
	text = peer_text(ask, w, &who);
	if (!w->server)
		return builder_text(&ask->out->builder,
				    w->last.sent ? "for an answer of %s"
				    : idle	 ? "for new work, since it had an answer of %s"
						 : "for more from %s",
				    text);
	return builder_text(&ask->out->builder,
			    w->last.sent ? "for its client %s, which it has answered"
					 : "for more from its client %s",
			    text);
}

/* ---- threads ---- */

/* For what a blocked thread waits; it may not be idle after all. *next gets the thread that could
 * end it; tid 0: not known. */
static const char *blocked_text(struct asking *ask, const struct thread_at *at,
				const struct kspan *k, bool *idle, struct thread_at *next)
{
	const struct partial *p = ask->r->hosts[at->host].p;
	const struct critical_segment s = {
		.part = k->part, .file = k->file, .wake = k->wake, .local_ns = k->begin_ns};
	struct waited_for w = {0};

	if (!k->file.kind && k->file.flags & FILE_NONE_FUTEX && k->file.dev && !*idle) {
		struct critical_who owner = critical_who_of(&ask->out->builder, ask->r, at->host,
							    k->file.dev, at->at_ns);

		*next = (struct thread_at){at->host, k->file.dev, at->at_ns};
		return builder_text(&ask->out->builder, "for a lock that %s has",
				    critical_who_text(&ask->out->builder, &owner));
	}
	w = connection_of(ask, at, k);
	if (w.connection &&
	    (k->part == SPLIT_network || k->part == SPLIT_ipc || (*idle && k->part != SPLIT_lock)))
		return connection_text(ask, &w, *idle, next);
	if (w.connection && w.server && !w.last.sent && *idle) {
		*idle = false; /* it has a request, so it waits for no other one */
		return builder_text(&ask->out->builder,
				    "for a lock or a condition, with a request of its client %s",
				    peer_text(ask, &w, &(struct critical_who){.tid = at->tid}));
	}
	return *idle ? "for new work" : critical_wait_text(&ask->out->builder, p, &s);
}

/* A thread that is not blocked: it runs, it is gone, or nothing tells. */
static void line_of_other(struct why_line *line, const struct partial *p, u64 since_ns, u64 at_ns,
			  bool at_begin)
{
	const struct life *life = map_get(&p->current, line->who.tid);

	line->state = "running";
	if (at_begin) { /* what ended before it was not loaded */
		line->verb = "ran";
	} else if (life && life->state.place == LIFE_ON_CPU && since_ns &&
		   life->last_ns + RUNS_TOLD_NS >= at_ns) {
		line->verb = "has run";
		line->since_ns = since_ns;
		line->ns = at_ns - since_ns;
	} else if (!life || life->state.place == LIFE_GONE) {
		line->verb = "has ended";
		line->state = "ended";
	} else {
		line->verb = "did";
		line->state = "unknown";
		line->rest = "what is not known: the recording has nothing about it";
	}
}

/* A thread that is off its CPU. *next gets for whom it waits. */
static void line_of_wait(struct asking *ask, const struct thread_at *at, const struct kspan *k,
			 struct why_line *line, struct thread_at *next)
{
	bool sleeps = life_leave_sleeps(k->state & LEAVE_MASK);

	line->verb = "has waited";
	line->since_ns = k->begin_ns;
	line->ns = at->at_ns - k->begin_ns;
	line->idle = idle_is_wait(ask->r->hosts[at->host].p, k);
	line->state = sleeps ? "waiting" : "runnable";
	line->rest = sleeps ? blocked_text(ask, at, k, &line->idle, next) : "for a CPU";
	if (sleeps)
		line->cause = split_part_name(line->idle ? SPLIT_idle : k->part);
}

/* Adds the line of a thread; *next gets for whom it waits. 0 or -ENOMEM. */
static int line_add(struct asking *ask, const struct thread_at *at, u32 depth,
		    struct thread_at *next)
{
	const struct partial *p = ask->r->hosts[at->host].p;
	const struct thread_times *times = &ask->r->times[at->host];
	struct span_builder *b = &ask->out->builder;
	struct why_line line = {.host = ask->r->hosts[at->host].name, .depth = depth, .rest = ""};
	struct kspan k;
	bool waited = thread_times_wait(times, at->tid, 0, at->at_ns, &k);

	*next = (struct thread_at){0};
	b->p = p;
	line.who = critical_who_of(b, ask->r, at->host, at->tid, at->at_ns);
	line.subject = critical_who_text(b, &line.who);
	if (waited && k.end_ns >= at->at_ns)
		line_of_wait(ask, at, &k, &line, next);
	else
		line_of_other(&line, p, waited ? k.end_ns : 0, at->at_ns, ask->out->at_begin);
	return b->failed ? -ENOMEM : vec_push(&ask->out->lines, line);
}

/* Whether the thread stands on the way already: two wait for each other. */
static bool is_on_way(const struct asking *ask, size_t first, const struct thread_at *at)
{
	for (size_t i = first; i < ask->out->lines.count; i++) {
		const struct why_line *line = &ask->out->lines.data[i];

		if (line->who.tid == at->tid && line->host == ask->r->hosts[at->host].name)
			return true;
	}
	return false;
}

static int chain_add(struct asking *ask, u32 host, u32 tid)
{
	struct thread_at at = {host, tid, ask->at_ns}, next;
	struct why_chain chain = {.first = ask->out->lines.count};
	int err = 0;

	for (u32 depth = 0; depth < LINKS_MOST && at.tid && !err; depth++) {
		err = line_add(ask, &at, depth, &next);
		at = is_on_way(ask, chain.first, &next) ? (struct thread_at){0} : next;
	}
	chain.end = ask->out->lines.count;
	return err ? err : vec_push(&ask->out->chains, chain);
}

/* ---- the process ---- */

static bool lives_then(const struct life *l, u32 pid, u64 at_ns, bool at_begin)
{
	if (l->pid != pid)
		return false;
	if (l->state.place == LIFE_GONE && (!at_begin || l->last_ns < at_ns))
		return false;
	return !l->born || l->first_ns <= at_ns; /* a sleeper has no record around it */
}

/* The host of a process that lives at its end. -ENOENT, -ENOTUNIQ: see why_process(). */
static int host_find(const struct requests *r, u32 pid, bool at_begin, u32 *host)
{
	int found = -ENOENT;

	for (u32 i = 0; i < r->hosts_count; i++) {
		const struct partial *p = r->hosts[i].p;
		bool has = false;

		for (size_t k = 0; k < p->lives.count && !has; k++)
			has = lives_then(p->lives.data[k], pid, why_instant(p, at_begin), at_begin);
		if (has && found == 0)
			return -ENOTUNIQ;
		if (has) {
			found = 0;
			*host = i;
		}
	}
	return found;
}

static int chain_compare(const void *a, const void *b, void *arg)
{
	const struct why_answer *out = arg;
	const struct why_line *x = &out->lines.data[((const struct why_chain *)a)->first];
	const struct why_line *y = &out->lines.data[((const struct why_chain *)b)->first];

	if (x->idle != y->idle)
		return x->idle ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->who.tid < y->who.tid ? -1 : x->who.tid > y->who.tid;
}

/* Whether two threads wait for the same, as threads of a pool do. */
static bool is_alike(const struct why_answer *out, const struct why_chain *a,
		     const struct why_chain *b)
{
	const struct why_line *x = &out->lines.data[a->first], *y = &out->lines.data[b->first];

	return a->end - a->first == 1 && b->end - b->first == 1 && x->idle == y->idle &&
	       strcmp(x->verb, y->verb) == 0 && strcmp(x->rest, y->rest) == 0;
}

/* Sorts the chains, and puts those together that follow each other and are alike. */
static void chains_finish(struct why_answer *out)
{
	size_t kept = 0;

	if (out->chains.count)
		qsort_r(out->chains.data, out->chains.count, sizeof(*out->chains.data),
			chain_compare, out);
	for (size_t i = 0; i < out->chains.count; i++) {
		struct why_chain *last = kept ? &out->chains.data[kept - 1] : NULL;

		if (last && is_alike(out, last, &out->chains.data[i]))
			last->alike++;
		else
			out->chains.data[kept++] = out->chains.data[i];
	}
	out->chains.count = kept;
}

int why_process(const struct request_answer *a, u32 pid, bool at_begin, struct why_answer *out)
{
	struct asking ask = {.r = &a->requests, .out = out};
	const struct partial *p;
	u32 host = 0;
	int err = host_find(ask.r, pid, at_begin, &host);

	if (err)
		return err;
	p = ask.r->hosts[host].p;
	out->host = ask.r->hosts[host].name;
	out->at_begin = at_begin;
	ask.at_ns = out->at_ns = why_instant(p, at_begin);
	err = waited_connections_make(&ask.connections, ask.r, at_begin);
	for (size_t i = 0; i < p->lives.count && !err; i++) {
		if (!lives_then(p->lives.data[i], pid, ask.at_ns, at_begin))
			continue;
		if (out->threads++ < WHY_THREADS_MOST)
			err = chain_add(&ask, host, p->lives.data[i]->tid);
	}
	waited_connections_free(&ask.connections);
	out->who = critical_who_of(&out->builder, ask.r, host, pid, out->at_ns);
	chains_finish(out);
	return err ? err : out->builder.failed ? -ENOMEM : 0;
}

void why_free(struct why_answer *out)
{
	vec_free(&out->lines);
	vec_free(&out->chains);
	builder_free(&out->builder);
}
