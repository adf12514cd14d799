/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/senders.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"

#define CONNECTIONS 65536u
#define QUESTIONS_MAX 1024u
#define LIKELY_MAX 16u
#define KEY_BYTES (SENDER_ADDRESS_BYTES + 32)
#define SCAN_REST_MS 20		    /* between two looks at all processes */
#define HOLD_NS UINT64_C(100000000) /* of one answer */
#define HOLD_MAX_NS UINT64_C(500000000)
#define HOLD_SHARE 10 /* one part of the time in so many */
#define RATE_NS 10000000000u

struct sender {
	struct sender_info info;
	uint64_t rate_since_ns, rate_spans; /* of the time that is under way */
	double rate;			    /* of the time before */
};

/* A connection: whose it is, once that is known, and what came before that. */
struct connection {
	uint64_t cookie;	/* of its socket; 0: free */
	struct sender *sender;	/* NULL: it is looked for */
	struct sender_info had; /* what came before; only its counts and words */
};

struct question {
	uint16_t connection;
	uint64_t cookie;
	struct socket_ends ends;
};

struct senders {
	pthread_mutex_t lock;
	pthread_cond_t wake, found;
	pthread_t thread;
	bool has_thread, stopping;
	struct owner_finder finder;
	struct bytes_map table;		 /* address and pid -> struct sender */
	struct connection **connections; /* by number */
	struct map numbers;		 /* cookie -> number */
	uint16_t next;
	VEC(struct question) questions;
	uint64_t hold_ns, held_ns; /* how long answers may be held; since when that is so */
};

/* ---- senders ---- */

static void address_text(const struct socket_ends *ends, char text[SENDER_ADDRESS_BYTES])
{
	const struct sockaddr_in *v4 = (const void *)&ends->other;
	const struct sockaddr_in6 *v6 = (const void *)&ends->other;

	if (ends->other.ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, text, SENDER_ADDRESS_BYTES);
	else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], text, SENDER_ADDRESS_BYTES);
	else
		inet_ntop(AF_INET6, &v6->sin6_addr, text, SENDER_ADDRESS_BYTES);
}

static size_t key_make(char *key, size_t size, const struct sender_info *info)
{
	return (size_t)snprintf(key, size, "%s %u %s", info->pid ? "" : info->address, info->pid,
				info->program);
}

/* Makes room: the sender that was silent the longest goes. */
static void sender_drop(struct senders *s)
{
	struct bytes_map_entry entry;
	struct sender *oldest = NULL;
	char key[KEY_BYTES];
	size_t at = 0;

	while (bytes_map_next(&s->table, &at, &entry)) {
		struct sender *sender = entry.value;

		if (!oldest || sender->info.last_ns < oldest->info.last_ns)
			oldest = sender;
	}
	if (!oldest)
		return;
	bytes_map_remove(&s->table, key, key_make(key, sizeof(key), &oldest->info));
	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct connection *c = s->connections[i];

		if (!c || c->sender != oldest)
			continue;
		map_remove(&s->numbers, c->cookie); /* it is looked for again */
		free(c);
		s->connections[i] = NULL;
	}
	free(oldest);
}

/* NULL: no memory. */
static struct sender *sender_get(struct senders *s, const struct sender_info *info)
{
	char key[KEY_BYTES];
	size_t bytes = key_make(key, sizeof(key), info);
	struct sender *sender = bytes_map_get(&s->table, key, bytes);

	if (sender)
		return sender;
	if (s->table.count >= SENDERS_MAX)
		sender_drop(s);
	sender = calloc(1, sizeof(*sender));
	if (!sender)
		return NULL;
	sender->info = *info;
	sender->rate_since_ns = clock_now_ns();
	if (bytes_map_put(&s->table, key, bytes, sender)) {
		free(sender);
		return NULL;
	}
	return sender;
}

static void counts_add(struct sender_info *to, const struct sender_info *more)
{
	to->requests += more->requests;
	to->requests_refused += more->requests_refused;
	to->spans += more->spans;
	to->spans_rejected += more->spans_rejected;
	if (more->first_ns && (!to->first_ns || more->first_ns < to->first_ns))
		to->first_ns = more->first_ns;
	if (more->last_ns > to->last_ns)
		to->last_ns = more->last_ns;
}

