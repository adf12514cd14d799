/* SPDX-License-Identifier: Apache-2.0 */
/* How one kind of fact is treated: the file of each kind ends with its struct fact_kind. */
#ifndef MAP_FACT_KIND_H
#define MAP_FACT_KIND_H

#include "map/checkpoint/archive.h"
#include "map/fact/facts.h"
#include "map/fact/living.h"

struct fact_kind {
	/* Adds the facts of this kind that a record of the row's kinds tells. 0 or -ENOMEM. */
	int (*add)(struct facts *f, const struct record_head *r);
	/*
	 * For qsort(): by owner, then time, then by all that an answer can show. qsort() need not
	 * be stable, and the same input must give the same answer.
	 */
	int (*compare)(const void *a, const void *b);
	/* Once all kinds are sorted: makes what queries need. 0 or -ENOMEM. NULL: nothing. */
	int (*index)(struct facts *f);
	void (*release)(void *fact); /* frees what a fact owns; NULL: it owns nothing */
	void (*archive)(struct archive *a, void *fact);
	/*
	 * Leaves what still holds at p->to_ns, of who goes on; facts are sorted. 0 or -ENOMEM.
	 * NULL: a checkpoint has nothing of this kind.
	 */
	int (*keep)(struct partial *p, struct living *l);
};

/* Of any archive: a fact of the kind peer (peer.c). */
void archive_peer(struct archive *a, struct fact_peer *peer);

/* What tells the peer of a socket, in one number (socket.c). */
u64 socket_peer_hash(const struct fact_socket *s);
u16 socket_side(const struct record_socket *r);

#define K(kind, list, form, records) extern const struct fact_kind fact_kind_##kind;
FACT_KINDS(K)
#undef K

/*
 * Leaves the last element of each owner for which `wanted` holds, of a list that is sorted by
 * owner and time; `release` frees what another element `e` owns.
 */
#define KEEP_LAST(list, e, owner, wanted, release)                                                 \
	do {                                                                                       \
		size_t kept_ = 0;                                                                  \
		for (size_t i_ = 0; i_ < (list)->count; i_++) {                                    \
			__typeof__((list)->data) e = &(list)->data[i_];                            \
			bool last_ = i_ + 1 == (list)->count || e->owner != e[1].owner;            \
			if (last_ && (wanted))                                                     \
				(list)->data[kept_++] = *e;                                        \
			else                                                                       \
				release;                                                           \
		}                                                                                  \
		(list)->count = kept_;                                                             \
	} while (0)

#endif
