/* SPDX-License-Identifier: Apache-2.0 */
/* A thread for each connection, and what one may do besides: its requests stay on it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rules.h"

static void each_connection(void *(*serve)(void *))
{
	for (;;)
		thread_begin(serve, asked_accept());
}

static void *serve_alone(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);

	asked_serve(a, &backend);
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void threads(void)
{
	each_connection(serve_alone);
}

/* ---- a thread for each request ---- */

static void *do_one(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);

	asked_call_all(a, &backend);
	close(backend.fd);
	asked_answer(a);
	return NULL;
}

static void *make_threads(void *arg)
{
	struct asked *a = arg;

	while (asked_read(a)) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, do_one, a))
			_exit(4);
		pthread_join(thread, NULL);
	}
	asked_end(a);
	return NULL;
}

static void made(void)
{
	each_connection(make_threads);
}

/* ---- two listeners with one port ---- */

static void *accept_and_serve(void *arg)
{
	struct line backend = talk_connect(rules_backend);
	const int *listener = arg;

	for (;;) {
		struct asked *a = calloc(1, sizeof(*a));

		a->line = talk_accept(*listener);
		asked_serve(a, &backend);
		asked_end(a);
	}
	return NULL;
}

static void reuseport(void)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	static int other;
	int yes = 1;

	getsockname(rules_listener, (struct sockaddr *)&address, &length);
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(other, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
	if (bind(other, (struct sockaddr *)&address, length) || listen(other, 64))
		_exit(4);
	thread_begin(accept_and_serve, &other);
	accept_and_serve(&rules_listener);
}

/* ---- a lock, for which threads wake each other ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *serve_locked(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);

	while (asked_read(a)) {
		pthread_mutex_lock(&lock);
		asked_call(a, &backend);
		pthread_mutex_unlock(&lock);
		asked_call(a, &backend);
		asked_answer(a);
	}
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void mutex(void)
{
	each_connection(serve_locked);
}

/* ---- connections to the backend that all threads share ---- */

static struct {
	struct line free[64];
	int count;
} shared;

static struct line shared_take(void)
{
	struct line line = {-1, 0, 0};

	pthread_mutex_lock(&lock);
	if (shared.count)
		line = shared.free[--shared.count];
	pthread_mutex_unlock(&lock);
	return line.fd < 0 ? talk_connect(rules_backend) : line;
}

static void shared_give(struct line line)
{
	pthread_mutex_lock(&lock);
	shared.free[shared.count++] = line;
	pthread_mutex_unlock(&lock);
}

static void *serve_pooled(void *arg)
{
	struct asked *a = arg;

	while (asked_read(a)) {
		for (int i = 0; i < CALLS; i++) {
			struct line backend = shared_take();

			asked_call(a, &backend);
			shared_give(backend);
		}
		asked_answer(a);
	}
	asked_end(a);
	return NULL;
}

static void pooled(void)
{
	each_connection(serve_pooled);
}

/* ---- calls that are of no request, or outlive theirs ---- */

static void *call_on_timer(void *arg)
{
	struct line backend = talk_connect(rules_backend);
	const struct timespec pause = {0, 3000000};

	for (;;) {
		nanosleep(&pause, NULL);
		call_of_none(&backend, 't');
	}
	return arg;
}

static void background(void)
{
	thread_begin(call_on_timer, NULL);
	threads();
}

/* The second call begins before the answer and ends after it, a third begins after it. */
static void *serve_and_go_on(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);
	char ident[IDENT_MAX], message[IDENT_MAX + 2];
	int64_t begin;

	while (asked_read(a)) {
		asked_call(a, &backend);
		asked_call_ident(a, ident);
		snprintf(message, sizeof(message), "%s\n", ident);
		begin = now_ns();
		talk_send(&backend, message, strlen(message));
		asked_answer(a);
		talk_receive(&backend, message, sizeof(message), ANSWER);
		ledger_add('c', &backend, begin, now_ns(), ident);
		call_of_none(&backend, 'l');
	}
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void outlives(void)
{
	each_connection(serve_and_go_on);
}

/* ---- other sockets, other answers, other requests ---- */

static void *serve_over_unix(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect_unix(rules_backend_path);

	asked_serve(a, &backend);
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void over_unix(void)
{
	each_connection(serve_over_unix);
}

static FILE *answer_file;

static void *serve_file(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);

	while (asked_read(a)) {
		off_t from = 0;

		asked_call_all(a, &backend);
		ledger_add('s', &a->line, a->begin_ns, now_ns(), a->ident);
		sendfile(a->line.fd, fileno(answer_file), &from, strlen(ANSWER));
	}
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void by_sendfile(void)
{
	answer_file = tmpfile();
	if (!answer_file || fputs(ANSWER, answer_file) < 0 || fflush(answer_file))
		_exit(4);
	each_connection(serve_file);
}

/* It answers when it has the line of a long request, and reads the rest later. */
static void *serve_early(void *arg)
{
	static const size_t rest_max = 65536;
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);
	char *rest = malloc(rest_max);

	while (asked_read(a)) {
		size_t left = LONG_BYTES - a->have - strlen(a->ident) - 1;

		a->have = 0;
		asked_call_all(a, &backend);
		asked_answer(a);
		while (left) {
			ssize_t n = recv(a->line.fd, rest, left < rest_max ? left : rest_max, 0);

			if (n <= 0)
				break;
			left -= (size_t)n;
		}
	}
	free(rest);
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void early(void)
{
	each_connection(serve_early);
}

/* Reads two bytes at a time, as who reads a head before the rest. */
static ssize_t sip(int fd, void *data, size_t bytes, bool is_sent)
{
	if (is_sent)
		return send(fd, data, bytes, MSG_NOSIGNAL);
	return recv(fd, data, bytes < 2 ? bytes : 2, 0);
}

static void sips(void)
{
	talk_move = sip;
	threads();
}

/* Two lines came in one message, and are done one after the other. */
static void *serve_twos(void *arg)
{
	struct asked *a = arg;
	struct line backend = talk_connect(rules_backend);

	while (asked_read(a)) {
		int64_t begin = a->begin_ns;

		asked_call_all(a, &backend);
		talk_send(&a->line, ANSWER, strlen(ANSWER));
		if (!asked_read(a))
			break;
		a->begin_ns = begin;
		a->calls_done = CALLS;
		asked_call_all(a, &backend);
		asked_answer(a);
	}
	close(backend.fd);
	asked_end(a);
	return NULL;
}

static void twos(void)
{
	each_connection(serve_twos);
}

const struct mode thread_modes[] = {
	{"threads", threads},	{"made", made},	     {"reuseport", reuseport},
	{"mutex", mutex},	{"pooled", pooled},  {"background", background},
	{"outlives", outlives}, {"unix", over_unix}, {"sendfile", by_sendfile},
	{"early", early},	{"twos", twos},	     {"sips", sips},
	{NULL, NULL},
};
