/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that say which thread, interrupt or timer ended a wait. */
#ifndef ANSWER_SPAN_WAKER_H
#define ANSWER_SPAN_WAKER_H

#include "answer/span_builder.h"
#include "map/kernel/kspans.h"

/* Shorter waits for a CPU are not worth a name: a switch itself takes some microseconds. */
#define SPAN_HAD_CPU_MIN_NS 100000

void span_add_waker(struct span_builder *b, const struct life_wake *wake);

/* Adds which thread owned the lock that a wait was for, if the lock itself told the kernel. */
void span_add_owner(struct span_builder *b, const struct kspan *k);

/* Adds which thread had the CPU that a wait was for, if that wait took SPAN_HAD_CPU_MIN_NS. */
void span_add_had_cpu(struct span_builder *b, const struct kspan *k);

#endif
