/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sections of threads that do one thing at a time. A section lies between two points at which the
 * thread waits for new work, and all its calls belong to one request. It is labelled from both
 * sides: by the request that the thread reads, or that its waker works at; and by the request that
 * it answers at its end, or at which the thread works whose wait it ends (a future). The labels
 * from behind are what makes pools exact.
 */
#include "request/link_internal.h"

/* So many sections, and percent of those whose sides agree, tell that wakers cannot be trusted. */
#define DIFFER_LEAST 2
#define DIFFER_PERCENT 5

#define TASK_MOST 16	/* calls of a task that are counted */
#define TASK_PERCENT 80 /* of the tasks must have the same number of calls */

/* One pass over the events of a process. */
struct section_pass {
	struct link *l;
	struct link_process *p;
	u32 open;		  /* requests that are open */
	u32 open_xor;		  /* their numbers, so that the only one is known */
	bool distrusts;		  /* what wakers say */
	u32 agree, differ;	  /* sections of which both sides say the same, or not */
	u32 sizes[TASK_MOST + 1]; /* of these with the same, by how many calls they have */
	u32 task;		  /* calls of a task that is handed back */
	bool sections; /* threads have sections: light threads do not run in this process */
};

static struct link_thread *thread_of(struct section_pass *s, const struct link_event *e)
{
	return &s->l->threads.data[e->thread];
}

static void opened(struct section_pass *s, u32 request, int by)
{
	s->open += (u32)by;
	s->open_xor ^= request;
	if (s->open > s->p->most_open)
		s->p->most_open = s->open;
}

/* A thread is mixed if requests of two connections were under way at it at once. */
static void held_change(struct section_pass *s, u32 request, int by)
{
	struct link_item *item = &s->l->items[request];
	struct link_thread *t = &s->l->threads.data[item->reader];

	if (item->behind != NOBODY || (by < 0 && t->held == 0))
		return;
	t->held += (u32)by;
	if (t->held < 2 || t->mixed)
		return;
	t->mixed = true;
	s->p->mixed++;
}

static struct link_thread *waker_of(struct section_pass *s, const struct link_event *e)
{
	const struct hand_off *h = &s->l->in->hand_offs[e->number];
	u64 key = (u64)h->process << 32 | h->waker;

	return &s->l->threads.data[(uintptr_t)map_get(&s->l->thread_numbers, key) - 1];
}

/* A loop that waits for files is told by one of them that a task is done. */
static bool is_told_by_file(const struct hand_off *h)
{
	return h->kind == HAND_OFF_EVENTFD || h->kind == HAND_OFF_PIPE ||
	       h->kind == HAND_OFF_UNIX || h->kind == HAND_OFF_SENT;
}

/*
 * A loop that reads several requests and then wakes several threads hands work over later than it
 * reads it. So the request that it read last is not the one that it hands over.
 */
static void wake_count(struct section_pass *s, const struct link_event *e)
{
	const struct hand_off *h = &s->l->in->hand_offs[e->number];
	struct link_thread *t = waker_of(s, e);

	thread_of(s, e)->has_files |= is_told_by_file(h);
	if (h->kind == HAND_OFF_SENT)
		return;
	t->wakes++;
	t->run_wakes++;
	t->late_wakes += t->run_wakes > 1 && t->run_reads > 1;
	thread_of(s, e)->woken += !link_word_is_lock(s->l, h);
}

static void read_count(struct link_thread *t)
{
	t->received++;
	if (t->run_wakes)
		t->run_reads = t->run_wakes = 0;
	t->run_reads++;
}

#define LATE_PERCENT 10 /* of its wake-ups, and a loop hands over later than it reads */

/*
 * Whether a thread receives its work itself, and is idle there. A wake-up now and then is that of a
 * lock, of which too few were seen to know it as one.
 */
static bool receives_its_work(const struct link_thread *t)
{
	return t->received && t->received >= t->woken;
}

static bool hands_over_late(const struct link_thread *t)
{
	return t->mixed && (u64)t->late_wakes * 100 > (u64)t->wakes * LATE_PERCENT;
}

