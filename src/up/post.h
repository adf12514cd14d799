/* SPDX-License-Identifier: Apache-2.0 */
/* Posts spans to serve, in as many requests as their size asks for. For one thread. */
#ifndef UP_POST_H
#define UP_POST_H

#include "span/received.h"
#include "up/board.h"
#include "up/sender.h"

/* Spans that serve acknowledged; refused: for good. */
struct post_counts {
	atomic_uint_fast64_t *spans, *kernel_spans, *refused;
};

struct post {
	struct board *board;
	struct post_counts counts;
	struct sender sender;
	struct bytes body;
	/* Waits so long before it is sent again. True: there is no more time. */
	bool (*is_over)(void *arg, uint64_t wait_ns);
	void *arg;
};

/*
 * Sends the spans until serve has them, if spans are kept. 0; -ECANCELED: there is no more time; or
 * -ENOMEM.
 */
int post_spans(struct post *p, const struct received_batch *batch);

void post_end(struct post *p);

#endif
