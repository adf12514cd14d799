/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries the rules of order.h forward, and backward from the answers, whose owner the connection
 * gives. Of each direction the way is taken with which most requests are complete when they end,
 * and which agree most with each other. Where both ways find the same request, the edge is nearly
 * certain. Then both run again with these edges as given, so that a mistake does not spread. Where
 * they still differ, that way counts which completes clearly more requests, or else the one that
 * has come less far from its exact end: fewer calls of the same request were given before.
 */
#include "request/decide.h"

#include "request/probability.h"

#define CLEARLY 0.03   /* so much larger is a share of complete requests */
#define FEW_PERCENT 5  /* of the requests to services that are known */
#define WHOLLY 0.999   /* a share that leaves nothing to gain */
#define TAUGHT_LEAST 5 /* requests; with fewer a service is learned from guesses, too */

struct deciding {
	struct link *l;
	struct link_process *p;
	struct decide_space *space;
	struct model model[2]; /* forward, backward */
	struct order_score scores[2][DECIDE_RULES];
	u32 way_count;	    /* that were tried in each direction */
	u32 best[2];	    /* of the ways in each direction */
	double complete[2]; /* the share of requests that are, in the best ways */
	double agree;	    /* of calls without a label, the share of which they find the same */
};

int decide_space_init(struct decide_space *s, const struct link *l)
{
	size_t count = l->in->exchange_count + 1;
	bool failed = false;

	*s = (struct decide_space){
		.owners = calloc(count, sizeof(*s->owners)),
		.how = calloc(count, sizeof(*s->how)),
	};
	for (int i = 0; i < 2 * DECIDE_RULES; i++) {
		struct choice **way = &s->ways[i / DECIDE_RULES][i % DECIDE_RULES];

		*way = calloc(count, sizeof(**way));
		failed |= !*way;
	}
	if (failed || !s->owners || !s->how)
		return -ENOMEM;
	if (l->in->learned && learned_merge(&s->learned, l->in->learned))
		return -ENOMEM;
	learned_sort(&s->learned);
	return order_space_init(&s->order, l);
}

void decide_space_free(struct decide_space *s)
{
	for (int i = 0; i < 2 * DECIDE_RULES; i++)
		free(s->ways[i / DECIDE_RULES][i % DECIDE_RULES]);
	free(s->owners);
	free(s->how);
	learned_free(&s->learned);
	order_space_free(&s->order);
}

/* A guess, where nothing was learned yet: the request at which the thread was last. */
struct seed_pass {
	struct link *l;
	u32 *owners;
	u32 *current; /* by number of the thread */
};

static void seed_event(struct seed_pass *s, const struct link_event *e)
{
	const struct link *l = s->l;
	u32 *current = &s->current[e->thread], label;
	const struct hand_off *h;

	switch ((enum link_event_kind)e->kind) {
	case LINK_REQUEST:
		*current = e->number;
		break;
	case LINK_CALL:
		label = l->items[e->number].request;
		if (label == NOBODY && link_is_open(l, *current, e->time_ns))
			label = *current;
		s->owners[e->number] = label;
		break;
	case LINK_DONE:
		if (s->owners[e->number] != NOBODY)
			*current = s->owners[e->number];
		break;
	case LINK_WAKE:
		h = &l->in->hand_offs[e->number];
		label = (u32)(uintptr_t)map_get(&l->thread_numbers,
						(u64)h->process << 32 | h->waker) -
			1;
		if (!link_word_is_lock(l, h) && link_is_open(l, s->current[label], e->time_ns))
			*current = s->current[label];
		break;
	default:
		break;
	}
}

static int owners_seed(struct deciding *d)
{
	struct seed_pass s = {.l = d->l, .owners = d->space->owners};
	size_t bytes = (d->l->threads.count + 1) * sizeof(*s.current);

	s.current = malloc(bytes);
	if (!s.current)
		return -ENOMEM;
	memset(s.current, 0xff, bytes);
	for (size_t i = d->p->begin; i < d->p->end; i++)
		seed_event(&s, &d->l->events[i]);
	free(s.current);
	return 0;
}

static void owners_of_choices(struct deciding *d, const struct choice *choices)
{
	for (size_t i = d->p->begin; i < d->p->end; i++) {
		u32 number = d->l->events[i].number;

		if (d->l->events[i].kind == LINK_CALL)
			d->space->owners[number] = choices[number].request;
	}
}

static double complete_share(const struct order_score *s)
{
	return s->ended ? (double)s->complete / (double)s->ended : 0;
}

/*
 * Notes which services need no guesses. True if none does. Next to a service that is well known,
 * one with few requests is not guessed at: it is rather a connection of which the wrong end was
 * taken for the server.
 */
static bool all_are_taught(struct model *m)
{
	u64 known = 0;
	bool all = true;

	for (u32 i = 0; i < m->service_count; i++)
		known += m->services[i].requests >= TAUGHT_LEAST ? m->received[i] : 0;
	for (u32 i = 0; i < m->service_count; i++) {
		m->services[i].taught = m->services[i].requests >= TAUGHT_LEAST ||
					m->received[i] * 100 < known * FEW_PERCENT;
		all &= m->services[i].taught;
	}
	return all;
}

