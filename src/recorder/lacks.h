/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints that a recorder has to do without. */
#ifndef RECORDER_LACKS_H
#define RECORDER_LACKS_H

#include "capture/capture.h"

/*
 * Fills `list` (base/names.h) with the tracepoints whose records are missing from what a capture
 * records that has these features and is attached: the kernel has neither them nor what could stand
 * in for them.
 */
void missing_list(const struct capture_feature *features, size_t count, char *list, size_t size);

#endif
