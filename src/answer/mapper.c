/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/mapper.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/thread.h"
#include "base/vec.h"

/* Leaves that are mapped ahead of the next one to take, in addition to one for each thread. */
#define LEAVES_AHEAD 2
#define THREADS_MAX 256

/* A leaf that is being mapped, or was mapped and not taken yet. */
struct slot {
	struct leaf_mapped mapped;
	bool done;
};

struct mapper {
	const struct leaf *leaves; /* borrowed */
	size_t count;
	struct partial_options options;
	struct slot *slots; /* the slot of leaf i is i % window */
	size_t window;
	pthread_mutex_t lock; /* guards the fields below, and `done` of each slot */
	pthread_cond_t changed;
	size_t begun; /* all leaves before this one were begun or dropped */
	size_t taken; /* all leaves before this one were taken or dropped */
	bool closing;
	VEC(pthread_t) threads;
};

static void leaf_map(const struct mapper *m, size_t at, u64 covered_ns, struct leaf_mapped *out)
{
	const struct leaf *leaf = &m->leaves[at];
	const struct chunk_task task = {
		.info = leaf->chunk, .covered_ns = covered_ns, .options = m->options};

	*out = (struct leaf_mapped){0};
	out->err = chunk_map(&out->partial, &task, &out->found, &out->why);
}

static struct slot *slot_of(struct mapper *m, size_t at)
{
	return &m->slots[at % m->window];
}

/* Begins the next leaf, if that is allowed. Call it with the lock held. */
static bool leaf_begin(struct mapper *m, size_t *at)
{
	if (m->begun >= m->count || m->begun >= m->taken + m->window)
		return false;
	*at = m->begun++;
	slot_of(m, *at)->done = false;
	return true;
}

/* Maps a leaf that was begun. Call it with the lock held; it is released meanwhile. */
static void leaf_do(struct mapper *m, size_t at)
{
	struct slot *slot = slot_of(m, at);

	pthread_mutex_unlock(&m->lock);
	leaf_map(m, at, m->leaves[at].covered_ns, &slot->mapped);
	pthread_mutex_lock(&m->lock);
	slot->done = true;
	pthread_cond_broadcast(&m->changed);
}

static void *leaves_do(void *arg)
{
	struct mapper *m = arg;
	size_t at;

	pthread_mutex_lock(&m->lock);
	while (!m->closing && m->begun < m->count) {
		if (leaf_begin(m, &at))
			leaf_do(m, at);
		else
			pthread_cond_wait(&m->changed, &m->lock);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

static unsigned int cpus_usable(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : (unsigned int)CPU_COUNT(&cpus);
}

/* If a thread cannot be started, the others do its work. */
static void threads_start(struct mapper *m, size_t count)
{
	pthread_t thread;

	if (vec_reserve(&m->threads, count))
		return;
	while (m->threads.count < count && !thread_start(&thread, leaves_do, m))
		m->threads.data[m->threads.count++] = thread;
}

int mapper_open(struct mapper **mapper, const struct leaf *leaves, size_t count,
		const struct partial_options *options, u64 threads)
{
	struct mapper *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	if (!threads)
		threads = cpus_usable();
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	if (threads > count)
		threads = count ? count : 1;
	m->window = threads > 1 ? threads + LEAVES_AHEAD : 1;
	m->slots = calloc(m->window, sizeof(*m->slots));
	if (!m->slots) {
		free(m);
		return -ENOMEM;
	}
	m->leaves = leaves;
	m->count = count;
	m->options = *options;
	pthread_mutex_init(&m->lock, NULL);
	pthread_cond_init(&m->changed, NULL);
	threads_start(m, threads - 1);
	*mapper = m;
	return 0;
}

/* Drops the results of the leaves before `at`. Call it with the lock held. */
static void leaves_drop(struct mapper *m, size_t at)
{
	for (; m->taken < at && m->taken < m->begun; m->taken++) {
		while (!slot_of(m, m->taken)->done)
			pthread_cond_wait(&m->changed, &m->lock);
		partial_free(slot_of(m, m->taken)->mapped.partial);
	}
	if (m->begun < at)
		m->begun = at;
	m->taken = at;
}

/* Waits until leaf `at` is mapped, and maps others meanwhile. */
static void leaf_wait(struct mapper *m, size_t at)
{
	size_t other;

	while (m->begun <= at || !slot_of(m, at)->done) {
		if (leaf_begin(m, &other))
			leaf_do(m, other);
		else
			pthread_cond_wait(&m->changed, &m->lock);
	}
}

void mapper_take(struct mapper *m, size_t at, u64 covered_ns, struct leaf_mapped *out)
{
	pthread_mutex_lock(&m->lock);
	leaves_drop(m, at);
	leaf_wait(m, at);
	*out = slot_of(m, at)->mapped;
	m->taken = at + 1;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	if (covered_ns == m->leaves[at].covered_ns)
		return;
	partial_free(out->partial);
	leaf_map(m, at, covered_ns, out);
}

void mapper_close(struct mapper *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->closing = true;
	pthread_cond_broadcast(&m->changed);
	pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; i < m->threads.count; i++)
		pthread_join(m->threads.data[i], NULL);
	for (; m->taken < m->begun; m->taken++)
		partial_free(slot_of(m, m->taken)->mapped.partial);
	vec_free(&m->threads);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	free(m->slots);
	free(m);
}
