/* SPDX-License-Identifier: Apache-2.0 */
#include "services.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX
#define US 1000ull

enum {
	PROCESS_SERVICE = 1, /* and the peers from 2 on */
	PEER_CACHE = 0,
	PEER_DATABASE,
	PEER_API,
	PEER_STORE,
	PEER_COUNT,
	WORKERS = 16,
	CARRIERS = 2,
	TID_LOOP = 1000,
	TID_CARRIER = 1100,
	TID_TIMER = 1900,
	TID_WORKER = 2000,
	TID_CONNECTION = 3000,
	WORD_QUEUE = 0x5000,
	WORD_INTERPRETER = 0x9000, /* its lock */
	WORD_FUTURE = 0x20000,
	WORD_RESULTS = 0x33,
};

/* A request is served in steps. All calls of a step are made at once. */
static const struct step {
	u32 calls, peers[2];
	u32 percent; /* of requests that need it */
} steps[] = {
	{1, {PEER_CACHE}, 100},
	{1, {PEER_DATABASE}, 40},
	{1, {PEER_API}, 100},
	{2, {PEER_STORE, PEER_STORE}, 100},
};
#define STEP_COUNT (sizeof(steps) / sizeof(steps[0]))

struct job {
	u32 exchange;
	u32 step;
	u32 pending;	/* calls without an answer */
	u32 thread;	/* that works on it */
	u32 connection; /* of the client */
	u64 done_ns;	/* when its thread told the loop that it is done */
	bool ended;
	u32 task;     /* of the step, which is the next one to wait for */
	bool done[2]; /* tasks of the step */
};

enum happening_kind { ARRIVES, ANSWERED, TURN, WORKS, TIMER };

struct happening {
	u64 time_ns, order;
	enum happening_kind kind;
	u32 number; /* exchange, carrier, or worker */
	u32 job;
};

struct task { /* that a loop runs in its next turn, or a pool */
	u32 job;
	u32 peer; /* PEER_COUNT: the job goes on */
	u32 nth;  /* in its step */
};

struct world {
	struct services *out;
	const struct service_plan *plan;
	u64 random, order;
	VEC(struct happening) heap;
	VEC(struct job) jobs;
	VEC(u32) job_of_call; /* by number of the exchange */
	VEC(u32) nth_of_call; /* in its step */
	VEC(u32) inputs;      /* exchanges that the service can read */
	size_t inputs_read;
	VEC(struct task) tasks;
	VEC(u32) free_connections[PEER_COUNT];
	VEC(struct task) queue; /* of the pool */
	VEC(u32) results;	/* jobs that a pool has done, and its loop has to answer */
	size_t queue_taken;
	u32 idle[WORKERS], idle_count;
	bool turning[CARRIERS];
	u32 sent, answered;
	u32 had[4096];	 /* by connection of a client: answers since it sent the last time */
	bool busy[4096]; /* the thread of the connection works */
};

static void *must(void *p)
{
	assert(p);
	return p;
}

#define PUSH(list, ...)                                                                            \
	do {                                                                                       \
		if (vec_push((list), __VA_ARGS__))                                                 \
			abort();                                                                   \
	} while (0)

static u64 random_below(struct world *w, u64 below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (w->random >> 11) % below;
}

static u64 between(struct world *w, u64 least_us, u64 most_us)
{
	return least_us * US + random_below(w, (most_us - least_us) * US + 1);
}

static bool sooner(const struct happening *a, const struct happening *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static void happen(struct world *w, u64 time_ns, enum happening_kind kind, u32 number, u32 job)
{
	struct happening h = {time_ns, w->order++, kind, number, job};
	size_t at = w->heap.count;

	PUSH(&w->heap, h);
	for (; at && sooner(&h, &w->heap.data[(at - 1) / 2]); at = (at - 1) / 2)
		w->heap.data[at] = w->heap.data[(at - 1) / 2];
	w->heap.data[at] = h;
}

static struct happening next_happening(struct world *w)
{
	struct happening first = w->heap.data[0], last = w->heap.data[--w->heap.count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= w->heap.count)
			break;
		if (child + 1 < w->heap.count &&
		    sooner(&w->heap.data[child + 1], &w->heap.data[child]))
			child++;
		if (!sooner(&w->heap.data[child], &last))
			break;
		w->heap.data[at] = w->heap.data[child];
		at = child;
	}
	if (w->heap.count)
		w->heap.data[at] = last;
	return first;
}

