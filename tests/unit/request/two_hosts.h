/* SPDX-License-Identifier: Apache-2.0 */
/* A caller on one host and a server on another one, whose clock differs by a known offset. */
#ifndef TESTS_REQUEST_TWO_HOSTS_H
#define TESTS_REQUEST_TWO_HOSTS_H

#include "talk.h"

#define SEND_NS 1000
#define FIRST_NS 1000000000u /* of what they say, by the caller's clock */

struct two_hosts {
	struct talk caller, server;
	s64 offset_ns; /* the server's clock is ahead by it, at FIRST_NS */
	s64 drift_ppm; /* and gains so much */
	u64 now_ns;    /* by the caller's clock */
	bool calls;    /* calls that send are recorded: they begin SEND_NS before */
	struct partial *p[2];
	struct request_host hosts[2];
};

/* What the server's clock shows at a time of the caller's. */
static inline u64 server_ns(const struct two_hosts *h, u64 time_ns)
{
	s64 since = (s64)(time_ns - FIRST_NS);

	return time_ns + (u64)(h->offset_ns + since * h->drift_ppm / 1000000);
}

static inline void address_set(u64 *lo, u8 last)
{
	u8 bytes[8] = {0, 0, 0xff, 0xff, 10, 0, 0, last};

	memcpy(lo, bytes, 8);
}

/* Sockets of the recorded talk get addresses of a network: 10.0.0.1 calls 10.0.0.2. */
static inline void addresses_set(struct talk *t, bool server)
{
	for (size_t i = 0; i < t->records.count; i++) {
		struct record_socket *s = &t->records.data[i].socket;

		if (s->head.kind != RECORD_socket)
			continue;
		address_set(&s->local_lo, server ? 2 : 1);
		address_set(&s->remote_lo, server ? 1 : 2);
	}
}

static inline void two_hosts_begin(struct two_hosts *h, s64 offset_ns, s64 drift_ppm)
{
	*h = (struct two_hosts){.caller = {.no_server = true},
				.server = {.no_caller = true},
				.offset_ns = offset_ns,
				.drift_ppm = drift_ppm,
				.now_ns = FIRST_NS};
	talk_begin(&h->caller);
	talk_begin(&h->server);
	addresses_set(&h->caller, false);
	addresses_set(&h->server, true);
}

/* The call that has just sent ends soon. */
static inline void two_hosts_call(struct talk *t, bool server)
{
	const union talk_record r = {.syscall = {.head = {.kind = RECORD_syscall,
							  .time_ns = t->now_ns + 100,
							  .tid = server ? SERVER : CALLER,
							  .pid = server ? SERVER : CALLER},
						 .nr = 1,
						 .duration_ns = SEND_NS + 100,
						 .result = 10}};

	talk_add(t, &r);
}

/* One end sends or receives so long after what was before it. */
static inline void two_hosts_move(struct two_hosts *h, bool server, bool receives, u64 after_ns)
{
	struct talk *t = server ? &h->server : &h->caller;

	h->now_ns += after_ns;
	t->now_ns = (server ? server_ns(h, h->now_ns) : h->now_ns) - 1000; /* talk_bytes adds it */
	talk_bytes(t, server, receives, 10);
	if (h->calls && !receives)
		two_hosts_call(t, server);
}

/* A request and its answer. */
static inline void two_hosts_ask(struct two_hosts *h, u64 way_ns, u64 work_ns)
{
	two_hosts_move(h, false, false, 5000);
	two_hosts_move(h, true, true, way_ns);
	two_hosts_move(h, true, false, work_ns);
	two_hosts_move(h, false, true, way_ns);
}

static inline void two_hosts_map(struct two_hosts *h)
{
	h->p[0] = talk_map(&h->caller, 0, h->caller.records.count);
	h->p[1] = talk_map(&h->server, 0, h->server.records.count);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(partial_finish(h->p[i]), 0);
		h->hosts[i] = (struct request_host){
			.p = h->p[i], .name = i ? "back" : "front", .boot = (u64)i + 7};
	}
}

static inline void two_hosts_free(struct two_hosts *h)
{
	for (int i = 0; i < 2; i++)
		partial_free(h->p[i]);
	vec_free(&h->caller.records);
	vec_free(&h->server.records);
}

#endif
