/* SPDX-License-Identifier: Apache-2.0 */
/* A client that asks a service, which asks another one: as the records of a host. */
#ifndef TESTS_REQUEST_CHAIN_H
#define TESTS_REQUEST_CHAIN_H

#include "talk.h"

#define FRONT 200
#define BACK 300
#define FRONT_PORT 80
#define BACK_PORT 6379

/* One end of a connection: whose socket it is. */
struct side {
	u64 key;
	u32 tid;
	u16 local, remote;
	u16 flags;
	u64 at[2]; /* bytes sent, received */
};

/* A client asks FRONT, which asks BACK. */
struct chain {
	struct talk t;
	struct side client, front, front_out, back;
};

static inline void side_tell(struct chain *c, const struct side *s)
{
	u64 address = 0;
	u8 bytes[8] = {0, 0, 0xff, 0xff, 127, 0, 0, 1};
	union talk_record r = {
		.socket = {.head = {.kind = RECORD_socket,
				    .time_ns = c->t.now_ns,
				    .tid = s->tid,
				    .pid = s->tid},
			   .file = {.key = s->key, .kind = FILE_KIND_tcp, .flags = s->flags},
			   .netns = 1,
			   .family = 2,
			   .protocol = 6}};

	memcpy(&address, bytes, 8);
	r.socket.local_port = s->local;
	r.socket.remote_port = s->remote;
	r.socket.local_lo = r.socket.remote_lo = address;
	talk_add(&c->t, &r);
}

static inline void chain_begin(struct chain *c)
{
	*c = (struct chain){.client = {1, CALLER, CALLER_PORT, FRONT_PORT, FILE_MADE, {0}},
			    .front = {2, FRONT, FRONT_PORT, CALLER_PORT, FILE_ACCEPTED, {0}},
			    .front_out = {3, FRONT, 50000, BACK_PORT, FILE_MADE, {0}},
			    .back = {4, BACK, BACK_PORT, 50000, FILE_ACCEPTED, {0}}};
	c->t.now_ns = 1000;
	talk_thread(&c->t, CALLER, "curl");
	talk_thread(&c->t, FRONT, "front");
	talk_thread(&c->t, BACK, "back");
	side_tell(c, &c->client);
	side_tell(c, &c->front);
	side_tell(c, &c->front_out);
	side_tell(c, &c->back);
}

static inline void moves(struct chain *c, struct side *s, bool receives)
{
	union talk_record r = {.bytes = {.head = {.kind = RECORD_bytes,
						  .time_ns = c->t.now_ns += 1000,
						  .tid = s->tid,
						  .pid = s->tid},
					 .direction = receives ? BYTES_RECEIVED : BYTES_SENT,
					 .from = s->at[receives],
					 .length = 10,
					 .file = {.key = s->key, .kind = FILE_KIND_tcp}}};

	s->at[receives] += 10;
	talk_add(&c->t, &r);
}

/* One request, for which FRONT asks BACK so often. */
static inline void chain_ask(struct chain *c, int calls)
{
	moves(c, &c->client, false);
	moves(c, &c->front, true);
	for (int i = 0; i < calls; i++) {
		moves(c, &c->front_out, false);
		moves(c, &c->back, true);
		moves(c, &c->back, false);
		moves(c, &c->front_out, true);
	}
	moves(c, &c->front, false);
	moves(c, &c->client, true);
}

#endif