static void hand_over(struct world *w, u64 time_ns, u32 waker, u32 woken, u32 word)
{
	struct hand_off h = {time_ns, waker, woken, word, PROCESS_SERVICE, HAND_OFF_FUTEX};

	PUSH(&w->out->hand_offs, h);
}

/* Threads of an interpreter wake each other at its lock, in both directions. */
static void interpreter_noise(struct world *w, u64 time_ns, u32 tid)
{
	u32 other = TID_WORKER + (u32)random_below(w, WORKERS);

	if (other == tid || random_below(w, 2))
		return;
	hand_over(w, time_ns - 500, other, tid, WORD_INTERPRETER + 4 * (u32)random_below(w, 3));
	hand_over(w, time_ns - 100, tid, other, WORD_INTERPRETER + 4 * (u32)random_below(w, 3));
}

static u32 detail_new(struct world *w, u64 light, u64 maker)
{
	PUSH(&w->out->details, (struct exchange_detail){.light = light, .light_maker = maker});
	return (u32)w->out->details.count - 1;
}

static u32 exchange_new(struct world *w, u32 connection, u32 request, u32 job)
{
	struct exchange x = {.connection = connection, .from = w->out->exchanges.count * 100};

	x.to = x.from + 100;
	PUSH(&w->out->exchanges, x);
	PUSH(&w->out->truth, request);
	PUSH(&w->job_of_call, job);
	PUSH(&w->nth_of_call, 0);
	return (u32)w->out->exchanges.count - 1;
}

static struct exchange *exchange_at(struct world *w, u32 number)
{
	return &w->out->exchanges.data[number];
}

static u32 connection_take(struct world *w, u32 peer, u64 time_ns, u32 tid)
{
	struct exchange_connection c = {
		.peer = 100 + peer, .connected_ns = time_ns - 2 * US - 500, .connected_tid = tid};

	if (w->free_connections[peer].count) {
		size_t last = w->free_connections[peer].count - 1;

		if (!w->plan->multiplexed)
			w->free_connections[peer].count--;
		return w->free_connections[peer].data[last];
	}
	PUSH(&w->out->connections, c);
	if (w->plan->multiplexed)
		PUSH(&w->free_connections[peer], (u32)w->out->connections.count - 1);
	return (u32)w->out->connections.count - 1;
}

/* Light threads that write for others belong to the connection. Another carrier may run them. */
static u64 light_sends(struct world *w, u32 number, u32 peer, u64 light)
{
	struct exchange *x = exchange_at(w, number);
	bool by_writer = peer == PEER_API || peer == PEER_STORE;

	if (w->plan->lights)
		x->caller.detail = by_writer ? detail_new(w, 100000 + x->connection, 99999)
					     : detail_new(w, light, 1);
	if (!by_writer || random_below(w, 3))
		return 0;
	x->caller.first_tid = TID_CARRIER + (u32)random_below(w, CARRIERS);
	return between(w, 1, 5);
}

