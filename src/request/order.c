/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each peer there is a list of the open requests that may call it now, in the order of their
 * last inputs. So a choice looks at one end of a list, however many requests are open. An input
 * moves its request to the end of the lists of its peers.
 */
#include "request/order.h"

#define BATCH_MOST 16	       /* inputs of one read that are told apart */
#define MODEL_SURE_REQUESTS 20 /* after so many a model says what a service does not do */
/* Delays only break ties: under load they are longer than those that were learned. */
#define FIT_UNKNOWN (-3200.0)
#define FIT_WEIGHT 1000000.0
#define NOT_LISTED (UINT32_MAX - 1)
#define NEAR_WALK 128	     /* requests that are compared */
#define NEAR_MOST_NS 5000000 /* calls that begin at once begin within this time */
#define NOT_NEXT 16	     /* times as far is one that mostly does something before */

struct order_thread {
	u32 pass;     /* in which the rest is valid */
	u32 current;  /* place of the request at which it worked last; NOBODY */
	u64 batch_ns; /* its last input, or inputs at the same instant */
	u32 batch_count;
	u32 batch[BATCH_MOST]; /* places of their requests */
};

struct order_node {
	u32 next, prev; /* next is NOT_LISTED outside of the list */
};

struct order_list {
	u32 head, tail;
};

struct order_request {
	u32 exchange;
	u32 service;
	u64 input_ns; /* of the last input */
	u64 label_ns; /* begin of its last call with a label; 0: none yet */
	u32 label;    /* its next call with a label; NOBODY: none */
	u16 hops;
	bool open;
	struct model_calls calls;
};

struct order {
	const struct order_task *task;
	const struct model *m;
	struct choice *choices;
	struct order_score *score;
	u32 list_count;			/* one for each peer, and one of all that are open */
	struct order_request *requests; /* by place */
	struct order_node *nodes;	/* by place, then list */
	struct order_list lists[MODEL_PEERS + 1];
};

int order_space_init(struct order_space *space, const struct link *l)
{
	*space = (struct order_space){calloc(l->threads.count + 1, sizeof(*space->threads)), 0};
	return space->threads ? 0 : -ENOMEM;
}

void order_space_free(struct order_space *space)
{
	free(space->threads);
}

double order_score_value(const struct order_score *s)
{
	double complete = s->ended ? (double)s->complete / (double)s->ended : 0;
	double fit = s->fits ? (double)s->fit / (double)s->fits : FIT_UNKNOWN;

	return complete + fit / FIT_WEIGHT;
}

static struct order_node *node_of(const struct order *o, u32 place, u32 list)
{
	return &o->nodes[(size_t)place * o->list_count + list];
}

static void list_remove(struct order *o, u32 place, u32 list)
{
	struct order_node *node = node_of(o, place, list);

	if (node->next == NOT_LISTED)
		return;
	if (node->prev == NOBODY)
		o->lists[list].head = node->next;
	else
		node_of(o, node->prev, list)->next = node->next;
	if (node->next == NOBODY)
		o->lists[list].tail = node->prev;
	else
		node_of(o, node->next, list)->prev = node->prev;
	node->next = NOT_LISTED;
}

static void list_append(struct order *o, u32 place, u32 list)
{
	struct order_node *node = node_of(o, place, list);

	*node = (struct order_node){NOBODY, o->lists[list].tail};
	if (node->prev == NOBODY)
		o->lists[list].head = place;
	else
		node_of(o, node->prev, list)->next = place;
	o->lists[list].tail = place;
}

static bool may(const struct order *o, u32 place, u32 peer)
{
	const struct order_request *r = &o->requests[place];

	return r->open && r->service < o->m->service_count && peer < o->m->peer_count &&
	       model_may(o->m, r->service, peer, &r->calls);
}

/* The request may call the peer or not, and stands in the list accordingly. */
static void list_update(struct order *o, u32 place, u32 peer, bool input)
{
	bool is_listed = node_of(o, place, peer)->next != NOT_LISTED;
	bool is_due = may(o, place, peer);

	if (is_listed && (input || !is_due))
		list_remove(o, place, peer);
	if (is_due && (input || !is_listed))
		list_append(o, place, peer);
}

static void lists_update(struct order *o, u32 place, bool input)
{
	const struct order_request *r = &o->requests[place];

	if (!r->open || r->service == o->m->service_count)
		return;
	for (u32 i = 0; i < o->m->services[r->service].peer_count; i++)
		list_update(o, place, o->m->services[r->service].peers[i], input);
}

