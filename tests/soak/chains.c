/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle, and what is out of scope as the recorder itself, go from one to the other untold.
 *
 * On some virtual machines no program runs for what is done by process 1, and by interrupts above
 * it: its threads come onto a CPU, as they are seen to, and whoever they wake or leave it to is not
 * told. From there to the next switch of that CPU nothing must be there.
 */
#include "chains.h"

#include <inttypes.h>
#include <stdlib.h>

#define THREADS (1u << 22) /* pid_max is never more */
#define CPUS (1u << 16)

struct chained_cpu {
	u64 since_ns;
	u64 lost_ns; /* from then on switches were lost; 0: none */
	u32 tid;     /* that has it since then */
	u32 run;
	bool out; /* of scope, or idle */
};

struct chained_thread {
	u64 left_ns, woken_ns; /* since it came onto a CPU */
	u32 run;
	bool asleep;
};

struct chains {
	FILE *out;
	struct chained_cpu cpus[CPUS];
	struct chained_thread threads[THREADS];
	bool first[THREADS]; /* it is a thread of process 1 */
	bool first_leaves;   /* and such a one was seen to leave its CPU */
	u64 unseen_ns;	     /* up to when a CPU was in its hands */
	u64 begin_ns, to_ns; /* of the chunk, as far as nothing is missing */
	u32 run;	     /* of chunks without a gap; what has another one is not known */
	u32 cpus_count;
	u64 switches, comings, unseen;
};

struct chains *chains_new(FILE *out)
{
	struct chains *c = calloc(1, sizeof(*c));

	if (c)
		c->out = out;
	return c;
}

void chains_free(struct chains *c)
{
	free(c);
}

void chains_chunk(struct chains *c, const struct chunk_info *info)
{
	if (!c->run || info->begin_ns > c->to_ns)
		c->run++;
	c->begin_ns = info->begin_ns;
	c->to_ns = chunk_covers_to(info);
}

static struct chained_thread *thread_at(struct chains *c, u32 tid)
{
	struct chained_thread *thread = &c->threads[tid % THREADS];

	if (thread->run != c->run)
		*thread = (struct chained_thread){.run = c->run};
	return thread;
}

static bool cpu_is_unseen(const struct chains *c, const struct chained_cpu *cpu)
{
	return cpu->run == c->run && !c->first_leaves && c->first[cpu->tid % THREADS];
}

static bool was_unseen(const struct chains *c, u64 since_ns)
{
	for (u32 i = 0; i < c->cpus_count; i++)
		if (cpu_is_unseen(c, &c->cpus[i]))
			return true;
	return c->unseen_ns >= since_ns;
}

static void thread_leaves(struct chains *c, const struct record_switch *r)
{
	struct chained_thread *thread = thread_at(c, r->head.tid);

	thread->left_ns = r->head.time_ns;
	thread->asleep = r->state != LEAVE_preempted && r->state != LEAVE_throttled &&
			 r->state != LEAVE_dead;
}

/* A thread can be woken when it is about to sleep, and leave its CPU asleep after that. */
static void thread_comes(struct chains *c, const struct record_switch *r)
{
	struct chained_thread *thread = thread_at(c, r->next_tid);

	c->comings += thread->asleep;
	if (thread->asleep && !thread->woken_ns && was_unseen(c, thread->left_ns))
		c->unseen++;
	else if (thread->asleep && !thread->woken_ns)
		fprintf(c->out, "waking %" PRIu64 " %" PRIu64 " %u\n", thread->left_ns,
			(u64)r->head.time_ns, r->next_tid);
	*thread = (struct chained_thread){.run = c->run};
}

static void cpu_goes_on(struct chains *c, struct chained_cpu *cpu, const struct record_switch *r)
{
	bool out = !r->head.tid || r->mode & MODE_PREV_OUT;

	if (cpu_is_unseen(c, cpu))
		c->unseen_ns = r->head.time_ns;
	else if (cpu->run == c->run && cpu->tid != r->head.tid && !(cpu->out && out))
		fprintf(c->out, "switch %" PRIu64 " %" PRIu64 " %u\n", cpu->since_ns,
			(u64)r->head.time_ns, r->head.cpu);
	if (cpu->run == c->run && cpu->lost_ns && !c->first_leaves)
		fprintf(c->out, "unknown %" PRIu64 " %" PRIu64 "\n", cpu->lost_ns,
			(u64)r->head.time_ns);
	*cpu = (struct chained_cpu){.since_ns = r->head.time_ns,
				    .tid = r->next_tid,
				    .run = c->run,
				    .out = !r->next_tid || r->mode & MODE_NEXT_OUT};
}

static void switch_chain(struct chains *c, const struct record_switch *r)
{
	c->switches++;
	if (r->head.cpu >= c->cpus_count)
		c->cpus_count = r->head.cpu + 1u;
	if (r->head.pid == 1)
		c->first_leaves = true;
	cpu_goes_on(c, &c->cpus[r->head.cpu], r);
	if (r->state == LEAVE_running)
		return;
	if (r->head.tid && !(r->mode & MODE_PREV_OUT))
		thread_leaves(c, r);
	if (r->next_tid && !(r->mode & MODE_NEXT_OUT))
		thread_comes(c, r);
}

static void switches_lost(struct chains *c, const struct record_lost *r)
{
	struct chained_cpu *cpu = &c->cpus[r->head.cpu];

	if (cpu->run == c->run && (!cpu->lost_ns || r->begin_ns < cpu->lost_ns) &&
	    (r->lost_kind == RECORD_switch || !r->lost_kind) && r->why != LOST_application)
		cpu->lost_ns = r->begin_ns;
}

/* The number is another's from now on, and the CPU's thread may have another one. */
static void thread_is_another(struct chains *c, u32 tid, u32 old_tid)
{
	*thread_at(c, tid) = (struct chained_thread){.run = c->run};
	for (u32 i = 0; old_tid != tid && i < c->cpus_count; i++)
		if (c->cpus[i].tid == old_tid)
			c->cpus[i].tid = tid;
}

void chains_record(struct chains *c, const struct record_head *r)
{
	if (r->pid == 1)
		c->first[r->tid % THREADS] = true;
	if (r->time_ns < c->begin_ns || r->time_ns >= c->to_ns)
		return;
	if (r->kind == RECORD_switch)
		switch_chain(c, (const void *)r);
	else if (r->kind == RECORD_waking)
		thread_at(c, r->tid)->woken_ns = r->time_ns;
	else if (r->kind == RECORD_lost)
		switches_lost(c, (const void *)r);
	else if (r->kind == RECORD_fork)
		thread_is_another(c, r->tid, r->tid);
	else if (r->kind == RECORD_exec)
		thread_is_another(c, r->tid, ((const struct record_exec *)r)->old_tid);
}

void chains_print(const struct chains *c)
{
	fprintf(c->out, "checked %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->switches, c->comings,
		c->unseen);
}