/* Sends a call for a job, or for none. Returns when it was sent. */
static u64 call_send(struct world *w, u32 job, u32 peer, u64 time_ns, u32 tid)
{
	u32 request = job == NOBODY ? EDGE_ROOT : w->jobs.data[job].exchange;
	u32 number = exchange_new(w, connection_take(w, peer, time_ns, tid), request, job);
	struct exchange *x = exchange_at(w, number);

	x->caller.process = PROCESS_SERVICE;
	x->caller.first_tid = tid;
	if (w->plan->kind == SERVICE_CARRIERS && job != NOBODY)
		time_ns += light_sends(w, number, peer, 1 + w->jobs.data[job].connection);
	x = exchange_at(w, number);
	x->caller.first_ns = time_ns;
	x->server = (struct exchange_end){.process = PROCESS_SERVICE + 1 + peer,
					  .first_tid = 10 + peer,
					  .last_tid = 10 + peer};
	x->server.first_ns = time_ns + between(w, 15, 40);
	x->server.last_ns = x->server.first_ns + between(w, 20, 60) +
			    (random_below(w, 5) ? between(w, 10, 150) : between(w, 100, 1500));
	x->answer_to = 100;
	happen(w, x->server.last_ns + between(w, 10, 30), ANSWERED, number, job);
	return time_ns;
}

static u32 thread_of_kind(const struct world *w, const struct job *j)
{
	bool own = w->plan->kind == SERVICE_THREADS || w->plan->kind == SERVICE_FUTURES;

	return own ? TID_CONNECTION + j->connection : j->thread;
}

static void client_sends(struct world *w, u32 connection, u64 time_ns)
{
	u32 number;

	if (w->sent == w->plan->requests)
		return;
	w->sent++;
	number = exchange_new(w, connection, EDGE_ROOT, NOBODY);
	happen(w, time_ns, ARRIVES, number, NOBODY);
}

static void client_goes_on(struct world *w, u32 connection, u64 time_ns)
{
	u32 together = w->plan->pipelined > 1 ? w->plan->pipelined : 1;

	for (u32 i = 0; i < together; i++)
		client_sends(w, connection, time_ns);
}

static void job_answers(struct world *w, u32 number, u64 time_ns, u32 tid)
{
	struct job *j = &w->jobs.data[number];
	struct exchange *x = exchange_at(w, j->exchange);

	j->ended = true;
	x->server.last_ns = time_ns;
	x->server.last_tid = tid;
	x->answer_to = 100;
	w->answered++;
	if (w->plan->pipelined <= 1 || ++w->had[j->connection] % w->plan->pipelined == 0)
		client_goes_on(w, j->connection, time_ns + between(w, 50, 300));
}

/* A thread of a pool tells the loop that it is done, over a socket. The loop may be awake. */
static void job_handed_back(struct world *w, u32 number, u64 time_ns, u32 tid)
{
	struct hand_off h = {time_ns, tid, TID_LOOP, WORD_RESULTS, PROCESS_SERVICE, HAND_OFF_SENT};

	w->jobs.data[number].ended = true;
	w->jobs.data[number].done_ns = time_ns;
	PUSH(&w->results, number);
	PUSH(&w->out->hand_offs, h);
	if (w->turning[0])
		return;
	h.kind = HAND_OFF_UNIX;
	h.time_ns -= 200;
	PUSH(&w->out->hand_offs, h);
	w->turning[0] = true;
	happen(w, time_ns + between(w, 4, 60), TURN, 0, NOBODY);
}

static u64 step_calls(struct world *w, u32 job, const struct step *step, u64 time_ns, u32 tid);

/* The answers of a step are there: makes the next calls, or answers. Returns when that is done. */
static u64 job_goes_on(struct world *w, u32 job, u64 time_ns, u32 tid)
{
	struct job *j = &w->jobs.data[job];

	if (j->ended)
		return time_ns;
	while (j->step < STEP_COUNT) {
		const struct step *step = &steps[j->step++];

		if (random_below(w, 100) >= step->percent)
			continue;
		j->pending = step->calls;
		j->task = 0;
		j->done[0] = j->done[1] = false;
		time_ns = step_calls(w, job, step, time_ns, tid);
		if (!w->plan->outlives || w->jobs.data[job].step < STEP_COUNT)
			return time_ns;
		break;
	}
	time_ns += between(w, 3, 15);
	if (w->plan->loop_answers)
		job_handed_back(w, job, time_ns, tid);
	else
		job_answers(w, job, time_ns, tid);
	return time_ns;
}

