/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer/json.h"
#include "base/units.h"
#include "cli/json_file.h"

#define NAME_COLUMNS 23
#define TEXT_COLUMN (2 + NAME_COLUMNS + 9)
#define MEMORY_COLUMN (2 + NAME_COLUMNS)
#define GREEN 34
#define RED 160
#define GRAY 245

void diagnosis_write_json(FILE *file, const struct diagnosis *d)
{
	struct json j;

	json_init_file(&j, file);
	json_object_begin(&j, NULL);
	schema_write_json(&j);
	json_bool(&j, "can_record", d->can_record);
	if (!d->can_record)
		json_string(&j, "reason", d->reason.text);
	json_string(&j, "kernel", d->kernel);
	json_s64(&j, "cpus", d->cpus);
	if (d->can_record) {
		json_u64(&j, "ring_bytes", d->memory.ring_bytes);
		json_u64(&j, "table_bytes", d->memory.table_bytes);
	}
	json_array_begin_lines(&j, "findings");
	for (size_t i = 0; i < d->findings.count; i++) {
		const struct finding *f = &d->findings.data[i];

		json_object_begin(&j, NULL);
		json_string(&j, "section", f->section);
		json_string(&j, "name", f->name);
		json_bool(&j, "needed", f->needed);
		json_bool(&j, "available", f->available);
		json_string(&j, "text", f->text);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	json_end(&j);
}

static void finding_write_text(const struct terminal *t, const struct finding *f)
{
	fputs("  ", t->file);
	terminal_cell(t, f->name, NAME_COLUMNS);
	terminal_color(t, f->available ? GREEN : f->needed ? RED : GRAY);
	fprintf(t->file, " %-8s", f->available ? "yes" : f->needed ? "MISSING" : "no");
	terminal_reset(t);
	terminal_words(t, f->text, TEXT_COLUMN);
	putc('\n', t->file);
}

static void memory_row_write(const struct terminal *t, const char *name, u64 bytes,
			     const char *what)
{
	char text[128], amount[UNITS_TEXT_BYTES];

	snprintf(text, sizeof(text), "%s %s", units_format_bytes(bytes, amount), what);
	fputs("  ", t->file);
	terminal_cell(t, name, NAME_COLUMNS);
	terminal_words(t, text, MEMORY_COLUMN);
	putc('\n', t->file);
}

static void memory_write_text(const struct terminal *t, const struct diagnosis *d)
{
	char cpus[64];

	snprintf(cpus, sizeof(cpus), "for %ld CPUs (record --buffer)", d->cpus);
	fprintf(t->file, "memory\n");
	memory_row_write(t, "rings", d->memory.ring_bytes, cpus);
	memory_row_write(t, "tables", d->memory.table_bytes,
			 "more, independent of the number of threads");
}

void diagnosis_write_text(const struct terminal *t, const struct diagnosis *d)
{
	const char *section = "";

	fprintf(t->file, "%s, %ld CPUs: fathom %s record here\n", d->kernel, d->cpus,
		d->can_record ? "can" : "cannot");
	for (size_t i = 0; i < d->findings.count; i++) {
		const struct finding *f = &d->findings.data[i];

		if (strcmp(f->section, section) != 0)
			fprintf(t->file, "%s\n", f->section);
		section = f->section;
		finding_write_text(t, f);
	}
	if (d->can_record)
		memory_write_text(t, d);
}
