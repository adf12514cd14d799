/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Notices are for capture itself, and are no records. They tell that a process made something that
 * others can find. A notice goes through the ring buffer `rare` as a head of kind NOTICE_KIND, with
 * one of these in `slots`.
 */
#ifndef BPF_NOTICE_H
#define BPF_NOTICE_H

#include "record/record.h"

#define NOTICE_KIND 255
#define NOTICE_RING 1	/* the process made a memfd with the name of libfathom's ring */
#define NOTICE_MAPPED 2 /* it mapped a file as executable, which may be a library */
#define NOTICE_NAMED 3	/* it gave memory the name of a process context */
#define NOTICE_THREAD 4 /* it made head.tid, which is head.seq in its pid namespace */
#define NOTICE_CPU 5	/* ends of faults on a CPU went away, or may come back: ring_control */

_Static_assert(RECORD_KIND_MAX < NOTICE_KIND, "kinds of records");

#endif