static void pool_gives(struct world *w, struct task task, u64 time_ns, u32 waker)
{
	u32 worker;

	if (!w->idle_count) {
		PUSH(&w->queue, task);
		return;
	}
	worker = w->idle[--w->idle_count];
	hand_over(w, time_ns, waker, TID_WORKER + worker, WORD_QUEUE);
	PUSH(&w->queue, task);
	happen(w, time_ns + between(w, 10, 50), WORKS, worker, NOBODY);
}

static u64 step_calls(struct world *w, u32 job, const struct step *step, u64 time_ns, u32 tid)
{
	for (u32 i = 0; i < step->calls; i++) {
		struct task task = {job, step->peers[i], i};

		time_ns += between(w, 3, 20);
		if (w->plan->kind == SERVICE_FUTURES)
			pool_gives(w, task, time_ns, tid);
		else if (w->plan->kind == SERVICE_DEFERS && step->calls > 1)
			PUSH(&w->tasks, task);
		else
			time_ns = call_send(w, job, step->peers[i], time_ns, tid);
	}
	return time_ns;
}

/* The service reads a request. Returns the new job. */
static u32 request_read(struct world *w, u32 number, u64 time_ns, u32 tid)
{
	struct exchange *x = exchange_at(w, number);
	struct job j = {.exchange = number, .thread = tid, .connection = x->connection};

	x->server = (struct exchange_end){
		.first_ns = time_ns, .process = PROCESS_SERVICE, .first_tid = tid};
	if (w->plan->lights)
		x->server.detail = detail_new(w, 1 + x->connection, 1);
	PUSH(&w->jobs, j);
	w->job_of_call.data[number] = (u32)w->jobs.count - 1;
	return (u32)w->jobs.count - 1;
}

/* The service reads an answer. True if its job can go on. */
static bool answer_read(struct world *w, u32 number, u64 time_ns, u32 tid)
{
	struct exchange *x = exchange_at(w, number);
	u32 peer = (u32)w->out->connections.data[x->connection].peer - 100;
	u32 job = w->job_of_call.data[number];

	x->caller.last_ns = time_ns;
	x->caller.last_tid = tid;
	if (!w->plan->multiplexed)
		PUSH(&w->free_connections[peer], x->connection);
	return job != NOBODY && --w->jobs.data[job].pending == 0;
}

static bool is_request(struct world *w, u32 number)
{
	return !exchange_at(w, number)->caller.process;
}

/* A thread of a loop, or a carrier, reads one input and goes on at once, unless the loop defers. */
static u64 input_read(struct world *w, u32 number, u64 time_ns, u32 tid)
{
	bool goes_on = true;
	u32 job;

	time_ns += between(w, 2, 6);
	if (is_request(w, number))
		request_read(w, number, time_ns, tid);
	else
		goes_on = answer_read(w, number, time_ns, tid);
	job = w->job_of_call.data[number];
	if (!goes_on)
		return time_ns;
	if (w->plan->kind == SERVICE_DEFERS)
		PUSH(&w->tasks, (struct task){job, PEER_COUNT, 0});
	else if (w->plan->kind == SERVICE_POOL)
		pool_gives(w, (struct task){job, PEER_COUNT, 0}, time_ns + US, tid);
	else
		time_ns = job_goes_on(w, job, time_ns, tid);
	return time_ns;
}

/* Runs the tasks that were there when the turn began. */
static u64 tasks_run(struct world *w, u64 time_ns, u32 tid)
{
	size_t count = w->tasks.count;

	for (size_t i = 0; i < count; i++) {
		struct task task = w->tasks.data[i];

		time_ns += between(w, 1, 4);
		if (task.peer == PEER_COUNT)
			time_ns = job_goes_on(w, task.job, time_ns, tid);
		else
			time_ns = call_send(w, task.job, task.peer, time_ns, tid);
	}
	if (count)
		memmove(w->tasks.data, w->tasks.data + count,
			(w->tasks.count - count) * sizeof(*w->tasks.data));
	w->tasks.count -= count;
	return time_ns;
}