static int model_teach(struct deciding *d, int backward)
{
	struct model *m = &d->model[backward];
	struct lessons s = {.l = d->l,
			    .p = d->p,
			    .owners = d->space->owners,
			    .from_ns = d->l->in->taught_from_ns,
			    .until_ns = d->l->in->taught_until_ns};
	int err = model_init(m, d->l, d->p);

	s.backward = backward;
	s.take = model_take;
	s.to = m;
	if (err)
		return err;
	model_number(m, d->l, d->p);
	model_add(m, &d->space->learned, backward);
	err = lessons_alone(&s);
	if (!err && !all_are_taught(m)) {
		if (backward)
			owners_of_choices(d, d->space->ways[0][0]);
		else
			err = owners_seed(d);
		if (!err)
			err = lessons_owned(&s);
	}
	model_settle(m);
	return err;
}

static const enum order_rule rules[2][DECIDE_RULES] = {
	{ORDER_BATCH, ORDER_FIRST, ORDER_THREAD},
	{ORDER_FIRST, ORDER_BATCH, ORDER_THREAD},
};

static struct choice *way_best(const struct deciding *d, int backward)
{
	return d->space->ways[backward][d->best[backward]];
}

static int way_run(struct deciding *d, int backward, u32 way, const u32 *agreed)
{
	struct order_score again, *score = agreed ? &again : &d->scores[backward][way];
	struct order_task task = {
		.l = d->l,
		.p = d->p,
		.model = &d->model[backward],
		.agreed = agreed,
		.space = &d->space->order,
		.rule = rules[backward][way],
		.backward = backward,
	};

	return order_run(&task, d->space->ways[backward][way], score);
}

static bool choices_agree(const struct choice *forward, const struct choice *backward)
{
	return forward->request == backward->request && forward->evidence != EDGE_TIMING &&
	       backward->evidence != EDGE_TIMING;
}

/* The share of calls of which a way forward and one backward find the same request. */
static double ways_agree(const struct deciding *d, u32 forward, u32 backward)
{
	const struct choice *f = d->space->ways[0][forward], *b = d->space->ways[1][backward];
	u64 agree = 0;

	for (size_t i = d->p->begin; i < d->p->end; i++) {
		u32 call = d->l->events[i].number;

		if (d->l->events[i].kind == LINK_CALL)
			agree += choices_agree(&f[call], &b[call]);
	}
	return (double)agree / d->p->calls;
}

/* Takes the way in each direction that together complete most requests and agree most. */
static void ways_choose(struct deciding *d)
{
	double most = -1;

	for (u32 f = 0; f < d->way_count; f++) {
		for (u32 b = 0; b < d->way_count; b++) {
			double value = order_score_value(&d->scores[0][f]) +
				       order_score_value(&d->scores[1][b]) + ways_agree(d, f, b);

			if (value > most) {
				most = value;
				d->best[0] = f;
				d->best[1] = b;
			}
		}
	}
	for (int i = 0; i < 2; i++)
		d->complete[i] = complete_share(&d->scores[i][d->best[i]]);
}

/* What both ways found holds from now on. */
static void agreed_note(struct deciding *d)
{
	const struct choice *f = way_best(d, 0), *b = way_best(d, 1);
	u64 calls = 0, agree = 0;

	for (size_t i = d->p->begin; i < d->p->end; i++) {
		u32 call = d->l->events[i].number;
		bool agrees;

		if (d->l->events[i].kind != LINK_CALL)
			continue;
		agrees = choices_agree(&f[call], &b[call]);
		d->space->how[call] = f[call].evidence;
		d->space->owners[call] = agrees ? f[call].request : NOBODY;
		calls += d->l->items[call].request == NOBODY;
		agree += d->l->items[call].request == NOBODY && agrees;
	}
	d->agree = calls ? (double)agree / (double)calls : 1;
}

/* Runs the best ways again with what both agreed on. */
static int agreed_hold(struct deciding *d)
{
	int err;

	agreed_note(d);
	if (d->way_count == 1)
		return 0;
	err = way_run(d, 0, d->best[0], d->space->owners);
	return err ? err : way_run(d, 1, d->best[1], d->space->owners);
}

/*
 * Of two ways, the one that may; then the one with which clearly more requests of the process are
 * complete; then the one nearer to its exact end.
 */
static const struct choice *choice_better(const struct deciding *d, const struct choice *forward,
					  const struct choice *backward)
{
	double more;

	if (backward->request == NOBODY || forward->near)
		return forward;
	if (forward->request == NOBODY)
		return backward;
	if ((forward->evidence == EDGE_TIMING) != (backward->evidence == EDGE_TIMING))
		return forward->evidence == EDGE_TIMING ? backward : forward;
	more = d->complete[0] - d->complete[1];
	if (more > CLEARLY || more < -CLEARLY)
		return more > 0 ? forward : backward;
	return forward->hop <= backward->hop ? forward : backward;
}

