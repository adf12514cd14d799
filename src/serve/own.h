/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of fathom's own query API share. */
#ifndef SERVE_OWN_H
#define SERVE_OWN_H

#include "serve/route.h"

/* Answers with a status and a reason. */
int own_error(struct query *q, int status, const char *why);

/*
 * A range of time by the parameters `from` and `to`: nanoseconds since 1970, or a duration before
 * now, such as 15m. False: one of them is neither.
 */
bool own_range(struct query *q, uint64_t *from_ns, uint64_t *to_ns);

/* Nanoseconds since 1970. */
uint64_t own_now_ns(void);

#define OWN_RANGE_WHY "from and to are nanoseconds since 1970, or a time before now such as 15m"

/* Answer the paths. */
int own_services(struct query *q);
int own_operations(struct query *q);
int own_search(struct query *q);
int own_live(struct query *q);

#endif