static int by_connection(const void *a, const void *b, void *world)
{
	const struct world *w = world;
	u32 x = w->jobs.data[*(const u32 *)a].connection;
	u32 y = w->jobs.data[*(const u32 *)b].connection;

	return (x > y) - (x < y);
}

/* A loop answers what its pool has done, in the order of descriptors. */
static u64 results_answer(struct world *w, u64 time_ns)
{
	if (w->results.count)
		qsort_r(w->results.data, w->results.count, sizeof(*w->results.data), by_connection,
			w);
	for (size_t i = 0; i < w->results.count; i++) {
		const struct job *j = &w->jobs.data[w->results.data[i]];

		time_ns = (time_ns > j->done_ns ? time_ns : j->done_ns) + between(w, 3, 15);
		job_answers(w, w->results.data[i], time_ns, TID_LOOP);
	}
	w->results.count = 0;
	return time_ns;
}

/* A turn of a loop, or what a carrier does next. */
static void turn(struct world *w, u64 time_ns, u32 carrier)
{
	bool carries = w->plan->kind == SERVICE_CARRIERS;
	u32 tid = carries ? TID_CARRIER + carrier : TID_LOOP;
	size_t until = w->inputs.count;

	if (w->inputs_read == w->inputs.count && !w->tasks.count && !w->results.count) {
		w->turning[carrier] = false;
		return;
	}
	time_ns = tasks_run(w, time_ns, tid);
	if (carries)
		until = w->inputs_read + 1;
	while (w->inputs_read < until)
		time_ns = input_read(w, w->inputs.data[w->inputs_read++], time_ns, tid);
	time_ns = results_answer(w, time_ns);
	happen(w, time_ns + between(w, 1, 3), TURN, carrier, NOBODY);
}

static void input_comes(struct world *w, u32 number, u64 time_ns)
{
	u32 carriers = w->plan->kind == SERVICE_CARRIERS ? CARRIERS : 1;

	PUSH(&w->inputs, number);
	for (u32 i = 0; i < carriers; i++) {
		if (w->turning[i])
			continue;
		w->turning[i] = true;
		happen(w, time_ns + between(w, 4, 15), TURN, i, NOBODY);
		return;
	}
}

/* A thread of its own serves what came on its connection, one request after another. */
static void connection_serves(struct world *w, u32 number, u64 time_ns)
{
	u32 tid = TID_CONNECTION + exchange_at(w, number)->connection;
	u32 job = request_read(w, number, time_ns, tid);

	if (w->plan->kind == SERVICE_FUTURES)
		interpreter_noise(w, time_ns, tid);
	job_goes_on(w, job, time_ns + between(w, 2, 10), tid);
}

static void request_arrives(struct world *w, u32 number, u64 time_ns)
{
	u32 connection = exchange_at(w, number)->connection;
	bool own = w->plan->kind == SERVICE_THREADS || w->plan->kind == SERVICE_FUTURES;

	if (!own) {
		input_comes(w, number, time_ns);
	} else if (w->busy[connection]) {
		/* read together with the one before: its thread comes to it afterwards */
		request_read(w, number, time_ns + 20 * US, TID_CONNECTION + connection);
		PUSH(&w->queue, (struct task){w->job_of_call.data[number], PEER_COUNT, 0});
	} else {
		w->busy[connection] = w->plan->pipelined > 1;
		connection_serves(w, number, time_ns + 20 * US);
	}
}

