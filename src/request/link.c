/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To which request does a call belong? Candidates are the requests that are open in the calling
 * process. Each process is looked at alone, over its events in order of time (link_events.c):
 * requests that it receives and answers, calls that it makes and their answers, wake-ups of its
 * threads. The first of these rules decides:
 *
 *  1. Given (contexts.c): the application published the same context at both.
 *  2. Light threads (lights.c): the goroutine that received the request, or one that it made.
 *  3. Sections (sections.c): a thread that does one thing at a time works at the request that it
 *     received, that was handed to it by a wake-up, or that it answers or hands back at the end.
 *     What both sides of sections say is compared: where it differs, wakers are not believed. A
 *     wake-up at a lock hands nothing over (link_words.c). A thread that had two requests under
 *     way at once has no sections: it is the thread of an event loop, or it carries light threads.
 *     A process that was made for a request belongs to it.
 *  4. Connect: the first call on a connection belongs to whom the connect belongs to.
 *  5. Sequence and order (order.c), for all that has no label from the rules above. It is learned
 *     (learn.c, model.c) from requests that had their process to themselves how often a service
 *     calls which peer for one request, what has begun and ended by then, and how many calls are
 *     under way beside. So only few of the open requests may make a call now. Loops that go on at
 *     once take the input just before, loops that defer take the one that came first. The same is
 *     done backward in time, from the answers. Which rule a process follows is told by how many
 *     requests are complete when they end, and by how often both ways agree (decide.c). Where a
 *     service makes several calls at once and some of them have labels, a call belongs to the
 *     request whose other calls begin at the same time.
 *  6. Timing: how well the delays fit decides between rules that are equal in all else. It never
 *     decides alone: where no request may make the call, the one with the last input gets it with
 *     a small probability.
 *
 * Each edge has its evidence and a probability (probability.c).
 */
#include "request/decide.h"

static const char *const evidence_names[] = {
	[EDGE_NONE] = "none",		[EDGE_GIVEN] = "given",	    [EDGE_BYTES] = "bytes",
	[EDGE_GOROUTINE] = "goroutine", [EDGE_CONTEXT] = "context", [EDGE_THREAD] = "thread",
	[EDGE_WAKE] = "wake",		[EDGE_CONNECT] = "connect", [EDGE_SEQUENCE] = "sequence",
	[EDGE_ORDER] = "order",		[EDGE_TIMING] = "timing",
};

_Static_assert(sizeof(evidence_names) / sizeof(*evidence_names) == EDGE_EVIDENCE_COUNT,
	       "each evidence has its name");

const char *edge_evidence_name(enum edge_evidence evidence)
{
	return evidence_names[evidence];
}

/* Makes the labels of all processes. */
static int labels_make(struct link *l)
{
	int err = link_words(l);

	for (size_t i = 0; i < l->in->process_count && !err; i++) {
		struct link_process *p = &l->processes[i];

		if (p->begin == p->end)
			continue;
		sections_label(l, p);
		err = lights_label(l, p);
		if (!err)
			err = contexts_label(l, p);
	}
	return err ? err : forks_label(l);
}

static int edges_decide(struct link *l, struct edge *edges)
{
	struct decide_space space;
	int err = decide_space_init(&space, l);

	for (size_t i = 0; i < l->in->process_count && !err; i++) {
		if (l->processes[i].calls)
			err = process_decide(l, &l->processes[i], &space, edges);
	}
	decide_space_free(&space);
	return err;
}

int request_link(const struct link_input *in, struct edge *edges)
{
	struct link l = {.in = in};
	int err = link_events(&l);

	for (size_t i = 0; i < in->exchange_count; i++)
		edges[i] = (struct edge){.parent = EDGE_ROOT};
	if (!err)
		err = labels_make(&l);
	if (!err)
		err = edges_decide(&l, edges);
	link_free(&l);
	return err;
}

static int learned_take(void *learned, const struct learned_key *key, u64 count)
{
	return learned_add(learned, key, count);
}

int request_learn(const struct link_input *in, struct learned *learned)
{
	struct link l = {.in = in};
	struct lessons s = {.l = &l,
			    .take = learned_take,
			    .to = learned,
			    .from_ns = in->taught_from_ns,
			    .until_ns = in->taught_until_ns};
	int err = link_events(&l);

	s.owners = calloc(in->exchange_count + 1, sizeof(*s.owners));
	if (!s.owners)
		err = -ENOMEM;
	for (size_t i = 0; i < in->process_count && !err; i++) {
		s.p = &l.processes[i];
		s.backward = false;
		if (!s.p->requests)
			continue;
		err = lessons_alone(&s);
		s.backward = true;
		if (!err)
			err = lessons_alone(&s);
	}
	free(s.owners);
	link_free(&l);
	return err;
}
