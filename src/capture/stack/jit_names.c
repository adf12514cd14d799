// SPDX-License-Identifier: Apache-2.0
#include "capture/stack/jit_names.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/host_clock.h"
#include "base/map.h"
#include "base/order.h"
#include "base/thread.h"
#include "base/vec.h"
#include "capture/kernel/kernel.h"
#include "capture/stack/jit_look.h"
#include "proc/look.h"

#define PROCESSES_MAX 1024
#define CODE_MAX 1024	  /* mappings of a process; when there are more, all are forgotten */
#define ASKS_MAX 8192	  /* addresses of a process without a name */
#define ANSWERS_MAX 32768 /* functions of a process; when there are more, all are told again */
#define AGAIN_NS 1000000000ull
#define LOOKED_NS 10000000000ull /* how often it is looked whether a process is still there */
#define STUCK_NS 1000000000ull
#define MAPPING_BYTES ((sizeof(struct record_mapping) + 63) / 64 * 64)

struct code {
	u64 begin, end;
};

/* A function that was told. */
struct answer {
	u64 begin, end;
	u64 hash; /* of its name */
};

struct jit_process {
	u32 pid;
	bool wanted; /* it waits for its turn */
	bool again;  /* it is wanted once more when the thread gives it back */
	bool away;   /* the thread looks at it: `file` is the thread's */
	bool over;   /* it is forgotten, and is freed when the thread gives it back */
	bool stuck;  /* a look hung */
	bool fresh;  /* there are addresses that were not looked for yet */
	u64 tried_ns;
	struct jit_file file;
	VEC(struct code) code; /* by address, apart from each other */
	VEC(struct ask) asks;
	struct map asked;	    /* the addresses of asks */
	VEC(struct answer) answers; /* by begin */
};

struct jit_names {
	pthread_t thread;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t wake, done;
	bool stop, drop;
	struct map processes;		   /* pid -> struct jit_process, owned */
	VEC(struct jit_process *) queue;   /* that are wanted */
	struct jit_process *away;	   /* that the thread looks at; owned if it is over */
	VEC(struct record_mapping *) told; /* owned */
	size_t taken;			   /* of these */
	u64 missed;

	bool is_vacant; /* there is no thread */
	struct foreign_looks *looks;
};

static void process_free(struct jit_process *p)
{
	if (p->file.fd >= 0)
		close(p->file.fd);
	vec_free(&p->code);
	vec_free(&p->asks);
	vec_free(&p->answers);
	map_free(&p->asked);
	free(p);
}

static void names_free(struct jit_names *j)
{
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&j->processes, &at, &entry))
		process_free(entry.value);
	map_free(&j->processes);
	for (size_t i = j->taken; i < j->told.count; i++)
		free(j->told.data[i]);
	vec_free(&j->told);
	vec_free(&j->queue);
	foreign_looks_free(j->looks);
	free(j);
}

/* ---- a look ---- */

static int ask_compare(const void *a, const void *b)
{
	const struct ask *x = a, *y = b;

	COMPARE(x->address, y->address);
	return 0;
}

/* Copies what is asked, and of functions that were told where they begin. With the mutex. */
static int look_begin(struct look *l, struct jit_process *p)
{
	u64 now = host_clock_now_ns();
	int err = 0;

	*l = (struct look){.pid = p->pid, .file = p->file, .search = p->asks.count};
	l->changed = p->fresh;
	p->fresh = false;
	p->file = (struct jit_file){.fd = -1};
	for (size_t i = 0; i < p->asks.count && !err; i++)
		err = vec_push(&l->asks, p->asks.data[i]);
	for (size_t i = 0; i < p->answers.count && l->search && !err; i++)
		err = vec_push(&l->asks, ((struct ask){p->answers.data[i].begin, now}));
	if (l->asks.count)
		qsort(l->asks.data, l->asks.count, sizeof(*l->asks.data), ask_compare);
	for (size_t i = 0; i < l->asks.count && !err; i++)
		err = vec_push(&l->addresses, l->asks.data[i].address);
	l->results = calloc(l->asks.count + 1, sizeof(*l->results));
	return err ? err : l->results ? 0 : -ENOMEM;
}

/* ---- what is told ---- */

static size_t answers_before(const struct jit_process *p, u64 address)
{
	return COUNT_BEFORE(&p->answers, e, e->begin <= address);
}

static const struct answer *answer_at(const struct jit_process *p, u64 address)
{
	size_t n = answers_before(p, address);

	return n && address < p->answers.data[n - 1].end ? &p->answers.data[n - 1] : NULL;
}

