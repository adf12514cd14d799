/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef BPF_CALLS_LEAVE_H
#define BPF_CALLS_LEAVE_H

struct thread_state;

/*
 * At the end of a call of the running thread, whose scope of detail wants no calls: does not follow
 * its calls any more, and records that none is recorded from now on.
 */
int calls_leave(void);

/*
 * With calls_spans, at the begin of a call of the running thread, whose calls are not followed:
 * reads its span, and returns whether its scope wants calls now.
 */
int calls_look_at_span(struct thread_state *state);

#endif