static void rate_follow(struct sender *sender, uint64_t spans)
{
	uint64_t now = clock_now_ns(), time_ns = now - sender->rate_since_ns;

	if (time_ns >= RATE_NS) {
		sender->rate = (double)sender->rate_spans * 1e9 / (double)time_ns;
		sender->rate_since_ns = now;
		sender->rate_spans = 0;
	}
	sender->rate_spans += spans;
}

static void words_add(struct sender_info *info, const struct sender_words *words)
{
	size_t i = 0;

	if (words->language && *words->language)
		snprintf(info->language, sizeof(info->language), "%s", words->language);
	if (!words->service)
		return;
	while (i < SENDER_SERVICES && *info->services[i] &&
	       strncmp(info->services[i], words->service, SENDER_SERVICE_BYTES - 1) != 0)
		i++;
	if (i == SENDER_SERVICES) {
		info->services_count = SENDER_SERVICES + 1;
	} else if (!*info->services[i]) {
		snprintf(info->services[i], SENDER_SERVICE_BYTES, "%s", words->service);
		info->services_count = i + 1;
	}
}

/* Adds the words of a connection whose sender is found. */
static void words_move(struct sender_info *to, const struct sender_info *had)
{
	const struct sender_words language = {NULL, had->language};

	words_add(to, &language);
	for (size_t i = 0; i < SENDER_SERVICES && *had->services[i]; i++)
		words_add(to, &(struct sender_words){had->services[i], NULL});
	if (had->services_count > SENDER_SERVICES)
		to->services_count = had->services_count;
}

/* ---- looking for a sender ---- */

static unsigned int likely_collect(struct senders *s, uint32_t likely[LIKELY_MAX])
{
	struct bytes_map_entry entry;
	unsigned int count = 0;
	size_t at = 0;

	while (count < LIKELY_MAX && bytes_map_next(&s->table, &at, &entry)) {
		struct sender *sender = entry.value;

		if (sender->info.pid)
			likely[count++] = sender->info.pid;
	}
	return count;
}

/* Without the lock: it may take milliseconds. */
static struct sender_info question_answer(struct senders *s, const struct question *q,
					  const uint32_t *likely, unsigned int likely_count)
{
	struct sender_info info = {.is_local = socket_ends_are_local(&q->ends)};
	struct socket_owner owner = {0};
	uint64_t inode = info.is_local ? socket_inode_find(&q->ends) : 0;
	bool found;

	address_text(&q->ends, info.address);
	if (s->finder.find)
		found = s->finder.find(s->finder.arg, inode, &q->ends, &owner);
	else
		found = inode && socket_owner_find(inode, likely, likely_count, &owner);
	if (found) {
		info.is_local = true;
		info.pid = owner.pid;
		memcpy(info.program, owner.name, sizeof(info.program));
	}
	return info;
}

static void answer_take(struct senders *s, const struct question *q, const struct sender_info *info)
{
	struct connection *c = s->connections[q->connection];
	struct sender *sender;

	if (!c || c->cookie != q->cookie || c->sender)
		return;
	sender = sender_get(s, info);
	if (!sender)
		return;
	counts_add(&sender->info, &c->had);
	words_move(&sender->info, &c->had);
	rate_follow(sender, c->had.spans);
	c->sender = sender;
}

static void questions_answer(struct senders *s)
{
	uint32_t likely[LIKELY_MAX];
	struct question q = s->questions.data[0];
	unsigned int count = likely_collect(s, likely);
	struct sender_info info;

	s->questions.count--;
	memmove(s->questions.data, s->questions.data + 1,
		s->questions.count * sizeof(*s->questions.data));
	pthread_mutex_unlock(&s->lock);
	info = question_answer(s, &q, likely, count);
	pthread_mutex_lock(&s->lock);
	answer_take(s, &q, &info);
	pthread_cond_broadcast(&s->found);
	pthread_mutex_unlock(&s->lock);
	poll(NULL, 0, SCAN_REST_MS);
	pthread_mutex_lock(&s->lock);
}

