/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that say which thread, interrupt or timer ended a wait. */
#ifndef ANSWER_SPAN_WAKER_H
#define ANSWER_SPAN_WAKER_H

#include "answer/span_builder.h"

void span_add_waker(struct span_builder *b, const struct life_wake *wake);

#endif
