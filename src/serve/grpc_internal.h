/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the gRPC receiver share: the loop, its connections, and their calls. */
#ifndef SERVE_GRPC_INTERNAL_H
#define SERVE_GRPC_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "serve/grpc.h"
#include "serve/grpc_message.h"
#include "serve/syncer.h"

struct grpc_connection;

/* A call. It is of the loop's thread, but for the time in which the syncer has it. */
struct grpc_call {
	struct sync_wait wait;
	struct grpc_call *next, *before; /* of the connection */
	struct grpc_call *next_done;
	struct grpc *server;
	struct grpc_connection *connection; /* NULL: it ended while the syncer has the call */
	int32_t stream;
	uint64_t begun_ns;
	/* what its headers say */
	bool is_post, is_export, is_grpc, is_local, is_foreign, is_encoding_known, has_token;
	bool is_open;	 /* its headers came */
	bool is_whole;	 /* everything came, or it was refused */
	bool is_syncing; /* the syncer has it */
	struct grpc_message message;
	struct delivery delivery;
	struct bytes answer;
	size_t sent;   /* of the answer */
	char code[12]; /* of its status, in digits */
	char text[GRPC_TEXT_BYTES];
};

struct grpc_connection {
	struct grpc_connection *next, *before; /* of the loop */
	struct grpc *server;
	int fd;
	nghttp2_session *session;
	struct grpc_call *calls;
	const uint8_t *out; /* of the session: what the socket did not take yet */
	size_t out_bytes;
	bool waits_to_send;
	bool had_call;
	bool needs_token;  /* of its client */
	bool is_older;	   /* the client speaks HTTP/1 */
	uint64_t since_ns; /* when it was accepted, or its last call ended */
};

struct grpc {
	struct inbox inbox;
	struct syncer *syncer;
	int listening, epoll, wake;
	bool has_thread, is_full; /* is_full: it does not listen, since it has no more room */
	pthread_t thread;
	atomic_bool stopping;
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	struct grpc_connection *connections;
	unsigned int count;
	pthread_mutex_t lock;
	struct grpc_call *done; /* with the lock: that the syncer gave back */
};

/* Makes the table of callbacks of a session. 0 or -ENOMEM. */
int grpc_callbacks_make(nghttp2_session_callbacks **out);

/* The syncer gave the call back: it is answered, or freed where its connection ended. */
void grpc_call_synced(struct grpc_call *call);

/* Refuses a call that takes too long. False: its connection is to be closed. */
bool grpc_call_expire(struct grpc_call *call);

/* Ends a call whose connection ends. */
void grpc_call_drop(struct grpc_call *call);

/* Wakes the loop for a call that the syncer gives back, in the syncer's thread. */
void grpc_done(struct grpc *g, struct grpc_call *call);

#endif
