/* SPDX-License-Identifier: Apache-2.0 */
/* usage: rules LEDGER LETTER MODE PORT BACKEND-PORT BACKEND-PATH */
#include "rules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rules_listener, rules_backend;
const char *rules_backend_path;
char rules_letter;

void thread_begin(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		_exit(4);
	pthread_detach(thread);
}

struct asked *asked_accept(void)
{
	struct asked *a = calloc(1, sizeof(*a));

	a->line = talk_accept(rules_listener);
	return a;
}

void asked_end(struct asked *a)
{
	close(a->line.fd);
	free(a);
}

bool asked_read(struct asked *a)
{
	char *end;

	while (!(end = memchr(a->came, '\n', a->have))) {
		size_t n = talk_receive(&a->line, a->came + a->have, sizeof(a->came) - a->have, "");

		if (!n)
			return false;
		a->have += n;
	}
	snprintf(a->ident, sizeof(a->ident), "%.*s", (int)(end - a->came), a->came);
	a->have -= (size_t)(end + 1 - a->came);
	memmove(a->came, end + 1, a->have);
	a->calls_done = 0;
	a->begin_ns = now_ns();
	return true;
}

void asked_call_ident(struct asked *a, char *ident)
{
	snprintf(ident, IDENT_MAX, "%.*s.%d", IDENT_MAX - 12, a->ident, a->calls_done++);
}

static void call(const struct line *backend, const char *ident)
{
	char message[IDENT_MAX + 2];
	int64_t begin = now_ns();

	snprintf(message, sizeof(message), "%s\n", ident);
	talk_send(backend, message, strlen(message));
	talk_receive(backend, message, sizeof(message), ANSWER);
	ledger_add('c', backend, begin, now_ns(), ident);
}

void asked_call(struct asked *a, const struct line *backend)
{
	char ident[IDENT_MAX];

	asked_call_ident(a, ident);
	call(backend, ident);
}

void asked_call_all(struct asked *a, const struct line *backend)
{
	for (int i = 0; i < CALLS; i++)
		asked_call(a, backend);
}

void call_of_none(const struct line *backend, char what)
{
	static _Atomic int count;
	char ident[IDENT_MAX];

	snprintf(ident, sizeof(ident), "%c%c%d", rules_letter, what, count++);
	call(backend, ident);
}

void asked_answer(struct asked *a)
{
	ledger_add('s', &a->line, a->begin_ns, now_ns(), a->ident);
	talk_send(&a->line, ANSWER, strlen(ANSWER));
}

void asked_serve(struct asked *a, const struct line *backend)
{
	while (asked_read(a)) {
		asked_call_all(a, backend);
		asked_answer(a);
	}
}

/* ---- the backend: it answers each line ---- */

static void *backend_answer(void *arg)
{
	struct asked *a = arg;

	while (asked_read(a))
		talk_send(&a->line, ANSWER, strlen(ANSWER));
	asked_end(a);
	return NULL;
}

static void *backend_listen_unix(void *arg)
{
	int listener = talk_listen_unix(rules_backend_path);

	for (;;) {
		struct asked *a = calloc(1, sizeof(*a));

		a->line = talk_accept(listener);
		thread_begin(backend_answer, a);
	}
	return arg;
}

static void backend(void)
{
	thread_begin(backend_listen_unix, NULL);
	for (;;)
		thread_begin(backend_answer, asked_accept());
}

static const struct mode own_modes[] = {{"backend", backend}, {NULL, NULL}};

int main(int argc, char **argv)
{
	static const struct mode *const tables[] = {own_modes,	   thread_modes, pool_modes,
						    process_modes, loop_modes,	 uring_modes};

	if (argc != 7)
		return 2;
	ledger_begin(argv[3], argv[1]);
	rules_letter = *argv[2];
	rules_backend = atoi(argv[5]);
	rules_backend_path = argv[6];
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct mode *m = tables[i]; m->name; m++)
			if (!strcmp(m->name, argv[3])) {
				rules_listener = talk_listen(atoi(argv[4]));
				m->run();
			}
	fprintf(stderr, "no mode %s\n", argv[3]);
	return 2;
}
