/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/grpc.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "serve/grpc_internal.h"

#define STREAMS_MAX 100
#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (4 << 20)
#define READ_BYTES ((size_t)256 << 10)
#define EVENTS 64
#define LOOK_MS 1000 /* for what takes too long */
#define IDLE_NS (300 * (uint64_t)1000000000)
#define END_NS (uint64_t)2000000000
#define END_LOOK_MS 20

/* What a client of HTTP/1 gets, which sees nothing of HTTP/2. */
static const char older_answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: "
				   "text/plain\r\nX-Content-Type-Options: nosniff\r\n"
				   "Connection: close\r\nContent-Length: 59\r\n\r\n"
				   "only gRPC is spoken here: OTLP over HTTP has another port.\n";

static void connection_close(struct grpc_connection *c)
{
	struct grpc *g = c->server;

	while (c->calls)
		grpc_call_drop(c->calls);
	if (c->before)
		c->before->next = c->next;
	else
		g->connections = c->next;
	if (c->next)
		c->next->before = c->before;
	g->count--;
	nghttp2_session_del(c->session);
	close(c->fd);
	free(c);
}

static void events_set(struct grpc_connection *c, bool sends)
{
	struct epoll_event event = {.events = sends ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};

	if (c->waits_to_send == sends)
		return;
	c->waits_to_send = sends;
	epoll_ctl(c->server->epoll, EPOLL_CTL_MOD, c->fd, &event);
}

/* Sends what the session has, as far as the socket takes it. False: the connection is to end. */
static bool connection_send(struct grpc_connection *c)
{
	for (;;) {
		ssize_t n;

		if (!c->out_bytes) {
			n = nghttp2_session_mem_send(c->session, &c->out);
			if (n < 0)
				return false;
			c->out_bytes = (size_t)n;
		}
		if (!c->out_bytes)
			break;
		n = send(c->fd, c->out, c->out_bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			events_set(c, true);
			return true;
		}
		if (n < 0)
			return false;
		c->out += n;
		c->out_bytes -= (size_t)n;
	}
	events_set(c, false);
	return nghttp2_session_want_read(c->session) || nghttp2_session_want_write(c->session);
}

/* False: the connection is to end. */
static bool connection_read(struct grpc_connection *c, unsigned char *buffer)
{
	ssize_t n = recv(c->fd, buffer, READ_BYTES, 0), taken;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0)
		return false;
	taken = nghttp2_session_mem_recv(c->session, buffer, (size_t)n);
	c->is_older = taken == NGHTTP2_ERR_BAD_CLIENT_MAGIC;
	return taken >= 0;
}

static void connection_serve(struct grpc_connection *c, uint32_t events, unsigned char *buffer)
{
	bool goes_on = true;

	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		goes_on = connection_read(c, buffer);
	if (c->is_older)
		send(c->fd, older_answer, strlen(older_answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		goes_on &= connection_send(c);
	if (!goes_on)
		connection_close(c);
}

/* The session, with the settings that it begins with. */
static int session_begin(struct grpc_connection *c)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 16384}};
	struct grpc *g = c->server;

	if (nghttp2_session_server_new2(&c->session, g->callbacks, c, g->option))
		return -ENOMEM;
	if (nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 3) ||
	    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
						  CONNECTION_WINDOW))
		return -ENOMEM;
	return 0;
}

static void connection_begin(struct grpc *g, int fd, const struct sockaddr *client)
{
	struct grpc_connection *c = calloc(1, sizeof(*c));
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	const int yes = 1;

	if (!c) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	c->server = g;
	c->fd = fd;
	c->needs_token = access_needs_token(g->inbox.to.access, client, true);
	c->since_ns = clock_now_ns();
	c->next = g->connections;
	if (c->next)
		c->next->before = c;
	g->connections = c;
	g->count++;
	/* nothing is sent before the client was heard: it may not know HTTP/2 */
	if (session_begin(c) || epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &event))
		connection_close(c);
}

/* Listens while there is room for more connections. */
static void listen_set(struct grpc *g, bool is_full)
{
	struct epoll_event event = {.events = is_full ? 0 : EPOLLIN, .data.ptr = g};

	if (g->is_full == is_full)
		return;
	g->is_full = is_full;
	epoll_ctl(g->epoll, EPOLL_CTL_MOD, g->listening, &event);
}

