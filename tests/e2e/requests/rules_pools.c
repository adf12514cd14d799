/* SPDX-License-Identifier: Apache-2.0 */
/* One thread reads the requests, others do them: what wakes a worker is what hands one over. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rules.h"

#define WORKERS 6

struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct asked *first, **last;
};

static struct queue queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL,
			     &queue.first};
static struct queue done = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &done.first};
static int poll_fd, event_fd, done_fd, pipe_fds[2];

static void queue_append(struct queue *q, struct asked *a)
{
	a->next = NULL;
	*q->last = a;
	q->last = &a->next;
}

static struct asked *queue_first(struct queue *q)
{
	struct asked *a = q->first;

	if (a && !(q->first = a->next))
		q->last = &q->first;
	return a;
}

/* ---- ways to hand a request over ---- */

static void condition_put(struct asked *a)
{
	pthread_mutex_lock(&queue.mutex);
	queue_append(&queue, a);
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
}

static struct asked *condition_take(void)
{
	struct asked *a;

	pthread_mutex_lock(&queue.mutex);
	while (!(a = queue_first(&queue)))
		pthread_cond_wait(&queue.filled, &queue.mutex);
	pthread_mutex_unlock(&queue.mutex);
	return a;
}

static void eventfd_put(struct asked *a)
{
	pthread_mutex_lock(&queue.mutex);
	queue_append(&queue, a);
	pthread_mutex_unlock(&queue.mutex);
	eventfd_write(event_fd, 1);
}

static struct asked *eventfd_take(void)
{
	struct asked *a;
	eventfd_t count;

	eventfd_read(event_fd, &count);
	pthread_mutex_lock(&queue.mutex);
	a = queue_first(&queue);
	pthread_mutex_unlock(&queue.mutex);
	return a;
}

static void pipe_put(struct asked *a)
{
	if (write(pipe_fds[1], &a, sizeof(a)) != sizeof(a))
		_exit(4);
}

static struct asked *pipe_take(void)
{
	struct asked *a;

	if (read(pipe_fds[0], &a, sizeof(a)) != sizeof(a))
		_exit(4);
	return a;
}

/* ---- the pool ---- */

static void watch(struct asked *a, int how)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = a};

	epoll_ctl(poll_fd, how, a->line.fd, &event);
}

static void answer_by_worker(struct asked *a)
{
	asked_answer(a);
	watch(a, EPOLL_CTL_MOD);
}

static void answer_by_reader(struct asked *a)
{
	pthread_mutex_lock(&done.mutex);
	queue_append(&done, a);
	pthread_mutex_unlock(&done.mutex);
	eventfd_write(done_fd, 1);
}

static const struct way {
	void (*put)(struct asked *a);
	struct asked *(*take)(void);
	void (*finish)(struct asked *a);
} by_condition = {condition_put, condition_take, answer_by_worker},
  by_eventfd = {eventfd_put, eventfd_take, answer_by_worker},
  by_pipe = {pipe_put, pipe_take, answer_by_worker},
  and_back = {condition_put, condition_take, answer_by_reader};

static const struct way *way;

static void *work(void *unused)
{
	struct line backend = talk_connect(rules_backend);

	for (;;) {
		struct asked *a = way->take();

		if (!a)
			continue;
		asked_call_all(a, &backend);
		way->finish(a);
	}
	return unused;
}

static void answer_done(void)
{
	eventfd_t count;

	eventfd_read(done_fd, &count);
	for (;;) {
		struct asked *a;

		pthread_mutex_lock(&done.mutex);
		a = queue_first(&done);
		pthread_mutex_unlock(&done.mutex);
		if (!a)
			return;
		answer_by_worker(a);
	}
}

static void request_came(struct asked *a)
{
	if (asked_read(a))
		way->put(a);
	else
		asked_end(a);
}

static void pool_run(const struct way *wanted)
{
	struct asked ours = {.line.fd = rules_listener}, *finished = &(struct asked){0};

	way = wanted;
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	event_fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	done_fd = finished->line.fd = eventfd(0, EFD_CLOEXEC);
	if (pipe(pipe_fds))
		_exit(4);
	for (int i = 0; i < WORKERS; i++)
		thread_begin(work, NULL);
	watch(&ours, EPOLL_CTL_ADD);
	watch(finished, EPOLL_CTL_ADD);
	for (;;) {
		struct epoll_event event;

		if (epoll_wait(poll_fd, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr == &ours) {
			watch(asked_accept(), EPOLL_CTL_ADD);
			watch(&ours, EPOLL_CTL_MOD);
		} else if (event.data.ptr == finished) {
			answer_done();
			watch(finished, EPOLL_CTL_MOD);
		} else {
			request_came(event.data.ptr);
		}
	}
}

static void condition(void)
{
	pool_run(&by_condition);
}

static void by_event(void)
{
	pool_run(&by_eventfd);
}

static void by_pipes(void)
{
	pool_run(&by_pipe);
}

static void returned(void)
{
	pool_run(&and_back);
}

/* ---- futures: a thread for each connection waits for what a pool does for it ---- */

struct future {
	struct asked asked; /* first, so that the queue holds it */
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	bool is_done;
};

static void *fulfil(void *unused)
{
	struct line backend = talk_connect(rules_backend);

	for (;;) {
		struct future *f = (struct future *)condition_take();

		asked_call_all(&f->asked, &backend);
		pthread_mutex_lock(&f->mutex);
		f->is_done = true;
		pthread_cond_signal(&f->ended);
		pthread_mutex_unlock(&f->mutex);
	}
	return unused;
}

static void *serve_by_future(void *arg)
{
	struct future *f = arg;

	while (asked_read(&f->asked)) {
		f->is_done = false;
		condition_put(&f->asked);
		pthread_mutex_lock(&f->mutex);
		while (!f->is_done)
			pthread_cond_wait(&f->ended, &f->mutex);
		pthread_mutex_unlock(&f->mutex);
		asked_answer(&f->asked);
	}
	asked_end(&f->asked);
	return NULL;
}

static void futures(void)
{
	for (int i = 0; i < WORKERS; i++)
		thread_begin(fulfil, NULL);
	for (;;) {
		struct future *f = calloc(1, sizeof(*f));

		f->asked.line = talk_accept(rules_listener);
		pthread_mutex_init(&f->mutex, NULL);
		pthread_cond_init(&f->ended, NULL);
		thread_begin(serve_by_future, f);
	}
}

const struct mode pool_modes[] = {
	{"condition", condition}, {"eventfd", by_event}, {"pipe", by_pipes},
	{"returned", returned},	  {"futures", futures},	 {NULL, NULL},
};
