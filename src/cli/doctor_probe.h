/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this host offers to a recorder, as a list of findings.
 */
#ifndef CLI_DOCTOR_PROBE_H
#define CLI_DOCTOR_PROBE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "record/record.h"

struct finding {
	const char *section; /* "kernel", "privilege", "tracepoint", "option" */
	char name[48];
	bool needed;	/* nothing can be recorded without it */
	bool available; /* and, where it is to be used, in use */
	char text[200]; /* there: what it is or is for; missing: what that costs */
};

struct diagnosis {
	char kernel[200]; /* "Linux 6.1.0 x86_64" */
	long cpus;
	struct capture_memory memory; /* where it can record */
	bool can_record;
	struct error reason; /* why not */
	VEC(struct finding) findings;
};

/*
 * Looks, and tries: loads and attaches the kernel programs for a moment, with
 * nothing in their scope. 0 or -ENOMEM. Free with diagnosis_free() in any case.
 */
int diagnosis_make(struct diagnosis *d, struct error *e);
void diagnosis_free(struct diagnosis *d);

#endif