static void mixed_find(struct section_pass *s)
{
	struct link *l = s->l;

	for (size_t i = s->p->begin; i < s->p->end; i++) {
		const struct link_event *e = &l->events[i];

		if (e->kind == LINK_REQUEST) {
			if (l->items[e->number].supersedes != NOBODY)
				held_change(s, l->items[e->number].supersedes, -1);
			held_change(s, e->number, 1);
			read_count(thread_of(s, e));
		} else if (e->kind == LINK_ANSWER && l->items[e->number].closed_ns == e->time_ns) {
			held_change(s, e->number, -1);
		} else if (e->kind == LINK_WAKE) {
			wake_count(s, e);
		}
	}
}

static void section_end(struct link_thread *t)
{
	t->section = (struct link_section){.first = NOBODY};
}

static void section_add(struct section_pass *s, struct link_thread *t, u32 call)
{
	struct link_section *section = &t->section;

	s->l->items[call].next = NOBODY;
	if (section->first == NOBODY)
		section->first = call;
	else
		s->l->items[section->last].next = call;
	section->last = call;
	section->calls++;
}

/* Labels a call from behind. Such a label replaces one that a waker gave. */
static void call_belongs(struct link *l, u32 call, u32 request, enum edge_evidence evidence)
{
	u64 begin = link_exchange(l, call)->caller.first_ns;
	bool weak = l->items[call].request == NOBODY || l->items[call].evidence == EDGE_WAKE;

	if (weak && begin >= link_exchange(l, request)->server.first_ns &&
	    link_is_open(l, request, begin))
		link_label(l, call, request, evidence);
}

/* Compares what both sides say of a section. It tells whether wakers hand over what they work at.
 */
static void sides_compare(struct section_pass *s, const struct link_section *section, u32 request)
{
	const struct link_item *first = section->first == NOBODY ? NULL
								 : &s->l->items[section->first];

	if (!first || first->evidence != EDGE_WAKE)
		return;
	if (first->request != request) {
		s->differ++;
		return;
	}
	s->agree++;
	s->sizes[section->calls < TASK_MOST ? section->calls : TASK_MOST]++;
}

/* The thread has answered a request: its section belongs to it, with what others did for it. */
static void section_answered(struct section_pass *s, struct link_thread *t, u32 request)
{
	sides_compare(s, &t->section, request);
	for (u32 call = t->section.first; call != NOBODY; call = s->l->items[call].next)
		call_belongs(s->l, call, request,
			     s->l->items[call].is_helper ? EDGE_WAKE : EDGE_THREAD);
	section_end(t);
}

/* The calls of the last task in a section: as many as tasks have, or one if that differs. */
static u32 last_task(const struct section_pass *s, const struct link_section *section)
{
	u32 call = section->first;

	for (u32 more = section->calls; more > s->task && call != NOBODY; more--)
		call = s->l->items[call].next;
	return call;
}

/*
 * Labels the last task of a section, whose begin may be a task of somebody else, unless the ends of
 * all tasks are seen.
 */
static void task_belongs(struct section_pass *s, const struct link_section *section, bool whole,
			 u32 request)
{
	u32 call = whole ? section->first : last_task(s, section);

	sides_compare(s, section, request);
	while (call != NOBODY) {
		call_belongs(s->l, call, request, EDGE_WAKE);
		call = call == section->last ? NOBODY : s->l->items[call].next;
	}
}

/* The other thread's section will tell to which request the last task of this one belongs. */
static void task_joins(struct section_pass *s, struct link_thread *t, struct link_thread *to)
{
	u32 call = last_task(s, &t->section), next;

	for (; call != NOBODY; call = next) {
		next = s->l->items[call].next;
		s->l->items[call].is_helper = true;
		section_add(s, to, call);
	}
	section_end(t);
}

/* A thread has ended the wait of another one, and so did its last task for it. */
static void section_handed_back(struct section_pass *s, struct link_thread *t,
				struct link_thread *to, u64 at_ns)
{
	if (link_is_open(s->l, to->request, at_ns)) {
		task_belongs(s, &t->section, false, to->request);
		section_end(t);
	} else {
		task_joins(s, t, to);
	}
	if (t->has_word)
		t->request = NOBODY;
}

/*
 * A thread of a pool has woken a loop, or told it by a file: the loop will answer for it next. What
 * the thread does then is another task, even before the loop answers. If several threads did so, it
 * is not known which is first. A loop that slept in between has answered for those before; one that
 * is told by no file may have slept at a lock.
 */
