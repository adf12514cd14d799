/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of app_rings.h share; nothing else includes it. */
#ifndef CAPTURE_APP_RINGS_INTERNAL_H
#define CAPTURE_APP_RINGS_INTERNAL_H

#include "capture/app_process.h"
#include "lib/app_ring.h"

struct app_ring_reached {
	struct app_ring *ring;
	int fd;	   /* holds the lock */
	int pidfd; /* readable once the process has ended */
	u64 inode, device;
	u64 made_ns; /* when it was made, 0: not seen */
	u64 reached_ns;
	struct app_process process;
};

/* True once all threads of the process have ended. */
bool app_ring_is_ended(const struct app_ring_reached *reached);

#endif