static struct order_thread *thread_of(const struct order *o, u32 number)
{
	struct order_space *space = o->task->space;
	struct order_thread *t = &space->threads[number];

	if (t->pass != space->pass)
		*t = (struct order_thread){.pass = space->pass, .current = NOBODY};
	return t;
}

/* Something came for a request: what may it do now? */
static void input_comes(struct order *o, u32 place, const struct link_event *e)
{
	struct order_request *r = &o->requests[place];
	struct order_thread *t = thread_of(o, e->thread);

	r->input_ns = e->time_ns;
	t->current = place;
	if (!t->batch_count || t->batch_ns != e->time_ns)
		t->batch_count = 0;
	t->batch_ns = e->time_ns;
	if (t->batch_count < BATCH_MOST)
		t->batch[t->batch_count++] = place;
	if (!r->open)
		return;
	list_remove(o, place, o->m->peer_count);
	list_append(o, place, o->m->peer_count);
	lists_update(o, place, true);
}

static void request_closes(struct order *o, u32 place)
{
	struct order_request *r = &o->requests[place];

	if (!r->open)
		return;
	r->open = false;
	for (u32 i = 0; i < o->list_count; i++)
		list_remove(o, place, i);
}

static void request_comes(struct order *o, const struct link_event *e)
{
	const struct link_item *item = &o->task->l->items[e->number];
	struct order_request *r = &o->requests[item->place];

	if (o->task->backward && (!item->is_answered || item->closed_ns != e->time_ns))
		return;
	if (!o->task->backward && item->supersedes != NOBODY)
		request_closes(o, o->task->l->items[item->supersedes].place);
	*r = (struct order_request){.exchange = e->number, .label = r->label, .open = true};
	r->service = item->service;
	input_comes(o, item->place, e);
}

static void answer_comes(struct order *o, const struct link_event *e)
{
	const struct link_item *item = &o->task->l->items[e->number];
	const struct order_request *r = &o->requests[item->place];

	if (!r->open || (!o->task->backward && item->closed_ns != e->time_ns))
		return;
	if (item->is_answered && r->service < o->m->service_count) {
		o->score->ended++;
		o->score->complete += model_may_end(o->m, r->service, &r->calls);
	}
	request_closes(o, item->place);
}

/* Counts a call for the request, so that others are due next. */
static void call_counts(struct order *o, u32 place, u32 peer, struct choice *c)
{
	struct order_request *r = &o->requests[place];

	c->given = true;
	c->hop = r->hops;
	r->hops += r->hops < UINT16_MAX;
	if (peer == o->m->peer_count)
		return;
	r->calls.begun[peer] += r->calls.begun[peer] < UINT16_MAX;
	r->calls.under_way++;
	lists_update(o, place, false);
}

/* The input just before it on this thread, or the first of several that came together. */
static u32 batch_choose(const struct order *o, const struct order_thread *t, u32 peer)
{
	for (u32 i = 0; i < t->batch_count; i++) {
		if (may(o, t->batch[i], peer))
			return t->batch[i];
	}
	return NOBODY;
}

/* How far from here the nearest call of the request begins that has a label. */
static u64 label_distance(const struct order *o, u32 place, u64 at_ns)
{
	const struct order_request *r = &o->requests[place];
	u64 distance = UINT64_MAX, next;

	if (r->label_ns && r->label_ns <= at_ns)
		distance = at_ns - r->label_ns;
	if (r->label == NOBODY)
		return distance;
	next = link_exchange(o->task->l, r->label)->caller.first_ns;
	return next >= at_ns && next - at_ns < distance ? next - at_ns : distance;
}

/*
 * Where a service makes several calls at once, and some of them have labels, a call belongs to the
 * request whose other calls begin at the same time. NOBODY: this tells nothing.
 */
static u32 near_choose(const struct order *o, u32 peer, u64 at_ns)
{
	u64 least = NEAR_MOST_NS;
	u32 nearest = NOBODY, at = o->lists[peer].head;

	for (u32 steps = 0; at != NOBODY && steps < NEAR_WALK; steps++) {
		const struct order_request *r = &o->requests[at];
		u64 distance = UINT64_MAX;

		if (model_step(o->m, r->service, peer, r->calls.begun[peer])->beside)
			distance = label_distance(o, at, at_ns);
		if (distance < NEAR_MOST_NS && !model_is_next(o->m, r->service, peer, &r->calls))
			distance *= NOT_NEXT;
		if (distance < least) {
			least = distance;
			nearest = at;
		}
		at = node_of(o, at, peer)->next;
	}
	return nearest;
}

