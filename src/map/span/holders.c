/* SPDX-License-Identifier: Apache-2.0 */
#include "map/span/holders.h"

#include <stdlib.h>

#include "base/order.h"

static int holder_compare(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	COMPARE(x->number, y->number);
	COMPARE(x->from_ns, y->from_ns);
	COMPARE(x->life, y->life);
	return 0;
}

int holders_fill(struct holders *h, const struct partial *p)
{
	int err = 0;

	for (size_t i = 0; i < p->lives.count && !err; i++) {
		const struct life *l = p->lives.data[i];
		u64 from_ns = l->renamed_ns ? l->renamed_ns : l->origin_ns;

		err = vec_push(&h->list, (struct holder){l->tid, from_ns, i});
		if (!err && l->tid != l->left_tid)
			err = vec_push(&h->list, (struct holder){l->left_tid, l->origin_ns, i});
	}
	if (h->list.count)
		qsort(h->list.data, h->list.count, sizeof(*h->list.data), holder_compare);
	return err;
}

void holders_free(struct holders *h)
{
	vec_free(&h->list);
}

const struct holder *holders_find(const struct holders *h, u32 number, u64 time_ns)
{
	const struct holder *list = h->list.data;
	size_t n = COUNT_BEFORE(&h->list, at,
				at->number < number ||
					(at->number == number && at->from_ns <= time_ns));

	if (n > 0 && list[n - 1].number == number)
		return &list[n - 1];
	return n < h->list.count && list[n].number == number ? &list[n] : NULL;
}
