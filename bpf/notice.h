/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What capture itself wants to know of a process, beside the records: that it made
 * something for others to find. A notice goes through the ring buffer `rare`
 * as a head of kind NOTICE_KIND, with one of these in `slots`.
 */
#ifndef BPF_NOTICE_H
#define BPF_NOTICE_H

#include "record/record.h"

#define NOTICE_KIND 255
#define NOTICE_RING 1	/* it made a memfd with the name of libfathom's ring */
#define NOTICE_MAPPED 2 /* it mapped a file as executable: a library, perhaps */
#define NOTICE_NAMED 3	/* it gave memory the name of a process context */
#define NOTICE_THREAD 4 /* head.tid was made in a pid namespace, where it is number head.seq */
#define NOTICE_CPU 5	/* of a CPU the ends of faults went, or can be again: ring_control */

_Static_assert(RECORD_KIND_MAX < NOTICE_KIND, "kinds of records");

#endif
