/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a record from capture to the caller's sink.
 *
 * Capture takes note of some records before the caller gets them: stacks are preceded by the names
 * of kernel functions, the life of processes starts looks at them, and the exec of the command is
 * followed by what it has open. A delivery is the caller's sink with that around it. It is made
 * where the caller hands his sink in; who has a record to tell only knows `sink`.
 *
 * Records of applications go to `caller` directly: nothing of the above is for them.
 */
#ifndef CAPTURE_DELIVER_H
#define CAPTURE_DELIVER_H

#include "capture/capture.h"

struct capture_delivery {
	struct capture_sink sink; /* calls capture_deliver(); losses go to the caller as they are */
	struct capture *c;
	const struct capture_sink *caller; /* borrowed */
};

/* *d must not be copied afterwards: its sink points to it. */
void capture_delivery_make(struct capture_delivery *d, struct capture *c,
			   const struct capture_sink *caller);

/* Hands a record over. 0, or a negative errno of the sink. */
int capture_deliver(struct capture_delivery *d, const struct capture_stream *stream,
		    const struct record_head *r);

#endif