/* Removes answers that the new one overlaps, and adds it. */
static int answer_put(struct jit_process *p, const struct answer *fresh)
{
	size_t kept = 0, at;
	int err;

	for (size_t i = 0; i < p->answers.count; i++) {
		const struct answer *a = &p->answers.data[i];

		if (a->end <= fresh->begin || a->begin >= fresh->end)
			p->answers.data[kept++] = *a;
	}
	p->answers.count = kept < ANSWERS_MAX ? kept : 0;
	at = answers_before(p, fresh->begin);
	err = vec_push(&p->answers, *fresh);
	if (err)
		return err;
	memmove(&p->answers.data[at + 1], &p->answers.data[at],
		(p->answers.count - 1 - at) * sizeof(*fresh));
	p->answers.data[at] = *fresh;
	return 0;
}

static int function_tell(struct jit_names *j, u32 pid, const struct found *f, u64 since_ns)
{
	static const char path[] = RECORD_MAPPING_JIT "\0"; /* and an empty identity */
	struct record_mapping *r = calloc(1, MAPPING_BYTES);
	int err;

	if (!r)
		return -ENOMEM;
	r->head.kind = RECORD_mapping;
	r->head.tid = r->head.pid = pid;
	r->begin = f->begin;
	r->end = f->end;
	r->since_ns = since_ns;
	memcpy(r->path, path, sizeof(path));
	memcpy(r->path + sizeof(path), f->name, f->bytes);
	r->path_len = (u16)(sizeof(path) + f->bytes);
	r->head.slots =
		(offsetof(struct record_mapping, path) + r->path_len + RECORD_SLOT_BYTES - 1) /
		RECORD_SLOT_BYTES;
	err = vec_push(&j->told, r);
	if (err)
		free(r);
	return err;
}

/* Tells the answer to a question, unless it was told before. */
static int result_give(struct jit_names *j, struct jit_process *p, const struct ask *ask,
		       const struct found *f)
{
	struct answer fresh = {f->begin, f->end, hash_bytes(f->name, f->bytes)};
	const struct answer *known = answer_at(p, ask->address);
	int err;

	if (known && known->begin == fresh.begin && known->end == fresh.end &&
	    known->hash == fresh.hash)
		return 0;
	err = function_tell(j, p->pid, f, ask->time_ns);
	return err ? err : answer_put(p, &fresh);
}

static void asks_answered(struct jit_process *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->asks.count; i++) {
		if (answer_at(p, p->asks.data[i].address))
			map_remove(&p->asked, p->asks.data[i].address);
		else
			p->asks.data[kept++] = p->asks.data[i];
	}
	p->asks.count = kept;
}

/* With the mutex. */
static void look_want(struct jit_names *j, struct jit_process *p)
{
	if (p->wanted || p->away || p->stuck || vec_push(&j->queue, p))
		return;
	p->wanted = true;
	p->again = false;
	p->tried_ns = clock_now_ns();
	pthread_cond_signal(&j->wake);
}

/* Takes the process back. With the mutex. */
static void look_end(struct jit_names *j, struct jit_process *p, struct look *l)
{
	int err = 0;

	p->away = false;
	p->file = l->file;
	p->fresh |= l->err && l->changed;
	for (size_t i = 0; i < l->asks.count && !p->over && !err; i++)
		if (l->results[i] && l->results[i]->bytes)
			err = result_give(j, p, &l->asks.data[i], l->results[i]);
	if (p->over) {
		process_free(p);
		return;
	}
	asks_answered(p);
	if (p->again)
		look_want(j, p);
}

/* ---- the thread ---- */

/* Looks at the first process that waits. With the mutex. False: the work was taken away. */
static bool first_look(struct jit_names *j)
{
	struct jit_process *p = j->queue.data[0];
	struct look l;
	int err;

	j->queue.count--;
	memmove(j->queue.data, j->queue.data + 1, j->queue.count * sizeof(*j->queue.data));
	p->wanted = false;
	p->away = true;
	j->away = p;
	err = look_begin(&l, p);
	pthread_mutex_unlock(&j->mutex);
	if (!err && !(err = foreign_look_begin(j->looks, FOREIGN_PROCESS(l.pid)))) {
		look_do(&l);
		err = foreign_look_end(j->looks);
	}
	l.err = err ? err : l.err;
	if (err == -ECANCELED) {
		if (l.file.fd >= 0)
			close(l.file.fd);
		look_free(&l);
		return false;
	}
	pthread_mutex_lock(&j->mutex);
	j->away = NULL;
	look_end(j, p, &l);
	pthread_cond_signal(&j->done);
	look_free(&l);
	return true;
}