/* Whether calls near others with a label are of the same request: those of threads with sections.
 */
static bool labels_tell(const struct order *o, u32 thread)
{
	const struct link_process *p = o->task->p;

	return !o->task->backward && p->labelled && !p->has_lights &&
	       !o->task->l->threads.data[thread].mixed;
}

static u32 request_choose(const struct order *o, u32 peer, const struct link_event *e,
			  struct choice *c)
{
	const struct order_thread *t = thread_of(o, e->thread);
	const struct order_list none = {NOBODY, NOBODY};
	const struct order_list *due = peer < o->m->peer_count ? &o->lists[peer] : &none;
	enum order_rule rule = o->task->rule;
	u32 place = NOBODY;

	c->evidence = due->head == due->tail ? EDGE_SEQUENCE : EDGE_ORDER;
	if (due->head != due->tail && labels_tell(o, e->thread))
		place = near_choose(o, peer, e->time_ns);
	c->near = place != NOBODY;
	if (c->near)
		return place;
	if (rule == ORDER_BATCH)
		place = batch_choose(o, t, peer);
	else if (rule == ORDER_THREAD && t->current != NOBODY && may(o, t->current, peer))
		place = t->current;
	if (place == NOBODY)
		place = rule == ORDER_LAST ? due->tail : due->head;
	if (place != NOBODY)
		return place;
	c->evidence = EDGE_TIMING;
	return o->lists[o->m->peer_count].tail;
}

/* What a model knows well that a request does not do, is not counted as its doing. */
static bool is_unlikely(const struct order *o, u32 place, u8 evidence)
{
	u32 service = o->requests[place].service;

	return evidence == EDGE_TIMING && service < o->m->service_count &&
	       o->m->services[service].requests >= MODEL_SURE_REQUESTS;
}

static void fit_count(struct order *o, u32 place, u32 peer, u64 at_ns)
{
	const struct order_request *r = &o->requests[place];
	u64 lag = at_ns > r->input_ns ? at_ns - r->input_ns : r->input_ns - at_ns;

	if (peer == o->m->peer_count || r->service == o->m->service_count)
		return;
	o->score->fit += model_fit(o->m, r->service, peer, r->calls.begun[peer], lag);
	o->score->fits++;
}

/* The place of a request of this process; NOBODY if it is another's, or was not seen yet. */
static u32 place_of(const struct order *o, u32 request)
{
	const struct link *l = o->task->l;
	u32 place = request == NOBODY ? NOBODY : l->items[request].place;

	if (place >= o->task->p->requests)
		return NOBODY;
	return o->requests[place].exchange == request ? place : NOBODY;
}

static u32 label_of(const struct order *o, u32 call)
{
	u32 label = o->task->l->items[call].request;

	return label == NOBODY && o->task->agreed ? o->task->agreed[call] : label;
}

static void call_choose(struct order *o, const struct link_event *e, u32 peer, struct choice *c)
{
	u32 place = request_choose(o, peer, e, c);

	if (place == NOBODY)
		return;
	c->request = o->requests[place].exchange;
	if (is_unlikely(o, place, c->evidence))
		return;
	thread_of(o, e->thread)->current = place;
	fit_count(o, place, peer, e->time_ns);
	call_counts(o, place, peer, c);
}

static void call_comes(struct order *o, const struct link_event *e)
{
	struct choice *c = &o->choices[e->number];
	u32 label = label_of(o, e->number), place;
	u32 peer = o->task->l->items[e->number].peer;

	if (label != NOBODY) {
		place = place_of(o, label);
		c->request = label;
		c->evidence = o->task->l->items[e->number].evidence;
		if (c->evidence == EDGE_NONE)
			c->evidence = EDGE_ORDER;
		if (place == NOBODY)
			return;
		thread_of(o, e->thread)->current = place;
		fit_count(o, place, peer, e->time_ns);
		call_counts(o, place, peer, c);
		if (o->requests[place].label == e->number) {
			o->requests[place].label = o->task->l->items[e->number].next;
			o->requests[place].label_ns = e->time_ns;
		}
		return;
	}
	place = c->given ? place_of(o, c->request) : NOBODY;
	if (place != NOBODY && o->requests[place].open) {
		c->evidence = EDGE_CONNECT;
		thread_of(o, e->thread)->current = place;
		return;
	}
	*c = (struct choice){.request = NOBODY};
	if (!o->task->l->threads.data[e->thread].apart)
		call_choose(o, e, peer, c);
}