static void *senders_run(void *arg)
{
	struct senders *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stopping) {
		if (s->questions.count)
			questions_answer(s);
		else
			pthread_cond_wait(&s->wake, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- connections ---- */

/* The next number, whose connection is forgotten. NULL: no memory. */
static struct connection *connection_add(struct senders *s, uint64_t cookie)
{
	struct connection *c;

	s->next = s->next == CONNECTIONS - 1 ? 1 : s->next + 1;
	c = s->connections[s->next];
	if (c)
		map_remove(&s->numbers, c->cookie);
	else
		c = calloc(1, sizeof(*c));
	s->connections[s->next] = c;
	if (!c)
		return NULL;
	*c = (struct connection){.cookie = cookie};
	if (!map_put(&s->numbers, cookie, (void *)(uintptr_t)s->next))
		return c;
	free(c);
	s->connections[s->next] = NULL;
	return NULL;
}

static uint16_t connection_number(struct senders *s, int fd, uint64_t cookie)
{
	uint16_t number = (uint16_t)(uintptr_t)map_get(&s->numbers, cookie);
	struct question q = {.cookie = cookie};

	if (number || s->questions.count >= QUESTIONS_MAX || !socket_ends_read(fd, &q.ends) ||
	    !connection_add(s, cookie))
		return number;
	q.connection = s->next;
	if (!vec_push(&s->questions, q))
		pthread_cond_signal(&s->wake);
	return s->next;
}

uint16_t senders_connection(struct senders *s, int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);
	uint16_t number;

	if (!s || getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) || !cookie)
		return 0;
	pthread_mutex_lock(&s->lock);
	number = connection_number(s, fd, cookie);
	pthread_mutex_unlock(&s->lock);
	return number;
}

void senders_request(struct senders *s, uint16_t connection, const struct sender_request *request)
{
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	const struct sender_info more = {.requests = 1,
					 .requests_refused = request->is_refused,
					 .spans = request->spans,
					 .spans_rejected = request->rejected,
					 .first_ns = now_ns,
					 .last_ns = now_ns};
	struct connection *c;

	if (!s || !connection)
		return;
	pthread_mutex_lock(&s->lock);
	c = s->connections[connection];
	if (c && c->sender) {
		counts_add(&c->sender->info, &more);
		rate_follow(c->sender, request->spans);
	} else if (c) {
		counts_add(&c->had, &more);
	}
	pthread_mutex_unlock(&s->lock);
}

bool senders_await(struct senders *s, uint16_t connection, uint64_t wait_ns)
{
	uint64_t end_ns = clock_now_ns() + wait_ns;
	struct connection *c = NULL;
	bool found;

	if (!s || !connection)
		return false;
	pthread_mutex_lock(&s->lock);
	while ((c = s->connections[connection]) && !c->sender &&
	       condition_wait(&s->found, &s->lock, end_ns))
		;
	found = c && c->sender;
	pthread_mutex_unlock(&s->lock);
	return found;
}

void senders_hold(struct senders *s, uint16_t connection)
{
	uint64_t now_ns = clock_now_ns(), wait_ns, took_ns;
	const struct connection *c;

	if (!s || !connection)
		return;
	pthread_mutex_lock(&s->lock);
	s->hold_ns += (now_ns - s->held_ns) / HOLD_SHARE;
	s->hold_ns = s->hold_ns < HOLD_MAX_NS ? s->hold_ns : HOLD_MAX_NS;
	s->held_ns = now_ns;
	wait_ns = s->hold_ns < HOLD_NS ? s->hold_ns : HOLD_NS;
	c = s->connections[connection];
	if (c && c->sender)
		wait_ns = 0;
	pthread_mutex_unlock(&s->lock);
	if (!wait_ns)
		return;
	senders_await(s, connection, wait_ns);
	took_ns = clock_now_ns() - now_ns;
	pthread_mutex_lock(&s->lock);
	s->hold_ns -= took_ns < s->hold_ns ? took_ns : s->hold_ns;
	pthread_mutex_unlock(&s->lock);
}

