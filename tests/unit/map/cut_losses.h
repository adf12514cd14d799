/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of a simulation that lie across a cut, told as a recorder and a reader do. */
#ifndef TESTS_CUT_LOSSES_H
#define TESTS_CUT_LOSSES_H

#include "answers.h"

/* One that a reader tells from its begin on. */
struct cut_loss {
	const struct record_lost *begin, *end;
	size_t from, to; /* indexes of these records */
};

struct cut_losses {
	VEC(struct cut_loss) list; /* by `from` */
};

/* Pairs begins with their ends; one without an end is left out. Free it with vec_free(). */
void cut_losses_find(struct cut_losses *losses, const struct simulation *s);

/*
 * What goes on at a cut before the record `at`, the time of which is now_ns: its first part ends
 * there without a count, or its second one begins.
 */
void cut_losses_tell(const struct cut_losses *losses, struct partial *p, size_t at, u64 now_ns,
		     bool begins);

/* Applies one of `whole`, of another time: its begin, or an end that counts nothing. */
void cut_loss_apply(struct partial *p, const struct record_lost *whole, u64 now_ns, bool begins);

#endif