static void connect_comes(struct order *o, const struct link_event *e)
{
	u32 peer = o->task->l->items[e->number].peer;

	if (label_of(o, e->number) == NOBODY && !o->task->l->threads.data[e->thread].apart)
		call_choose(o, e, peer, &o->choices[e->number]);
}

static void done_comes(struct order *o, const struct link_event *e)
{
	const struct choice *c = &o->choices[e->number];
	u32 place = place_of(o, c->request);
	u32 peer = o->task->l->items[e->number].peer;
	struct model_calls *calls;

	if (place == NOBODY || !c->given)
		return;
	calls = &o->requests[place].calls;
	if (peer < o->m->peer_count) {
		calls->done[peer] += calls->done[peer] < UINT16_MAX;
		calls->under_way -= calls->under_way > 0;
	}
	input_comes(o, place, e);
}

static void wake_comes(struct order *o, const struct link_event *e)
{
	const struct link *l = o->task->l;
	const struct hand_off *h = &l->in->hand_offs[e->number];
	u64 key = (u64)h->process << 32 | h->waker;
	u32 waker = (u32)(uintptr_t)map_get(&l->thread_numbers, key) - 1;
	u32 current = thread_of(o, waker)->current;

	if (current != NOBODY)
		thread_of(o, e->thread)->current = current;
}

static void event_forward(struct order *o, const struct link_event *e)
{
	switch ((enum link_event_kind)e->kind) {
	case LINK_REQUEST:
		request_comes(o, e);
		break;
	case LINK_ANSWER:
		answer_comes(o, e);
		break;
	case LINK_CALL:
		call_comes(o, e);
		break;
	case LINK_DONE:
		done_comes(o, e);
		break;
	case LINK_CONNECT:
		connect_comes(o, e);
		break;
	case LINK_WAKE:
		wake_comes(o, e);
		break;
	case LINK_FORK:
		break;
	}
}

static void event_backward(struct order *o, const struct link_event *e)
{
	switch ((enum link_event_kind)e->kind) {
	case LINK_REQUEST:
		answer_comes(o, e);
		break;
	case LINK_ANSWER:
		request_comes(o, e);
		break;
	case LINK_CALL:
		done_comes(o, e);
		break;
	case LINK_DONE:
		call_comes(o, e);
		break;
	default:
		break;
	}
}

/* The calls of each request that have a label, in order. */
static void labels_chain(struct order *o)
{
	struct link_item *items = o->task->l->items;
	const struct link_process *p = o->task->p;

	for (size_t i = p->end; i > p->begin; i--) {
		const struct link_event *e = &o->task->l->events[i - 1];
		struct order_request *r;
		u32 request;

		if (e->kind != LINK_CALL)
			continue;
		request = items[e->number].request;
		if (request == NOBODY || request == p->inherited)
			continue;
		r = &o->requests[items[request].place];
		items[e->number].next = r->label;
		r->label = e->number;
	}
}

static void order_begin(struct order *o)
{
	const struct link_process *p = o->task->p;

	o->task->space->pass++;
	*o->score = (struct order_score){0};
	for (u32 i = 0; i < o->list_count; i++)
		o->lists[i] = (struct order_list){NOBODY, NOBODY};
	for (u32 i = 0; i < p->requests; i++)
		o->requests[i].exchange = o->requests[i].label = NOBODY;
	for (size_t i = 0; i < (size_t)p->requests * o->list_count; i++)
		o->nodes[i].next = NOT_LISTED;
	for (size_t i = p->begin; i < p->end; i++) {
		const struct link_event *e = &o->task->l->events[i];

		if (e->kind == LINK_CALL)
			o->choices[e->number] = (struct choice){.request = NOBODY};
	}
	if (!o->task->backward && p->labelled)
		labels_chain(o);
}

int order_run(const struct order_task *task, struct choice *choices, struct order_score *score)
{
	struct order o = {.task = task, .m = task->model, .choices = choices, .score = score};
	const struct link_process *p = task->p;

	o.list_count = o.m->peer_count + 1;
	o.requests = calloc(p->requests + 1, sizeof(*o.requests));
	o.nodes = malloc(((size_t)p->requests * o.list_count + 1) * sizeof(*o.nodes));
	if (!o.requests || !o.nodes) {
		free(o.requests);
		free(o.nodes);
		return -ENOMEM;
	}
	order_begin(&o);
	for (size_t i = p->begin; i < p->end; i++) {
		if (task->backward)
			event_backward(&o, &task->l->events[p->end - 1 - (i - p->begin)]);
		else
			event_forward(&o, &task->l->events[i]);
	}
	free(o.requests);
	free(o.nodes);
	return 0;
}
