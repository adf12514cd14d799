/* SPDX-License-Identifier: Apache-2.0 */
#include "map/kernel/enclosing.h"

static bool begins_in(const struct kspan *k, const struct visit *visit)
{
	return visit->end_ns && k->begin_ns >= visit->begin_ns && k->begin_ns <= visit->end_ns;
}

static bool lies_in(const struct kspan *k, const struct visit *visit)
{
	return begins_in(k, visit) && k->end_ns <= visit->end_ns;
}

/* The visit of a wait: its record says whether it is in a call, a fault, or a fault in a call. */
static const struct visit *wait_in(const struct enclosing *in, const struct kspan *k)
{
	u8 mode = k->mode & MODE_MASK;
	bool fault = mode == MODE_fault && !(k->mode & MODE_IN_SYSCALL);
	const struct visit *visit = fault ? &in->fault : &in->call;

	if (mode != MODE_syscall && mode != MODE_fault)
		return NULL;
	if (mode == MODE_fault && lies_in(k, &in->nested))
		return &in->nested;
	/* a call that began before its thread was recorded has another begin */
	return lies_in(k, visit) || (visit->end_ns && k->visit_ns == visit->begin_ns) ? visit
										      : NULL;
}

/* The visit of a fault: one of user code lies only in a call that is told to be as long. */
static const struct visit *fault_in(const struct enclosing *in, const struct kspan *k)
{
	if (!(k->args[2] & FAULT_USER) && lies_in(k, &in->fault))
		return &in->fault;
	return lies_in(k, &in->call) ? &in->call : NULL;
}

/* The call in which a request was submitted: the request lasts longer. */
static const struct visit *submitted_in(const struct enclosing *in, const struct kspan *k)
{
	if (begins_in(k, &in->nested))
		return &in->nested;
	if (begins_in(k, &in->fault))
		return &in->fault;
	return begins_in(k, &in->call) ? &in->call : NULL;
}

const struct visit *enclosing_of(const struct enclosing *in, const struct kspan *k)
{
	switch (k->kind) {
	case KSPAN_WAIT:
		return wait_in(in, k);
	case KSPAN_FAULT:
		return fault_in(in, k);
	case KSPAN_BLOCK:
		return submitted_in(in, k);
	default:
		return NULL;
	}
}

void enclosing_follow(struct enclosing *in, const struct kspan *k, const struct context *ctx,
		      bool left_out)
{
	struct visit visit = {.begin_ns = k->begin_ns,
			      .end_ns = k->end_ns,
			      .shown_ns = k->begin_ns,
			      .fault = k->kind == KSPAN_FAULT,
			      .left_out = left_out,
			      .ctx = *ctx};

	if (k->kind == KSPAN_SYSCALL)
		in->call = visit;
	else if (k->kind == KSPAN_FAULT && k->args[2] & FAULT_USER)
		in->fault = visit;
	else if (k->kind == KSPAN_FAULT)
		in->nested = visit;
}