void senders_learn(struct senders *s, uint16_t connection, const struct sender_words *words)
{
	struct connection *c;

	if (!s || !connection)
		return;
	pthread_mutex_lock(&s->lock);
	c = s->connections[connection];
	if (c)
		words_add(c->sender ? &c->sender->info : &c->had, words);
	pthread_mutex_unlock(&s->lock);
}

bool senders_find(struct senders *s, uint16_t connection, struct sender_info *out)
{
	struct connection *c;
	bool found;

	if (!s || !connection)
		return false;
	pthread_mutex_lock(&s->lock);
	c = s->connections[connection];
	found = c && c->sender;
	if (found)
		*out = c->sender->info;
	pthread_mutex_unlock(&s->lock);
	return found;
}

static int sender_compare(const void *a, const void *b)
{
	const struct sender_info *x = a, *y = b;

	return (x->last_ns < y->last_ns) - (x->last_ns > y->last_ns);
}

int senders_read(struct senders *s, sender_list *out)
{
	struct bytes_map_entry entry;
	size_t at = 0;
	int err = 0;

	if (!s)
		return 0;
	pthread_mutex_lock(&s->lock);
	while (!err && bytes_map_next(&s->table, &at, &entry)) {
		struct sender *sender = entry.value;
		uint64_t time_ns = clock_now_ns() - sender->rate_since_ns;

		rate_follow(sender, 0);
		err = vec_push(out, sender->info);
		if (err)
			break;
		/* a sender that began, or that has just been quiet for long */
		out->data[out->count - 1].spans_per_s = sender->rate > 0 || time_ns < 1000000000u
								? sender->rate
								: (double)sender->rate_spans * 1e9 /
									  (double)time_ns;
	}
	pthread_mutex_unlock(&s->lock);
	if (!err && out->count)
		qsort(out->data, out->count, sizeof(*out->data), sender_compare);
	return err;
}

void sender_info_write(struct json *j, const struct sender_info *info)
{
	json_object_begin(j, NULL);
	json_string(j, "address", info->address);
	if (info->pid)
		json_u64(j, "pid", info->pid);
	if (*info->program)
		json_string(j, "program", info->program);
	if (*info->language)
		json_string(j, "language", info->language);
	json_array_begin(j, "services");
	for (size_t i = 0; i < SENDER_SERVICES && *info->services[i]; i++)
		json_string(j, NULL, info->services[i]);
	json_array_end(j);
	json_bool(j, "more_services", info->services_count > SENDER_SERVICES);
	json_u64(j, "requests", info->requests);
	json_u64(j, "requests_refused", info->requests_refused);
	json_u64(j, "spans", info->spans);
	json_u64(j, "spans_rejected", info->spans_rejected);
	json_double(j, "spans_per_s", info->spans_per_s);
	json_u64(j, "first_unix_ns", info->first_ns);
	json_u64(j, "last_unix_ns", info->last_ns);
	json_object_end(j);
}

/* ---- begin and end ---- */

int senders_open(const struct owner_finder *finder, struct senders **out)
{
	struct senders *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	if (finder)
		s->finder = *finder;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	condition_init(&s->found);
	s->hold_ns = HOLD_MAX_NS;
	s->held_ns = clock_now_ns();
	s->connections = calloc(CONNECTIONS, sizeof(*s->connections));
	err = s->connections ? thread_start(&s->thread, senders_run, s) : -ENOMEM;
	s->has_thread = !err;
	if (err)
		senders_close(s);
	else
		*out = s;
	return err;
}

void senders_close(struct senders *s)
{
	struct bytes_map_entry entry;
	size_t at = 0;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	if (s->has_thread)
		pthread_join(s->thread, NULL);
	while (bytes_map_next(&s->table, &at, &entry))
		free(entry.value);
	bytes_map_free(&s->table);
	for (size_t i = 0; s->connections && i < CONNECTIONS; i++)
		free(s->connections[i]);
	free(s->connections);
	map_free(&s->numbers);
	vec_free(&s->questions);
	pthread_cond_destroy(&s->wake);
	pthread_cond_destroy(&s->found);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
