/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What gRPC adds to HTTP/2, for a call with one message each way.
 *
 * A message:
 *   offset size
 *        0    1  1: compressed, as the header grpc-encoding says; 0: not
 *        1    4  n: bytes of what follows, big endian
 *        5    n  the message
 */
#ifndef SERVE_GRPC_MESSAGE_H
#define SERVE_GRPC_MESSAGE_H

#include "serve/delivery.h"

#define GRPC_HEAD_BYTES 5
#define GRPC_TEXT_BYTES 768 /* of a status message, encoded */

/* The message of a call, as it comes. Starts with all zero. */
struct grpc_message {
	unsigned char head[GRPC_HEAD_BYTES];
	unsigned int head_bytes; /* that came */
	uint32_t left;		 /* of the message, when the head is whole */
	bool may_be_gzip;	 /* grpc-encoding says so */
};

/*
 * Takes the next bytes of a call in pieces of any size, and gives those of the message to the
 * delivery, which has begun. Refuses the delivery where they are not one message.
 */
void grpc_message_add(struct grpc_message *m, struct delivery *d, const void *data, size_t bytes);

/* The call is whole: refuses the delivery if its message is not. */
void grpc_message_finish(const struct grpc_message *m, struct delivery *d);

/* Writes the head of a message that is not compressed. */
void grpc_head_encode(unsigned char head[GRPC_HEAD_BYTES], size_t bytes);

/* Writes a text as the header grpc-message has it, percent-encoded. Cuts what is too long. */
void grpc_text_encode(char out[GRPC_TEXT_BYTES], const char *text);

#endif
