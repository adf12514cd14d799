/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDER_OPTIONS_H
#define RECORDER_OPTIONS_H

#include "capture/capture.h"
#include "recorder/recorder.h"

/* What capture is told of the options of a recording. It borrows their pointers. */
struct capture_options recorder_capture_options(const struct recorder_options *o);

/* The level of detail with which the recording begins. */
enum capture_detail recorder_own_detail(const struct recorder_options *o);

/* The capabilities that root needs to write into another user's directory, and to chown. */
u64 recorder_directory_capabilities(const struct recording_hold *hold,
				    const struct chunk_owner *owner);

/* The capabilities that are needed to rename the directory when the recording begins. */
u64 recorder_settle_capabilities(const struct recorder_options *o, const struct chunk_owner *owner);

#endif
