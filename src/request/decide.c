/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries each rule of order.h forward and keeps the one with which most requests are complete when
 * they end; then the same backward, from answers, whose owner the connection gives. Where both ways
 * find the same request, the edge is nearly certain. Then both run again with these edges as given,
 * so that a mistake does not spread. Where they still differ, the one is taken that has come less
 * far from its exact end: fewer calls of the same request were given before.
 */
#include "request/decide.h"

#include "request/probability.h"

#define CLEARLY 0.03   /* so much larger is a share of complete requests */
#define TAUGHT_LEAST 5 /* requests; with fewer a service is learned from guesses, too */

struct deciding {
	struct link *l;
	struct link_process *p;
	struct decide_space *space;
	struct model model[2]; /* forward, backward */
	enum order_rule rule[2];
	struct order_score score[2];
};

int decide_space_init(struct decide_space *s, const struct link *l)
{
	size_t count = l->in->exchange_count + 1;

	*s = (struct decide_space){
		.forward = calloc(count, sizeof(*s->forward)),
		.backward = calloc(count, sizeof(*s->backward)),
		.trial = calloc(count, sizeof(*s->trial)),
		.owners = calloc(count, sizeof(*s->owners)),
		.how = calloc(count, sizeof(*s->how)),
	};
	if (!s->forward || !s->backward || !s->trial || !s->owners || !s->how)
		return -ENOMEM;
	if (l->in->learned && learned_merge(&s->learned, l->in->learned))
		return -ENOMEM;
	learned_sort(&s->learned);
	return order_space_init(&s->order, l);
}

void decide_space_free(struct decide_space *s)
{
	free(s->forward);
	free(s->backward);
	free(s->trial);
	free(s->owners);
	free(s->how);
	learned_free(&s->learned);
	order_space_free(&s->order);
}

