/* SPDX-License-Identifier: Apache-2.0 */
/* A sink that drops what is later than the end of the recording. */
#ifndef RECORDER_UNTIL_H
#define RECORDER_UNTIL_H

#include "capture/capture.h"

struct until {
	struct capture_sink to; /* gets the rest */
	u64 end_ns;
};

/* The sink, which borrows `until`. */
struct capture_sink until_sink(struct until *until);

#endif
