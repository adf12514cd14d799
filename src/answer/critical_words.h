/* SPDX-License-Identifier: Apache-2.0 */
/* Segments of critical paths in words. Texts are of the builder. */
#ifndef ANSWER_CRITICAL_WORDS_H
#define ANSWER_CRITICAL_WORDS_H

#include "answer/critical.h"
#include "request/critical.h"

/* Who a thread of a host was at a time of that host. */
struct critical_who critical_who_of(struct span_builder *b, const struct requests *r, u32 host,
				    u32 tid, u64 time_ns);

/* "nginx (pid 7)", "nginx (pid 7, thread 9)". */
const char *critical_who_text(struct span_builder *b, const struct critical_who *who);

/* On what a blocked thread waits: "for a lock". */
const char *critical_wait_text(struct span_builder *b, const struct partial *p,
			       const struct critical_segment *s);

/* Fills state, cause, who, by, and the sentence. */
void critical_describe(struct critical_row *row, struct span_builder *b, const struct requests *r,
		       const struct critical_segment *s);

#endif