static void loop_helped(struct section_pass *s, const struct hand_off *h,
			struct link_thread *helper, struct link_thread *loop)
{
	static const struct link_section no_section = {.first = NOBODY};
	u32 number = (u32)(helper - s->l->threads.data);
	bool by_file = is_told_by_file(h), again = loop->helpers && loop->helper == number;

	if (helper->mixed || by_file != loop->has_files ||
	    (helper->section.first == NOBODY && (again || !helper->has_word || !by_file)))
		return;
	if (h->kind != HAND_OFF_SENT) {
		loop->helpers_mix = !by_file && loop->helpers;
		loop->helpers = 0;
	}
	loop->helpers++;
	loop->helper = number;
	loop->handed = helper->has_word ? helper->section : no_section;
	loop->handed_whole = h->kind == HAND_OFF_UNIX || h->kind == HAND_OFF_SENT;
	if (!by_file)
		return;
	section_end(helper);
	helper->request = NOBODY;
}

/*
 * A section was handed back. If the thread has not been given other work since, it took some
 * unseen: what it did behind the section is not of the request that its waker gave it.
 */
static void section_behind(struct section_pass *s, struct link_thread *t,
			   const struct link_section *handed)
{
	struct link_section *section = &t->section;

	if (handed->first == NOBODY || section->first != handed->first)
		return;
	section->first = s->l->items[handed->last].next;
	section->calls -= handed->calls;
	for (u32 call = section->first; call != NOBODY; call = s->l->items[call].next) {
		struct link_item *item = &s->l->items[call];

		if (item->evidence == EDGE_WAKE && !item->is_helper)
			link_label(s->l, call, NOBODY, EDGE_NONE);
	}
	t->request = NOBODY;
}

static void loop_answers(struct section_pass *s, struct link_thread *loop, u32 request)
{
	if (!loop->helpers)
		return;
	loop->helpers_mix |= loop->helpers > 1;
	if (!loop->helpers_mix) {
		task_belongs(s, &loop->handed, loop->handed_whole, request);
		section_behind(s, &s->l->threads.data[loop->helper], &loop->handed);
	}
	if (--loop->helpers == 0)
		loop->helpers_mix = false;
}

static void request_came(struct section_pass *s, const struct link_event *e)
{
	struct link_item *item = &s->l->items[e->number];
	struct link_thread *t = thread_of(s, e);
	/* it was read together with the one before, to which the thread comes first */
	bool waits = item->behind != NOBODY && link_is_open(s->l, t->request, e->time_ns) &&
		     link_exchange(s->l, t->request)->connection ==
			     link_exchange(s->l, e->number)->connection;

	if (item->supersedes != NOBODY)
		opened(s, item->supersedes, -1);
	opened(s, e->number, 1);
	t->reads++;
	if (!waits)
		t->request = e->number;
	section_end(t);
}

static void request_ended(struct section_pass *s, const struct link_event *e)
{
	struct link_item *item = &s->l->items[e->number];
	struct link_thread *t = thread_of(s, e);

	if (item->closed_ns != e->time_ns)
		return; /* another request ended it before */
	opened(s, e->number, -1);
	if (item->is_answered && !t->mixed && s->sections)
		section_answered(s, t, e->number);
	else if (item->is_answered && t->mixed && s->sections)
		loop_answers(s, t, e->number);
	section_end(t);
	if (t->request == e->number)
		t->request = item->then;
}

static void work_taken(struct link_thread *t, u32 request, u32 word)
{
	t->request = request;
	t->word = word;
	t->has_word = true;
	section_end(t);
}

/*
 * A thread was woken by another one of its process. It was idle if it takes its work at this word.
 * If the waker does so, too, it has only passed on that there is more to do, and not what.
 */
static void work_came(struct section_pass *s, const struct link_event *e)
{
	const struct hand_off *h = &s->l->in->hand_offs[e->number];
	struct link_thread *woken = thread_of(s, e), *waker = waker_of(s, e);
	u32 word = h->word ? h->word : h->kind;
	bool passes, knows, busy;

	if (!s->sections || link_word_is_lock(s->l, h))
		return;
	if (woken->mixed && !link_waker_sleeps_there(s->l, h))
		loop_helped(s, h, waker, woken);
	if (woken->mixed || h->kind == HAND_OFF_SENT)
		return;
	passes = hands_over_late(waker) || (waker->has_word && waker->word == word);
	knows = link_is_open(s->l, waker->request, e->time_ns);
	busy = link_is_open(s->l, woken->request, e->time_ns);
	if (!receives_its_work(woken) &&
	    (passes || (woken->has_word ? woken->word == word : knows && !busy)))
		work_taken(woken, passes || !knows || s->distrusts ? NOBODY : waker->request, word);
	else if (!waker->mixed && (busy || woken->has_word) && !link_waker_sleeps_there(s->l, h))
		section_handed_back(s, waker, woken, e->time_ns);
}