static void *names_run(void *arg)
{
	struct jit_names *j = arg;

	foreign_looks_join(j->looks);
	if (j->drop)
		capture_capabilities_drop(0);
	pthread_mutex_lock(&j->mutex);
	while (!j->stop) {
		if (!j->queue.count)
			pthread_cond_wait(&j->wake, &j->mutex);
		else if (!first_look(j))
			return NULL;
	}
	pthread_mutex_unlock(&j->mutex);
	return NULL;
}

/* Leaves a thread behind whose look hangs, and never looks at that process again. */
static void thread_supervise(struct jit_names *j)
{
	if (foreign_looks_take(j->looks)) {
		pthread_mutex_lock(&j->mutex);
		if (j->away) {
			j->away->away = false;
			j->away->stuck = true;
			if (j->away->over)
				process_free(j->away);
			j->away = NULL;
		}
		pthread_mutex_unlock(&j->mutex);
		pthread_detach(j->thread);
		j->is_vacant = true;
	}
	if (j->is_vacant) /* a failure is tried again the next time */
		j->is_vacant = thread_start(&j->thread, names_run, j) != 0;
}

int jit_names_open(struct jit_names **out, bool drop, struct error *e)
{
	struct jit_names *j = calloc(1, sizeof(*j));
	int err = -ENOMEM;

	if (!j)
		return error_set(e, ENOMEM, "cannot read names of code");
	j->drop = drop;
	pthread_mutex_init(&j->mutex, NULL);
	condition_init(&j->wake);
	condition_init(&j->done);
	j->looks = foreign_looks_new();
	if (j->looks)
		err = thread_start(&j->thread, names_run, j);
	if (err) {
		names_free(j);
		return error_set(e, err, "cannot read names of code");
	}
	*out = j;
	return 0;
}

static struct timespec timespec_of(u64 ns)
{
	return (struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
}

void jit_names_close(struct jit_names *j)
{
	struct timespec until = timespec_of(clock_now_ns() + STUCK_NS);

	if (!j)
		return;
	pthread_mutex_lock(&j->mutex);
	j->stop = true;
	pthread_cond_signal(&j->wake);
	pthread_mutex_unlock(&j->mutex);
	if (j->is_vacant || !pthread_clockjoin_np(j->thread, NULL, CLOCK_MONOTONIC, &until)) {
		names_free(j);
		return;
	}
	pthread_detach(j->thread);
	if (foreign_looks_take(j->looks))
		names_free(j);
}

/* ---- questions ---- */

static struct jit_process *process_make(struct jit_names *j, u32 pid)
{
	struct jit_process *p = map_get(&j->processes, pid);

	if (p || j->processes.count >= PROCESSES_MAX)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p || map_put(&j->processes, pid, p)) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->file.fd = -1;
	return p;
}

/* Adds a mapping in place of those that it overlaps. */
static int code_put(struct jit_process *p, struct code fresh)
{
	size_t kept = 0, at;

	for (size_t i = 0; i < p->code.count; i++) {
		const struct code *c = &p->code.data[i];

		if (c->end <= fresh.begin || c->begin >= fresh.end)
			p->code.data[kept++] = *c;
	}
	p->code.count = kept < CODE_MAX ? kept : 0;
	at = COUNT_BEFORE(&p->code, e, e->begin < fresh.begin);
	if (vec_push(&p->code, fresh))
		return -ENOMEM;
	memmove(&p->code.data[at + 1], &p->code.data[at], (p->code.count - 1 - at) * sizeof(fresh));
	p->code.data[at] = fresh;
	return 0;
}

void jit_names_mapped(struct jit_names *j, const struct record_mapping *r)
{
	struct jit_process *p;

	pthread_mutex_lock(&j->mutex);
	p = process_make(j, r->head.pid);
	if (!p || code_put(p, (struct code){r->begin, r->end}))
		j->missed++;
	else if (p->file.fd < 0)
		look_want(j, p);
	pthread_mutex_unlock(&j->mutex);
}

void jit_names_forget(struct jit_names *j, u32 pid)
{
	struct jit_process *p;

	pthread_mutex_lock(&j->mutex);
	p = map_remove(&j->processes, pid);
	for (size_t i = 0; p && p->wanted && i < j->queue.count; i++)
		if (j->queue.data[i] == p) {
			j->queue.count--;
			memmove(j->queue.data + i, j->queue.data + i + 1,
				(j->queue.count - i) * sizeof(*j->queue.data));
			break;
		}
	if (p && p->away)
		p->over = true;
	else if (p)
		process_free(p);
	pthread_mutex_unlock(&j->mutex);
}