/* The thread of a connection has answered: on to what it read before. */
static void pipeline_goes_on(struct world *w, u32 connection, u64 time_ns)
{
	w->busy[connection] = false;
	for (size_t i = 0; i < w->queue.count; i++) {
		struct task task = w->queue.data[i];

		if (w->jobs.data[task.job].connection != connection)
			continue;
		memmove(w->queue.data + i, w->queue.data + i + 1,
			(w->queue.count - i - 1) * sizeof(task));
		w->queue.count--;
		w->busy[connection] = true;
		job_goes_on(w, task.job, time_ns + between(w, 2, 10), TID_CONNECTION + connection);
		return;
	}
}

/* A worker of the pool takes what is first in the queue. */
static void worker_works(struct world *w, u32 worker, u64 time_ns)
{
	u32 tid = TID_WORKER + worker;
	struct task task;

	if (w->queue_taken == w->queue.count) {
		w->idle[w->idle_count++] = worker;
		return;
	}
	task = w->queue.data[w->queue_taken++];
	if (w->plan->kind == SERVICE_FUTURES) {
		interpreter_noise(w, time_ns, tid);
		call_send(w, task.job, task.peer, time_ns + between(w, 3, 20), tid);
		w->nth_of_call.data[w->out->exchanges.count - 1] = task.nth;
	} else {
		w->jobs.data[task.job].thread = tid;
		job_goes_on(w, task.job, time_ns + between(w, 3, 20), tid);
	}
}

/* A worker got the answer of the call that it made for another thread. */
static void future_ends(struct world *w, u32 number, u64 time_ns)
{
	u32 tid = exchange_at(w, number)->caller.first_tid, job = w->job_of_call.data[number];
	struct job *j = &w->jobs.data[job];
	u32 waits = TID_CONNECTION + j->connection;
	bool goes_on;

	time_ns += between(w, 5, 30);
	goes_on = answer_read(w, number, time_ns, tid);
	interpreter_noise(w, time_ns, tid);
	j->done[w->nth_of_call.data[number]] = true;
	/* the thread waits for one task after another, and only for those that are not done */
	if (w->nth_of_call.data[number] == j->task)
		hand_over(w, time_ns + 5 * US, tid, waits, WORD_FUTURE + 128 * waits);
	while (j->task < 2 && j->done[j->task])
		j->task++;
	if (goes_on)
		job_goes_on(w, job, time_ns + between(w, 15, 60), waits);
	happen(w, time_ns + 6 * US, WORKS, tid - TID_WORKER, NOBODY);
}

static void answer_arrives(struct world *w, u32 number, u64 time_ns)
{
	u32 job = w->job_of_call.data[number], tid;
	enum service_kind kind = w->plan->kind;

	if (kind != SERVICE_THREADS && kind != SERVICE_POOL && kind != SERVICE_FUTURES) {
		input_comes(w, number, time_ns);
		return;
	}
	if (job == NOBODY) {
		answer_read(w, number, time_ns + 20 * US, TID_TIMER);
		return;
	}
	if (kind == SERVICE_FUTURES) {
		future_ends(w, number, time_ns);
		return;
	}
	tid = thread_of_kind(w, &w->jobs.data[job]);
	time_ns += between(w, 5, 40);
	if (!answer_read(w, number, time_ns, tid))
		return;
	time_ns = job_goes_on(w, job, time_ns, tid);
	if (!w->jobs.data[job].ended)
		return;
	if (kind == SERVICE_POOL)
		happen(w, time_ns + US, WORKS, tid - TID_WORKER, NOBODY);
	else if (w->plan->pipelined > 1)
		pipeline_goes_on(w, w->jobs.data[job].connection, time_ns);
}

static void timer_rings(struct world *w, u64 time_ns)
{
	bool threads = w->plan->kind <= SERVICE_FUTURES;
	u32 tid = threads ? TID_TIMER : w->plan->kind == SERVICE_CARRIERS ? TID_CARRIER : TID_LOOP;

	if (w->answered >= w->plan->requests)
		return;
	call_send(w, NOBODY, PEER_API, time_ns, tid);
	happen(w, time_ns + between(w, 10000, 30000), TIMER, 0, NOBODY);
}

