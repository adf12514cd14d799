/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service with a pool: one thread reads the requests and hands them over a queue with a condition
 * to workers, which ask PostgreSQL twice and memcached once, each over connections of its own.
 *
 * usage: workers LEDGER PORT postgres=PORT memcached=PORT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "speak.h"

#define WORKERS 16

struct request {
	struct line line;
	int64_t begin_ns;
	char ident[IDENT_MAX];
	struct request *next;
};

static struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct request *first, **last;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &queue.first};
static int poll_fd, postgres_port, memcached_port;

static void queue_put(struct request *r)
{
	r->next = NULL;
	pthread_mutex_lock(&queue.mutex);
	*queue.last = r;
	queue.last = &r->next;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.mutex);
}

static struct request *queue_take(void)
{
	struct request *r;

	pthread_mutex_lock(&queue.mutex);
	while (!queue.first)
		pthread_cond_wait(&queue.filled, &queue.mutex);
	r = queue.first;
	queue.first = r->next;
	if (!queue.first)
		queue.last = &queue.first;
	pthread_mutex_unlock(&queue.mutex);
	return r;
}

static void watch(struct request *r, int how)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = r};

	epoll_ctl(poll_fd, how, r->line.fd, &event);
}

static void ask_postgres(const struct line *on, const struct request *r, int nth)
{
	char ident[IDENT_MAX + 16];
	int64_t begin = now_ns();

	snprintf(ident, sizeof(ident), "%s.%d", r->ident, nth);
	postgres_query(on, ident);
	ledger_add('c', on, begin, now_ns(), ident);
}

static void ask_memcached(const struct line *on, const struct request *r, int nth)
{
	char message[MESSAGE_MAX], ident[IDENT_MAX + 16];
	size_t length;
	int64_t begin;

	snprintf(ident, sizeof(ident), "%s.%d", r->ident, nth);
	length = memcached_request(ident, message);
	begin = now_ns();
	talk_send(on, message, length);
	talk_receive(on, message, sizeof(message), MEMCACHED_END);
	ledger_add('c', on, begin, now_ns(), ident);
}

static void *work(void *unused)
{
	struct line postgres = postgres_connect(postgres_port);
	struct line memcached = talk_connect(memcached_port);

	for (;;) {
		struct request *r = queue_take();

		ask_postgres(&postgres, r, 0);
		ask_memcached(&memcached, r, 1);
		ask_postgres(&postgres, r, 2);
		talk_send(&r->line, HTTP_ANSWER, strlen(HTTP_ANSWER));
		ledger_add('s', &r->line, r->begin_ns, now_ns(), r->ident);
		watch(r, EPOLL_CTL_MOD);
	}
	return unused;
}

static void request_came(struct request *r)
{
	char head[MESSAGE_MAX];

	if (!talk_receive(&r->line, head, sizeof(head), "\r\n\r\n")) {
		close(r->line.fd);
		free(r);
		return;
	}
	r->begin_ns = now_ns();
	http_ident(head, r->ident);
	queue_put(r);
}

int main(int argc, char **argv)
{
	struct request ours = {0};
	pthread_t thread;

	if (argc < 5)
		return 2;
	ledger_begin("workers", argv[1]);
	postgres_port = argument(argv, "postgres");
	memcached_port = argument(argv, "memcached");
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&thread, NULL, work, NULL))
			return 2;
	ours.line.fd = talk_listen(atoi(argv[2]));
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	watch(&ours, EPOLL_CTL_ADD);
	for (;;) {
		struct epoll_event event;
		struct request *r;

		if (epoll_wait(poll_fd, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr != &ours) {
			request_came(event.data.ptr);
			continue;
		}
		r = calloc(1, sizeof(*r));
		r->line = talk_accept(ours.line.fd);
		watch(r, EPOLL_CTL_ADD);
		watch(&ours, EPOLL_CTL_MOD);
	}
}