static void connections_accept(struct grpc *g)
{
	while (g->count < g->inbox.to.limits->connections) {
		struct sockaddr_storage from = {0};
		socklen_t size = sizeof(from);
		int fd = accept4(g->listening, (struct sockaddr *)&from, &size,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			connection_begin(g, fd, (struct sockaddr *)&from);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			break;
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
	listen_set(g, true); /* until calls_look() */
}

static void calls_finish(struct grpc *g)
{
	struct grpc_call *done;
	uint64_t number;

	if (read(g->wake, &number, sizeof(number)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&g->lock);
	done = g->done;
	g->done = NULL;
	pthread_mutex_unlock(&g->lock);
	while (done) {
		struct grpc_call *call = done;
		struct grpc_connection *c = call->connection;

		done = call->next_done;
		grpc_call_synced(call);
		if (c && !connection_send(c))
			connection_close(c);
	}
}

/* Refuses calls that take too long. False: the connection is to be closed. */
static bool calls_look(struct grpc_connection *c, uint64_t now)
{
	uint64_t limit_ns = c->server->inbox.to.limits->request_ns;

	for (struct grpc_call *call = c->calls, *next; call; call = next) {
		next = call->next;
		if (now - call->begun_ns < limit_ns || call->is_syncing)
			continue;
		/* the answer has as much time again */
		if (now - call->begun_ns >= 2 * limit_ns || !grpc_call_expire(call))
			return false;
	}
	return true;
}

/* Whether a connection without a call is kept. */
static bool idle_look(const struct grpc_connection *c, uint64_t now)
{
	uint64_t limit_ns = c->had_call ? IDLE_NS : c->server->inbox.to.limits->request_ns;

	return c->calls || now - c->since_ns < limit_ns;
}

static void connections_look(struct grpc *g)
{
	uint64_t now = clock_now_ns();

	for (struct grpc_connection *c = g->connections, *next; c; c = next) {
		next = c->next;
		if (!calls_look(c, now) || !idle_look(c, now) ||
		    (c->had_call && !connection_send(c)))
			connection_close(c);
	}
	if (g->count < g->inbox.to.limits->connections)
		listen_set(g, false);
}

static void events_take(struct grpc *g, int timeout_ms, unsigned char *buffer)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(g->epoll, events, EVENTS, timeout_ms);

	/* A connection has one event at a time, and is closed by its own event alone; calls that
	 * are done, which may close others, come last. */
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr == g)
			connections_accept(g);
		else if (events[i].data.ptr)
			connection_serve(events[i].data.ptr, events[i].events, buffer);
	}
	calls_finish(g);
}

/* Tells all clients that no further call is taken, and gives what was begun time to end. */
static void connections_end(struct grpc *g, unsigned char *buffer)
{
	uint64_t end_ns = clock_now_ns() + END_NS;

	epoll_ctl(g->epoll, EPOLL_CTL_DEL, g->listening, NULL);
	calls_finish(g);
	for (struct grpc_connection *c = g->connections, *next; c; c = next) {
		next = c->next;
		nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
				      nghttp2_session_get_last_proc_stream_id(c->session),
				      NGHTTP2_NO_ERROR, NULL, 0);
		if (!connection_send(c))
			connection_close(c);
	}
	while (g->connections && clock_now_ns() < end_ns)
		events_take(g, END_LOOK_MS, buffer);
	while (g->connections)
		connection_close(g->connections);
}

static void *loop_run(void *arg)
{
	struct grpc *g = arg;
	unsigned char *buffer = malloc(READ_BYTES);
	uint64_t looked_ns = clock_now_ns();

	while (buffer && !g->stopping) {
		events_take(g, LOOK_MS, buffer);
		if (clock_now_ns() - looked_ns < (uint64_t)LOOK_MS * 1000000)
			continue;
		connections_look(g);
		looked_ns = clock_now_ns();
	}
	if (buffer)
		connections_end(g, buffer);
	free(buffer);
	return NULL;
}

void grpc_done(struct grpc *g, struct grpc_call *call)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&g->lock);
	call->next_done = g->done;
	g->done = call;
	pthread_mutex_unlock(&g->lock);
	if (write(g->wake, &one, sizeof(one)) < 0) {
		/* the counter is at its limit, so the loop is awake */
	}
}

static int loop_start(struct grpc *g)
{
	struct epoll_event listening = {.events = EPOLLIN, .data.ptr = g};
	struct epoll_event wake = {.events = EPOLLIN, .data.ptr = NULL};
	int err;

	g->epoll = epoll_create1(EPOLL_CLOEXEC);
	g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (g->epoll < 0 || g->wake < 0 ||
	    epoll_ctl(g->epoll, EPOLL_CTL_ADD, g->listening, &listening) ||
	    epoll_ctl(g->epoll, EPOLL_CTL_ADD, g->wake, &wake))
		return -errno;
	err = thread_start(&g->thread, loop_run, g);
	g->has_thread = !err;
	return err;
}

int grpc_start(int fd, const struct destination *to, struct grpc **out)
{
	struct grpc *g = calloc(1, sizeof(*g));
	int err;

	if (!g) {
		close(fd);
		return -ENOMEM;
	}
	g->listening = fd;
	g->epoll = g->wake = -1;
	inbox_init(&g->inbox, to);
	pthread_mutex_init(&g->lock, NULL);
	err = grpc_callbacks_make(&g->callbacks);
	if (!err && nghttp2_option_new(&g->option))
		err = -ENOMEM;
	if (!err)
		nghttp2_option_set_no_closed_streams(g->option, 1);
	err = err ? err : syncer_start(to->log, to->loader, &g->syncer);
	err = err ? err : loop_start(g);
	if (err) {
		grpc_stop(g);
		return err;
	}
	*out = g;
	return 0;
}

void grpc_stop(struct grpc *g)
{
	const uint64_t one = 1;

	if (!g)
		return;
	if (g->syncer)
		syncer_drain(g->syncer);
	g->stopping = true;
	if (g->has_thread) {
		if (write(g->wake, &one, sizeof(one)) < 0) {
			/* the counter is at its limit, so the loop is awake */
		}
		pthread_join(g->thread, NULL);
	}
	calls_finish(g); /* of connections that ended */
	syncer_free(g->syncer);
	if (g->option)
		nghttp2_option_del(g->option);
	if (g->callbacks)
		nghttp2_session_callbacks_del(g->callbacks);
	if (g->epoll >= 0)
		close(g->epoll);
	if (g->wake >= 0)
		close(g->wake);
	close(g->listening);
	pthread_mutex_destroy(&g->lock);
	inbox_free(&g->inbox);
	free(g);
}
