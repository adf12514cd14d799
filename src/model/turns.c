/* SPDX-License-Identifier: Apache-2.0 */
#include "model/turns.h"

/* Adds to the share of a thread; returns how many threads have one. */
static size_t share_add(struct turn_share *shares, size_t count, u32 tid, u64 ns)
{
	size_t at = 0;

	while (at < count && shares[at].tid != tid)
		at++;
	if (at == count)
		shares[count++] = (struct turn_share){.tid = tid};
	shares[at].ns += ns;
	return count;
}

size_t turns_share(const struct turns *turns, u64 ns, struct turn_share shares[TURNS_MAX])
{
	size_t count = 0;
	u64 told_ns = 0;

	for (int i = 0; i < TURNS_MAX && turns->list[i].ago_ns && told_ns < ns; i++) {
		u64 ago_ns = turns->list[i].ago_ns;

		if (ago_ns >= TURN_LONG || ago_ns > ns)
			ago_ns = ns;
		if (ago_ns <= told_ns)
			continue;
		count = share_add(shares, count, turns->list[i].tid, ago_ns - told_ns);
		told_ns = ago_ns;
	}
	return count;
}
