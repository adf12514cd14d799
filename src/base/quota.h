/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that several threads may use together. */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct quota {
	atomic_size_t used;
	size_t limit_bytes;
};

/* False: it would be more than the limit. Without a quota (NULL) all may be used. Thread-safe. */
static inline bool quota_take(struct quota *q, size_t bytes)
{
	if (!q)
		return true;
	if (bytes <= q->limit_bytes && atomic_fetch_add(&q->used, bytes) <= q->limit_bytes - bytes)
		return true;
	if (bytes <= q->limit_bytes)
		atomic_fetch_sub(&q->used, bytes);
	return false;
}

static inline void quota_give(struct quota *q, size_t bytes)
{
	if (q)
		atomic_fetch_sub(&q->used, bytes);
}

#endif
