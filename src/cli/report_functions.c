/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer/flame.h"
#include "base/units.h"

struct profile_choice report_profile_choice(const struct report_options *o,
					    const struct filter *filter)
{
	struct profile_choice choice = {.filter = filter};

	if (o->of)
		(void)profile_parts(o->of, &choice.parts);
	return choice;
}

int report_profile_check(const struct report_options *o, const struct profile_choice *choice,
			 const struct sources *sources, struct error *e)
{
	for (size_t i = 0; i < sources->list.count; i++) {
		const struct partial *p = sources->list.data[i]->partial;

		if (choice->parts ? p->facts.stacks.count : p->samples.list.count)
			return 0;
	}
	if (choice->parts)
		return error_say(e, ENOENT,
				 "there are no stacks of waits: record with --stacks 10ms");
	return error_say(e, ENOENT,
			 "there are no samples of what ran on the CPUs: record with --sample%s",
			 o->of ? "" : ", or ask for stacks of waits with --of waits");
}

/* "on a CPU of program cc1 of spans GET*" */
static void title_make(const struct report_options *o, char *title, size_t size)
{
	const struct filter_options *f = &o->filter;
	const struct {
		const char *what, *value;
	} parts[] = {{"spans", f->name},
		     {"service", f->service},
		     {"program", f->program},
		     {"command", f->command},
		     {"cgroup", f->cgroup}};
	size_t length = (size_t)snprintf(title, size, "%s",
					 !o->of || strcmp(o->of, "cpu") == 0 ? "on a CPU" : o->of);

	for (size_t i = 0; i < f->pids.count && length < size; i++)
		length += (size_t)snprintf(title + length, size - length, "%s%u",
					   i ? ", " : " of process ", f->pids.data[i]);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].value && length < size)
			length += (size_t)snprintf(title + length, size - length, " of %s %s",
						   parts[i].what, parts[i].value);
}

static int file_write(const char *path, const struct bytes *text, struct error *e)
{
	FILE *f = fopen(path, "we");
	int err;

	if (!f)
		return error_set(e, errno, "cannot write %s", path);
	err = fwrite(text->data, 1, text->count, f) == text->count ? 0 : errno ? errno : EIO;
	if (fclose(f) && !err)
		err = errno;
	return err ? error_set(e, err, "cannot write %s", path) : 0;
}

static uint64_t profile_ns(const struct profile *profile)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < profile->stacks.count; i++)
		ns += profile->stacks.data[i].ns;
	return ns;
}

/* Says on stderr what the output is made of. */
static void profile_say(const struct profile *profile, const struct profile_choice *choice)
{
	char ns[UNITS_TEXT_BYTES];

	fprintf(stderr, "fathom: %" PRIu64 " %s, %s\n", profile->times,
		choice->parts ? "stacks of waits" : "samples",
		units_format_ns((int64_t)profile_ns(profile), ns));
	if (profile->cut)
		fprintf(stderr,
			"fathom: %" PRIu64 " of them end (…) where too little of the stack was "
			"recorded: record with --%s,4K\n",
			profile->cut, choice->parts ? "stacks 10ms" : "sample 99");
}

int report_profile_write(const struct report_options *o, const struct profile_choice *choice,
			 const struct sources *sources, struct error *e)
{
	struct profile profile;
	struct bytes text = {0};
	char title[512];
	int err = profile_make(&profile, sources, choice);

	title_make(o, title, sizeof(title));
	err = err	 ? err
	      : o->flame ? flame_write(&profile, title, &text)
			 : profile_write_folded(&profile, &text);
	if (err)
		error_set(e, err, "cannot sum up the stacks");
	else if (o->flame)
		err = file_write(o->flame, &text, e);
	else if (fwrite(text.data, 1, text.count, stdout) != text.count)
		err = error_set(e, EIO, "cannot print the stacks");
	if (!err)
		profile_say(&profile, choice);
	bytes_free(&text);
	profile_free(&profile);
	return err;
}
