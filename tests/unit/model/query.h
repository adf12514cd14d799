/* SPDX-License-Identifier: Apache-2.0 */
/* Queries for the cause of a wait, as no table of cases has them. */
#ifndef TESTS_UNIT_MODEL_QUERY_H
#define TESTS_UNIT_MODEL_QUERY_H

#include "model/cause.h"

/* Changes one thing that conditions of rules ask for. The same number changes it alike. */
static inline void query_vary(struct cause_query *q, u64 number)
{
	u64 random = (number + 1) * 6364136223846793005u;

	random ^= random >> 29;
	switch (random >> 40 & 7) {
	case 0:
		q->mode = random >> 50 & 7;
		break;
	case 1:
		q->nr = random >> 50 & 511;
		break;
	case 2:
		q->leave_state = random >> 50 & 15;
		break;
	case 3:
		q->has_waker = random >> 60 & 1;
		q->waker_context = random >> 50 & 7;
		q->waker_vector = random >> 54 & 15;
		break;
	case 4:
		q->arg0 = random >> 50 & 1;
		break;
	case 5:
		q->file.kind = random >> 50 & 31;
		break;
	case 6:
		q->file.flags = (u16)(random >> 48);
		break;
	default:
		q->waker_file.kind = random >> 50 & 31;
		q->waker_file.flags = (u16)(random >> 48);
	}
}

#endif
