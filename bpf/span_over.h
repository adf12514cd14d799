/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef BPF_SPAN_OVER_H
#define BPF_SPAN_OVER_H

/*
 * With spans_only: records that the span of the running thread is over. Without that record the
 * span would have the thread until the thread is seen again.
 */
int span_over_tell(void);

#endif
