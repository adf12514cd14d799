/* SPDX-License-Identifier: Apache-2.0 */
/* Names of block devices. */
#ifndef CAPTURE_KERNEL_DEVICES_H
#define CAPTURE_KERNEL_DEVICES_H

#include "capture/capture.h"

/*
 * Tells the names of all block devices of the host, as /proc/partitions has them. 0, or what the
 * sink returned. Without that file nothing is told.
 */
int capture_devices_tell(const struct capture_sink *sink);

#endif
