/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The description of a tracepoint that the user chose; capture writes it for the program. */
#ifndef BPF_EVENT_H
#define BPF_EVENT_H

#include "record/record.h"

#define EVENT_LOCATIONS 12
#define EVENT_PAYLOAD_MAX 2048

#define EVENT_IN_INTERRUPT 1 /* it only fires in interrupts */
#define EVENT_IS_EXEC 2	     /* the exec with which a command comes into scope */

struct event_config {
	u32 format;    /* the id of its format record */
	u32 type;      /* the kernel's number, common_type */
	u32 flags;     /* EVENT_* */
	u16 fixed;     /* bytes of the payload before its strings */
	u16 thread_at; /* offset of the number of the thread that it belongs to; 0: the running one
			*/
	u16 relative;  /* bits: locations that count from their own end */
	u16 location_count;
	u16 location_at[EVENT_LOCATIONS]; /* offsets of (length << 16 | begin) of strings */
};

#endif
