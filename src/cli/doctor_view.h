/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of `fathom doctor`.
 */
#ifndef CLI_DOCTOR_VIEW_H
#define CLI_DOCTOR_VIEW_H

#include "cli/doctor_probe.h"
#include "cli/terminal.h"

/* The JSON of `fathom doctor --json`, with a line for each finding. */
void diagnosis_write_json(FILE *file, const struct diagnosis *d);

/* A line for each finding, under its section. */
void diagnosis_write_text(const struct terminal *t, const struct diagnosis *d);

#endif
