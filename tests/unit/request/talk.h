/* SPDX-License-Identifier: Apache-2.0 */
/* What two processes send each other, as the records of a host. */
#ifndef TESTS_REQUEST_TALK_H
#define TESTS_REQUEST_TALK_H

#include "map/apply.h"
#include "request/exchanges.h"

#define CALLER 100 /* pid and tid */
#define SERVER 200
#define CALLER_KEY 11
#define SERVER_KEY 12
#define SERVER_PORT 8000
#define CALLER_PORT 40000

/* A record of any kind, kept until it is applied. */
union talk_record {
	struct record_head head;
	struct record_socket socket;
	struct record_bytes bytes;
	struct record_thread thread;
	struct record_syscall syscall;
};

/* Records in the order of time. Starts with all zero. */
struct talk {
	VEC(union talk_record) records;
	u64 now_ns;
	u64 sent[2]; /* by the caller and the server */
	u64 received[2];
	bool no_caller, no_server; /* its records are left out */
};

static inline void talk_add(struct talk *t, const union talk_record *r)
{
	CHECK_EQ(vec_push(&t->records, *r), 0);
}

static inline void talk_thread(struct talk *t, u32 tid, const char *comm)
{
	union talk_record r = {.thread = {.head = {.kind = RECORD_thread,
						   .time_ns = t->now_ns,
						   .tid = tid,
						   .pid = tid},
					  .start_ns = 1}};

	r.thread.comm_len = (u16)strlen(comm);
	memcpy(r.thread.comm, comm, r.thread.comm_len);
	talk_add(t, &r);
}

static inline void talk_socket(struct talk *t, bool server)
{
	u64 loopback = 0;
	u8 address[8] = {0, 0, 0xff, 0xff, 127, 0, 0, 1};
	union talk_record r = {.socket = {.head = {.kind = RECORD_socket,
						   .time_ns = t->now_ns,
						   .tid = server ? SERVER : CALLER,
						   .pid = server ? SERVER : CALLER},
					  .netns = 1,
					  .family = 2,
					  .protocol = 6}};

	memcpy(&loopback, address, 8);
	r.socket.file = (struct file_ref){.key = server ? SERVER_KEY : CALLER_KEY,
					  .kind = FILE_KIND_tcp,
					  .flags = server ? FILE_ACCEPTED : FILE_MADE};
	r.socket.local_port = server ? SERVER_PORT : CALLER_PORT;
	r.socket.remote_port = server ? CALLER_PORT : SERVER_PORT;
	r.socket.local_lo = r.socket.remote_lo = loopback;
	talk_add(t, &r);
}

/* Both processes and their connection. */
static inline void talk_begin(struct talk *t)
{
	t->now_ns = 1000;
	talk_thread(t, CALLER, "caller");
	talk_thread(t, SERVER, "server");
	if (!t->no_caller)
		talk_socket(t, false);
	if (!t->no_server)
		talk_socket(t, true);
}

static inline void talk_bytes(struct talk *t, bool server, bool receives, u64 bytes)
{
	u64 *at = receives ? &t->received[server] : &t->sent[server];
	union talk_record r = {.bytes = {.head = {.kind = RECORD_bytes,
						  .time_ns = t->now_ns += 1000,
						  .tid = server ? SERVER : CALLER,
						  .pid = server ? SERVER : CALLER},
					 .direction = receives ? BYTES_RECEIVED : BYTES_SENT,
					 .from = *at,
					 .length = bytes,
					 .file = {.key = server ? SERVER_KEY : CALLER_KEY,
						  .kind = FILE_KIND_tcp}}};

	*at += bytes;
	if (server ? !t->no_server : !t->no_caller)
		talk_add(t, &r);
}

/* Each letter is an event: the caller (C, c) or the server (S, s) sends, or receives, 10 bytes. */
static inline void talk_say(struct talk *t, const char *events)
{
	for (; *events; events++) {
		bool server = *events == 'S' || *events == 's';

		talk_bytes(t, server, *events == 'c' || *events == 's', 10);
	}
}

/* The finished partial of the records [first, end). */
static inline struct partial *talk_map(const struct talk *t, size_t first, size_t end)
{
	struct partial *p = partial_new(&(struct partial_options){.spans = true});

	CHECK(p != NULL);
	if (first < end)
		partial_cover(p, first ? t->records.data[first].head.time_ns : 1,
			      end < t->records.count ? t->records.data[end].head.time_ns
						     : t->now_ns + 1000);
	for (size_t i = first; i < end; i++)
		apply(p, &t->records.data[i]);
	return p;
}

/* What is made of a talk. */
struct heard {
	struct partial *p;
	struct request_host host;
	struct connections connections;
	struct processes processes;
	struct exchange_list list;
	struct exchange_details details;
};

static inline void heard_make(struct heard *h, struct partial *p)
{
	*h = (struct heard){.p = p, .host = {.p = p, .name = "host", .boot = 7}};
	CHECK_EQ(partial_finish(p), 0);
	h->processes.hosts = &h->host;
	h->processes.hosts_count = 1;
	CHECK_EQ(connections_find(&h->connections, &h->host, 1), 0);
	CHECK_EQ(exchanges_make(&h->list, &h->details, &h->connections, &h->processes), 0);
}

static inline void heard_free(struct heard *h)
{
	vec_free(&h->list);
	exchange_details_free(&h->details);
	connections_free(&h->connections);
	processes_free(&h->processes);
	partial_free(h->p);
}

#endif