/* A loop that reads an answer goes on with another request than the one that it read last. */
static void answer_came(struct section_pass *s, const struct link_event *e)
{
	struct link_thread *t = thread_of(s, e);

	if (t->mixed)
		t->request = NOBODY;
}

static void call_began(struct section_pass *s, const struct link_event *e)
{
	struct link_thread *t = thread_of(s, e);

	s->l->items[e->number].candidates = s->open;
	s->p->calls++;
	s->p->callers += t->calls++ == 0;
	t->outside += s->open == 0;
	if (!s->sections || t->mixed)
		return;
	section_add(s, t, e->number);
	if (link_is_open(s->l, t->request, e->time_ns))
		link_label(s->l, e->number, t->request, t->has_word ? EDGE_WAKE : EDGE_THREAD);
}

/* A process that is made while its parent works on one request belongs to this request. */
static void process_made(struct section_pass *s, const struct link_event *e)
{
	const struct link_thread *t = thread_of(s, e);
	struct link_process *child;
	u32 request = NOBODY;

	if (s->sections && !t->mixed && link_is_open(s->l, t->request, e->time_ns))
		request = t->request;
	else if (s->open == 1)
		request = s->open_xor;
	child = &s->l->processes[s->l->in->forks[e->number].child];
	if (child->inherited == NOBODY && request != NOBODY)
		child->inherited = request;
}

static void sections_pass(struct section_pass *s)
{
	static void (*const steps[])(struct section_pass *, const struct link_event *) = {
		[LINK_DONE] = answer_came,  [LINK_WAKE] = work_came,  [LINK_REQUEST] = request_came,
		[LINK_FORK] = process_made, [LINK_CALL] = call_began, [LINK_ANSWER] = request_ended,
	};

	for (size_t i = s->p->begin; i < s->p->end; i++) {
		const struct link_event *e = &s->l->events[i];

		if (e->kind < sizeof(steps) / sizeof(steps[0]) && steps[e->kind])
			steps[e->kind](s, e);
	}
}

static void thread_forget(struct link_thread *t)
{
	t->request = NOBODY;
	t->has_word = t->helpers_mix = false;
	t->helpers = t->calls = t->outside = t->reads = 0;
	section_end(t);
}

static void call_forget(struct link_item *item)
{
	item->request = NOBODY;
	item->evidence = EDGE_NONE;
	item->is_helper = false;
}

/* Takes back what a pass has found of the calls of its process. */
static void sections_forget(struct section_pass *s)
{
	s->open = s->open_xor = s->p->calls = s->p->callers = 0;
	for (size_t i = s->p->begin; i < s->p->end; i++) {
		const struct link_event *e = &s->l->events[i];

		thread_forget(thread_of(s, e));
		if (e->kind == LINK_CALL)
			call_forget(&s->l->items[e->number]);
		else if (e->kind == LINK_WAKE)
			thread_forget(waker_of(s, e));
	}
}

/* How many calls a task has, as nearly all have so many; 1: that is not so. */
static u32 task_size(const struct section_pass *s)
{
	for (u32 size = 1; size < TASK_MOST; size++) {
		if ((u64)s->sizes[size] * 100 > (u64)s->agree * TASK_PERCENT)
			return size;
	}
	return 1;
}

void sections_label(struct link *l, struct link_process *p)
{
	struct section_pass s = {.l = l, .p = p, .sections = !p->has_lights, .task = 1};

	mixed_find(&s);
	sections_pass(&s);
	if (!s.differ)
		return;
	sections_forget(&s);
	s.distrusts = s.differ >= DIFFER_LEAST &&
		      (u64)s.differ * 100 >= (u64)s.agree * DIFFER_PERCENT;
	s.task = task_size(&s);
	sections_pass(&s);
}