static void world_begin(struct world *w)
{
	PUSH(&w->out->details, (struct exchange_detail){0});
	for (u32 i = 0; i < w->plan->at_once; i++)
		PUSH(&w->out->connections, (struct exchange_connection){.peer = 1});
	for (u32 i = 0; i < WORKERS; i++)
		w->idle[w->idle_count++] = i;
	for (u32 i = 0; i < w->plan->at_once; i++)
		client_goes_on(w, i, 1000000 * US + between(w, 0, 2000));
	if (w->plan->background)
		happen(w, 1000000 * US, TIMER, 0, NOBODY);
}

static void world_free(struct world *w)
{
	vec_free(&w->heap);
	vec_free(&w->jobs);
	vec_free(&w->job_of_call);
	vec_free(&w->nth_of_call);
	vec_free(&w->inputs);
	vec_free(&w->tasks);
	vec_free(&w->queue);
	vec_free(&w->results);
	for (u32 i = 0; i < PEER_COUNT; i++)
		vec_free(&w->free_connections[i]);
	free(w);
}

struct services services_run(const struct service_plan *plan)
{
	struct services out = {.process_count = PROCESS_SERVICE + 1 + PEER_COUNT};
	struct world *w = must(calloc(1, sizeof(*w)));

	assert(plan->at_once <= 4096);
	w->out = &out;
	w->plan = plan;
	w->random = plan->seed * 0x9e3779b97f4a7c15u + 1;
	world_begin(w);
	while (w->heap.count) {
		struct happening h = next_happening(w);

		if (h.kind == ARRIVES)
			request_arrives(w, h.number, h.time_ns);
		else if (h.kind == ANSWERED)
			answer_arrives(w, h.number, h.time_ns);
		else if (h.kind == TURN)
			turn(w, h.time_ns, h.number);
		else if (h.kind == WORKS)
			worker_works(w, h.number, h.time_ns);
		else
			timer_rings(w, h.time_ns);
	}
	world_free(w);
	return out;
}

static struct exchange_end end_moved(struct exchange_end end, u32 processes, u32 details)
{
	end.process += end.process ? processes : 0;
	end.detail += end.detail ? details : 0;
	return end;
}

void services_append(struct services *to, const struct services *s)
{
	u32 exchanges = (u32)to->exchanges.count, connections = (u32)to->connections.count;
	u32 processes = (u32)to->process_count, details = (u32)to->details.count;

	for (size_t i = 0; i < s->exchanges.count; i++) {
		struct exchange x = s->exchanges.data[i];
		u32 truth = s->truth.data[i];

		x.connection += connections;
		x.caller = end_moved(x.caller, processes, details);
		x.server = end_moved(x.server, processes, details);
		PUSH(&to->exchanges, x);
		PUSH(&to->truth, truth == EDGE_ROOT ? truth : truth + exchanges);
	}
	for (size_t i = 0; i < s->connections.count; i++)
		PUSH(&to->connections, s->connections.data[i]);
	for (size_t i = 0; i < s->hand_offs.count; i++) {
		struct hand_off h = s->hand_offs.data[i];

		h.process = (h.process + processes) & 0xfffffff;
		PUSH(&to->hand_offs, h);
	}
	for (size_t i = 0; i < s->details.count; i++)
		PUSH(&to->details, s->details.data[i]);
	to->process_count += s->process_count;
}

struct link_input services_input(const struct services *s)
{
	return (struct link_input){
		.exchanges = s->exchanges.data,
		.exchange_count = s->exchanges.count,
		.connections = s->connections.data,
		.connection_count = s->connections.count,
		.hand_offs = s->hand_offs.data,
		.hand_off_count = s->hand_offs.count,
		.details = s->details.data,
		.detail_count = s->details.count,
		.process_count = s->process_count,
	};
}

void services_free(struct services *s)
{
	vec_free(&s->exchanges);
	vec_free(&s->truth);
	vec_free(&s->connections);
	vec_free(&s->hand_offs);
	vec_free(&s->details);
}
