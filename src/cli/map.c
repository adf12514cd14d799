/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "answer/map_chunks.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "recorder/default_dir.h"

struct map_options {
	const char *output;
	bool spans;
	struct time_point from, to;
	int boot;
	uint64_t threads;
	const char *const *dirs; /* set by the check: operands, or the default; borrowed */
	size_t dirs_count;
};

#define AT(field) offsetof(struct map_options, field)
static const struct option map_option_table[] = {
	{"output", 'o', "FILE", "the partial file, which is replaced if it is there", NULL,
	 AT(output), option_text},
	{"spans", 0, NULL, "keep each system call, wait and fault, for 'fathom trace'", NULL,
	 AT(spans), option_flag},
	{"from", 0, "T",
	 "begin of the answers: monotonic ns, or a duration since the\nfirst record", NULL,
	 AT(from), option_time},
	{"to", 0, "T", "end, likewise", NULL, AT(to), option_time},
	{"boot", 0, "N", "map an earlier boot: -1 is the one before the latest", NULL, AT(boot),
	 option_boot},
	{"threads", 0, "N", "threads that read chunks (default: one for each CPU)", NULL,
	 AT(threads), option_count},
	{0},
};
#undef AT

static const char *const default_dirs[] = {DEFAULT_DIR};

static bool is_wall_time(const struct time_point *point)
{
	return point->kind == TIME_POINT_UNIX || point->kind == TIME_POINT_OF_DAY;
}

static int map_check(void *options, const struct operands *operands, struct error *e)
{
	struct map_options *o = options;

	if (operands->command)
		return error_say(e, EINVAL, "no argument is allowed after --");
	if (!o->output)
		return error_say(e, EINVAL, "name the partial file that is to be written: -o FILE");
	if (time_points_cross(&o->from, &o->to))
		return error_say(e, EINVAL, "--from must lie before --to");
	if (is_wall_time(&o->from) || is_wall_time(&o->to))
		return error_say(
			e, EINVAL,
			"--from and --to of a partial file cannot be a date or a time of "
			"day, which is another point of each chunk's clock: give "
			"nanoseconds of the monotonic clock, or a duration since the first "
			"record");
	o->dirs = operands->count ? (const char *const *)operands->items : default_dirs;
	o->dirs_count = operands->count ? operands->count : 1;
	for (size_t i = 0; i < o->dirs_count; i++) {
		struct stat st;

		if (stat(o->dirs[i], &st) == 0 && !S_ISDIR(st.st_mode))
			return error_say(e, EINVAL,
					 "%s is a file, and chunks are directories: 'fathom merge' "
					 "joins partial files",
					 o->dirs[i]);
	}
	return 0;
}

static int map_run(const void *fields, const struct operands *operands, struct error *e)
{
	const struct map_options *o = fields;
	struct progress_line line = progress_line_begin(stderr);
	const struct source_options how = {.dirs = o->dirs,
					   .dirs_count = o->dirs_count,
					   .boot = o->boot,
					   .spans = o->spans,
					   .from = o->from,
					   .to = o->to,
					   .threads = o->threads,
					   .progress = progress_line_of(&line),
					   .notice = progress_line_notice(&line)};
	struct partial_target target;
	struct partial_file *file = NULL;
	int err = partial_target_open(&target, o->output, e);

	if (err)
		return err;
	err = chunks_map_to_file(&how, &file, e);
	progress_line_end(&line);
	err = err ? err : partial_target_write(&target, file, e);
	partial_target_close(&target);
	partial_file_free(file);
	return err;
}

const struct command command_map = {
	.name = "map",
	.summary = "sum up chunks in a partial file, which merges with others",
	.usage = "[DIR|CHUNK...] -o FILE [--spans] [--from T] [--to T] [--boot N]\n"
		 "       [--threads N]",
	.description =
		"Maps the chunks of DIR (default: fathom.data), or single chunks, and writes what "
		"they\n"
		"say to FILE: times, counts, histograms, threads, names and application spans. "
		"'fathom\n"
		"merge' joins such files in any order, and 'fathom report' and 'fathom trace' take "
		"them\n"
		"in place of DIR.",
	.examples = "  fathom map -o host1.partial\n"
		    "  fathom map --spans fathom.data -o host1.partial\n"
		    "  for c in fathom.data/0*; do fathom map $c -o ${c##*/}.partial; done\n",
	.options = map_option_table,
	.options_bytes = sizeof(struct map_options),
	.takes_recordings = true,
	.check = map_check,
	.run = map_run,
};