static void choices_swap(struct choice **a, struct choice **b)
{
	struct choice *was = *a;

	*a = *b;
	*b = was;
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

static bool is_taught(const struct model *m)
{
	for (u32 i = 0; i < m->service_count; i++) {
		if (m->services[i].requests < TAUGHT_LEAST)
			return false;
	}
	return true;
}

static int model_teach(struct deciding *d, bool backward)
{
	struct model *m = &d->model[backward];
	struct lessons s = {.l = d->l, .p = d->p, .owners = d->space->owners};
	int err = model_init(m, d->l, d->p);

	s.backward = backward;
	s.take = model_take;
	s.to = m;
	if (err)
		return err;
	model_add(m, &d->space->learned, backward);
	err = lessons_alone(&s);
	if (!err && !is_taught(m)) {
		if (backward)
			owners_of_choices(d, d->space->forward);
		else
			err = owners_seed(d);
		if (!err)
			err = lessons_owned(&s);
	}
	model_settle(m);
	return err;
}

static int rule_run(struct deciding *d, bool backward, enum order_rule rule, const u32 *agreed,
		    struct order_score *score)
{
	struct order_task task = {
		.l = d->l,
		.p = d->p,
		.model = &d->model[backward],
		.agreed = agreed,
		.space = &d->space->order,
		.rule = rule,
		.backward = backward,
	};

	return order_run(&task, d->space->trial, score);
}

/* Runs all rules in one direction, and keeps the choices of the best. */
static int rules_try(struct deciding *d, bool backward)
{
	static const enum order_rule forward[] = {ORDER_BATCH, ORDER_FIRST, ORDER_THREAD,
						  ORDER_LAST};
	static const enum order_rule back[] = {ORDER_FIRST, ORDER_BATCH, ORDER_THREAD};
	const enum order_rule *rules = backward ? back : forward;
	size_t count = backward ? sizeof(back) / sizeof(*back) : sizeof(forward) / sizeof(*forward);
	struct choice **best = backward ? &d->space->backward : &d->space->forward;
	struct order_score score;

	for (size_t i = 0; i < count; i++) {
		int err = rule_run(d, backward, rules[i], NULL, &score);

		if (err)
			return err;
		if (i == 0 || order_score_value(&score) > order_score_value(&d->score[backward])) {
			choices_swap(&d->space->trial, best);
			d->score[backward] = score;
			d->rule[backward] = rules[i];
		}
	}
	return 0;
}

static bool choices_agree(const struct choice *forward, const struct choice *backward)
{
	return forward->request == backward->request && forward->evidence != EDGE_TIMING &&
	       backward->evidence != EDGE_TIMING;
}

/* What both ways found holds from now on. */
static void agreed_note(struct deciding *d)
{
	for (size_t i = d->p->begin; i < d->p->end; i++) {
		u32 call = d->l->events[i].number;
		const struct choice *f = &d->space->forward[call];

		if (d->l->events[i].kind != LINK_CALL)
			continue;
		d->space->how[call] = f->evidence;
		d->space->owners[call] = choices_agree(f, &d->space->backward[call]) ? f->request
										     : NOBODY;
	}
}

/* Runs the best rules again with what both ways agreed on. */
static int agreed_hold(struct deciding *d)
{
	struct order_score score;
	int err;

	agreed_note(d);
	err = rule_run(d, false, d->rule[0], d->space->owners, &score);
	if (err)
		return err;
	choices_swap(&d->space->trial, &d->space->forward);
	err = rule_run(d, true, d->rule[1], d->space->owners, &score);
	if (!err)
		choices_swap(&d->space->trial, &d->space->backward);
	return err;
}

static double complete_share(const struct order_score *s)
{
	return s->ended ? (double)s->complete / (double)s->ended : 0;
}

/*
 * Of two ways, the one that may; then the one with which clearly more requests of the process are
 * complete; then the one nearer to its exact end.
 */
static const struct choice *choice_better(const struct deciding *d, const struct choice *forward,
					  const struct choice *backward)
{
	double more;

	if (backward->request == NOBODY)
		return forward;
	if (forward->request == NOBODY)
		return backward;
	if ((forward->evidence == EDGE_TIMING) != (backward->evidence == EDGE_TIMING))
		return forward->evidence == EDGE_TIMING ? backward : forward;
	more = complete_share(&d->score[0]) - complete_share(&d->score[1]);
	if (more > CLEARLY || more < -CLEARLY)
		return more > 0 ? forward : backward;
	return forward->hop <= backward->hop ? forward : backward;
}

static void edge_fill(struct deciding *d, u32 call, u32 thread, struct edge *edge)
{
	const struct link_item *item = &d->l->items[call];
	const struct choice *f = &d->space->forward[call], *b = &d->space->backward[call];
	const struct choice *c = choice_better(d, f, b);
	struct probability_of of = {.p = d->p, .thread = &d->l->threads.data[thread]};
	bool back = c == b && c != f;

	of.complete = complete_share(&d->score[back]);
	of.other = complete_share(&d->score[!back]);

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
			edge_fill(d, e->number, e->thread, &edges[e->number]);
	}
}

/* Labels decide all calls: there is nothing to try. */
static void labels_choose(struct deciding *d)
{
	for (size_t i = d->p->begin; i < d->p->end; i++) {
		u32 call = d->l->events[i].number;

		if (d->l->events[i].kind != LINK_CALL)
			continue;
		d->space->forward[call] = (struct choice){.request = d->l->items[call].request};
		d->space->backward[call] = d->space->forward[call];
		d->space->owners[call] = NOBODY;
	}
}

static int ways_find(struct deciding *d)
{
	int err = model_teach(d, false);

	if (!err)
		err = rules_try(d, false);
	if (!err)
		err = model_teach(d, true);
	if (!err)
		err = rules_try(d, true);
	return err ? err : agreed_hold(d);
}

int process_decide(struct link *l, struct link_process *p, struct decide_space *space,
		   struct edge *edges)
{
	struct deciding d = {.l = l, .p = p, .space = space};
	int err = 0;

	for (size_t i = p->begin; i < p->end; i++) {
		const struct link_event *e = &l->events[i];

		if (e->kind == LINK_CALL && l->items[e->number].request != NOBODY) {
			l->threads.data[e->thread].labelled++;
			p->labelled++;
		}
	}
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