/* Forgets processes that have ended: all that can be found of them was told. With the mutex. */
static void gone_forget(struct jit_names *j)
{
	VEC(u32) pids = {0};
	struct map_entry entry;
	size_t at = 0;

	while (map_next(&j->processes, &at, &entry)) {
		const struct jit_process *p = entry.value;

		if (p->file.gone && !p->away && !p->wanted)
			(void)vec_push(&pids, p->pid); /* else the next time */
	}
	for (size_t i = 0; i < pids.count; i++)
		process_free(map_remove(&j->processes, pids.data[i]));
	vec_free(&pids);
}

static bool is_code(const struct jit_process *p, u64 address)
{
	size_t n = COUNT_BEFORE(&p->code, e, e->begin <= address);

	return n && address < p->code.data[n - 1].end;
}

static void address_ask(struct jit_names *j, struct jit_process *p, u64 address, u64 time_ns)
{
	if (!is_code(p, address) || answer_at(p, address) || map_get(&p->asked, address))
		return;
	if (p->asks.count >= ASKS_MAX || map_put(&p->asked, address, PRESENT)) {
		j->missed++;
		return;
	}
	if (vec_push(&p->asks, ((struct ask){address, time_ns})))
		j->missed++;
	p->fresh = true;
}

void jit_names_ask(struct jit_names *j, const struct record_head *head)
{
	const struct record_sample *sample = (const void *)head;
	const struct record_stack *stack = (const void *)head;
	bool is_sample = head->kind == RECORD_sample;
	const char *frames = is_sample ? sample->frames + 8 * sample->kernel : stack->frames;
	size_t count = is_sample ? sample->frames_len / 8u - sample->kernel
				 : stack->frames_len / 8u;
	struct jit_process *p;

	if (!is_sample && stack->flags & STACK_KERNEL)
		return;
	pthread_mutex_lock(&j->mutex);
	p = map_get(&j->processes, head->pid);
	for (size_t i = 0; p && i < count; i++) {
		u64 address;

		memcpy(&address, frames + 8 * i, sizeof(address));
		/* a return address can be behind its function, if that ends with the call */
		address_ask(j, p, address - (i > 0), head->time_ns);
	}
	pthread_mutex_unlock(&j->mutex);
}

void jit_names_poll(struct jit_names *j)
{
	u64 now = clock_now_ns();
	struct map_entry entry;
	size_t at = 0;

	thread_supervise(j);
	pthread_mutex_lock(&j->mutex);
	while (map_next(&j->processes, &at, &entry)) {
		struct jit_process *p = entry.value;

		if (p->file.fd < 0 && now > p->tried_ns + AGAIN_NS)
			look_want(j, p);
	}
	pthread_mutex_unlock(&j->mutex);
}

void jit_names_wait(struct jit_names *j, u64 until_ns)
{
	struct timespec until = timespec_of(until_ns);
	u64 now = clock_now_ns();
	struct map_entry entry;
	size_t at = 0;
	int err = 0;

	thread_supervise(j);
	pthread_mutex_lock(&j->mutex);
	while (map_next(&j->processes, &at, &entry)) {
		struct jit_process *p = entry.value;

		if (!p->asks.count && now <= p->tried_ns + LOOKED_NS)
			continue;
		/* a look that is under way may have begun before the last questions came */
		p->again = p->away;
		look_want(j, p);
	}
	while ((j->queue.count || j->away) && !err)
		err = pthread_cond_timedwait(&j->done, &j->mutex, &until);
	gone_forget(j);
	pthread_mutex_unlock(&j->mutex);
}

struct record_mapping *jit_names_take(struct jit_names *j)
{
	struct record_mapping *r = NULL;

	pthread_mutex_lock(&j->mutex);
	if (j->taken < j->told.count)
		r = j->told.data[j->taken++];
	if (j->taken == j->told.count)
		j->taken = j->told.count = 0;
	pthread_mutex_unlock(&j->mutex);
	return r;
}

u64 jit_names_missed(struct jit_names *j)
{
	u64 missed;

	pthread_mutex_lock(&j->mutex);
	missed = j->missed;
	j->missed = 0;
	pthread_mutex_unlock(&j->mutex);
	return missed;
}
