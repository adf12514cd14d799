/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/deadline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/thread.h"

#define LOOK_NS (uint64_t)1000000000

struct timed {
	struct deadline *deadline;
	struct timed *next, *before;
	int fd;
	uint64_t begun_ns; /* 0: its request is whole */
};

struct deadline {
	uint64_t limit_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct timed *first;
	bool stopping;
};

/* With the lock held, so that no descriptor is closed meanwhile. */
static void all_look(struct deadline *w)
{
	uint64_t now = clock_now_ns();

	for (struct timed *c = w->first; c; c = c->next) {
		if (c->begun_ns && now - c->begun_ns >= w->limit_ns)
			shutdown(c->fd, SHUT_RDWR);
	}
}

static void *deadline_run(void *arg)
{
	struct deadline *w = arg;
	uint64_t step_ns = w->limit_ns / 4 < LOOK_NS ? w->limit_ns / 4 + 1 : LOOK_NS;

	pthread_mutex_lock(&w->lock);
	while (!w->stopping) {
		condition_wait(&w->wake, &w->lock, clock_now_ns() + step_ns);
		all_look(w);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int deadline_start(uint64_t limit_ns, struct deadline **out)
{
	struct deadline *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->limit_ns = limit_ns;
	pthread_mutex_init(&w->lock, NULL);
	condition_init(&w->wake);
	err = thread_start(&w->thread, deadline_run, w);
	if (err) {
		pthread_cond_destroy(&w->wake);
		pthread_mutex_destroy(&w->lock);
		free(w);
		return err;
	}
	*out = w;
	return 0;
}

void deadline_stop(struct deadline *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void timed_add(struct deadline *w, int fd, void **state)
{
	struct timed *c = calloc(1, sizeof(*c));

	*state = c;
	if (!c)
		return; /* its time is not limited */
	*c = (struct timed){.deadline = w, .fd = fd, .begun_ns = clock_now_ns()};
	pthread_mutex_lock(&w->lock);
	c->next = w->first;
	if (c->next)
		c->next->before = c;
	w->first = c;
	pthread_mutex_unlock(&w->lock);
}

static void timed_remove(struct deadline *w, struct timed *c)
{
	pthread_mutex_lock(&w->lock);
	if (c->before)
		c->before->next = c->next;
	else
		w->first = c->next;
	if (c->next)
		c->next->before = c->before;
	pthread_mutex_unlock(&w->lock);
	free(c);
}

void deadline_connection(void *deadline, struct MHD_Connection *connection, void **state,
			 enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			timed_add(deadline, info->connect_fd, state);
	} else if (*state) {
		timed_remove(deadline, *state);
	}
}

static void begun_set(struct MHD_Connection *connection, uint64_t begun_ns)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct timed *c = info ? info->socket_context : NULL;

	if (!c)
		return;
	pthread_mutex_lock(&c->deadline->lock);
	c->begun_ns = begun_ns;
	pthread_mutex_unlock(&c->deadline->lock);
}

void deadline_end(struct MHD_Connection *connection)
{
	begun_set(connection, 0);
}

void deadline_begin(struct MHD_Connection *connection)
{
	begun_set(connection, clock_now_ns());
}
