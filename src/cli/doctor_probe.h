/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks whether this host can record, and lists the findings.
 */
#ifndef CLI_DOCTOR_PROBE_H
#define CLI_DOCTOR_PROBE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "record/record.h"

struct finding {
	const char *section; /* "kernel", "privilege", "tracepoint", "option", "program" */
	char name[48];
	bool needed;	/* nothing can be recorded without it */
	bool available; /* and in use, if it should be */
	char text[200]; /* available: what it is or is for; missing: what that costs */
};

struct diagnosis {
	char kernel[200]; /* "Linux 6.1.0 x86_64" */
	long cpus;
	struct capture_memory memory; /* filled if it can record */
	bool can_record;
	struct error reason; /* why it cannot record */
	VEC(struct finding) findings;
};

/*
 * Probes the host. Loads and attaches the kernel programs for a moment, with nothing in
 * their scope. 0 or -ENOMEM. Free it with diagnosis_free() in any case.
 */
int diagnosis_make(struct diagnosis *d, struct error *e);
void diagnosis_free(struct diagnosis *d);

#endif
