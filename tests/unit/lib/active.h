/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of active spans. */
#ifndef TESTS_UNIT_LIB_ACTIVE_H
#define TESTS_UNIT_LIB_ACTIVE_H

#include <pthread.h>

#include "unit/lib/listener.h"

extern __thread void *otel_thread_ctx_v1;

static inline bool same_span(struct fathom_span a, const struct fathom_span *b)
{
	return memcmp(a.span_id, b->span_id, 8) == 0;
}

static inline void *end_it(void *span)
{
	fathom_span_end(span);
	return NULL;
}

/* Ends a span on a thread that never had it. */
static inline void end_elsewhere(struct fathom_span *span)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, end_it, span), 0);
	pthread_join(thread, NULL);
}

#endif