static void edge_fill(struct deciding *d, u32 call, struct edge *edge)
{
	const struct link_item *item = &d->l->items[call];
	const struct choice *f = &way_best(d, 0)[call], *b = &way_best(d, 1)[call];
	const struct choice *c = choice_better(d, f, b);
	struct probability_of of = {.p = d->p};
	bool back = c == b;

	of.complete = d->complete[back];
	of.other = d->complete[!back];
	of.agree = d->agree;
	*edge = (struct edge){c->request, 0, item->candidates, c->evidence, 0, 0};
	edge->agrees = choices_agree(f, b);
	if (item->request != NOBODY)
		*edge = (struct edge){item->request, 0, item->candidates, item->evidence, 1, 0};
	else if (d->space->owners[call] != NOBODY)
		edge->evidence = d->space->how[call];
	if (edge->parent == NOBODY || edge->parent == call)
		*edge = (struct edge){.parent = EDGE_ROOT, .candidates = item->candidates};
	else
		edge->probability_ppm = edge_probability(edge, &of);
}

static void edges_fill(struct deciding *d, struct edge *edges)
{
	for (size_t i = d->p->begin; i < d->p->end; i++) {
		const struct link_event *e = &d->l->events[i];

		if (e->kind == LINK_CALL)
			edge_fill(d, e->number, &edges[e->number]);
	}
}

/* Labels decide all calls: there is nothing to try. */
static void labels_choose(struct deciding *d)
{
	for (size_t i = d->p->begin; i < d->p->end; i++) {
		u32 call = d->l->events[i].number;

		if (d->l->events[i].kind != LINK_CALL)
			continue;
		way_best(d, 0)[call] = (struct choice){.request = d->l->items[call].request};
		way_best(d, 1)[call] = way_best(d, 0)[call];
		d->space->owners[call] = NOBODY;
	}
}

/* Runs the ways from one number on, up to another one, in both directions. */
static int ways_run(struct deciding *d, u32 from, u32 until)
{
	int err = 0;

	for (u32 i = from; i < until && !err; i++)
		err = way_run(d, 0, i, NULL);
	if (!err && from == 0)
		err = model_teach(d, 1);
	for (u32 i = from; i < until && !err; i++)
		err = way_run(d, 1, i, NULL);
	return err;
}

/* Whether the first way forward and the first one backward leave nothing to decide. */
static bool first_is_enough(const struct deciding *d)
{
	return ways_agree(d, 0, 0) > WHOLLY && complete_share(&d->scores[0][0]) > WHOLLY &&
	       complete_share(&d->scores[1][0]) > WHOLLY;
}

static int ways_find(struct deciding *d)
{
	int err = model_teach(d, 0);

	d->way_count = 1;
	if (!err)
		err = ways_run(d, 0, 1);
	if (!err && !first_is_enough(d)) {
		/* a single thread makes no difference between the last two rules */
		d->way_count = d->p->callers == 1 ? DECIDE_RULES - 1 : DECIDE_RULES;
		err = ways_run(d, 1, d->way_count);
	}
	if (err)
		return err;
	ways_choose(d);
	return agreed_hold(d);
}

static void labels_count(struct link *l, struct link_process *p)
{
	for (size_t i = p->begin; i < p->end; i++) {
		const struct link_event *e = &l->events[i];
		struct link_thread *t = &l->threads.data[e->thread];

		if (e->kind != LINK_CALL || l->items[e->number].request == NOBODY)
			continue;
		p->section_calls += t->labelled++ ? 0 : t->calls;
		p->labelled++;
	}
}

/*
 * A thread that receives its requests itself does nothing for those of others. Nor does one none of
 * whose calls has a label, if it calls without any request, too, and sections are known of the
 * others.
 */
static bool is_apart(const struct link_process *p, const struct link_thread *t)
{
	if (t->mixed || p->has_lights)
		return false;
	if (t->reads)
		return !t->has_word;
	return !t->labelled && t->outside && p->labelled * 2 > p->section_calls;
}

static void threads_apart(struct link *l, const struct link_process *p)
{
	for (size_t i = p->begin; i < p->end; i++) {
		const struct link_event *e = &l->events[i];

		if (e->kind == LINK_CALL)
			l->threads.data[e->thread].apart = is_apart(p, &l->threads.data[e->thread]);
	}
}

int process_decide(struct link *l, struct link_process *p, struct decide_space *space,
		   struct edge *edges)
{
	struct deciding d = {.l = l, .p = p, .space = space};
	int err = 0;

	labels_count(l, p);
	threads_apart(l, p);
	if (p->labelled == p->calls || !p->requests)
		labels_choose(&d);
	else
		err = ways_find(&d);
	if (!err)
		edges_fill(&d, edges);
	model_free(&d.model[0]);
	model_free(&d.model[1]);
	return err;
}
