/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/stat.h>

#include "answer/files.h"
#include "cli/command.h"

struct merge_options {
	const char *output;
};

static const struct option merge_option_table[] = {
	{"output", 'o', "FILE", "the joined file, which is replaced if it is there", NULL,
	 offsetof(struct merge_options, output), option_text},
	{0},
};

static int merge_check(void *options, const struct operands *operands, struct error *e)
{
	const struct merge_options *o = options;

	if (operands->command)
		return error_say(e, EINVAL, "no argument is allowed after --");
	if (!operands->count)
		return error_say(e, EINVAL, "name the partial files that are to be joined");
	if (!o->output)
		return error_say(e, EINVAL, "name the partial file that is to be written: -o FILE");
	for (size_t i = 0; i < operands->count; i++) {
		struct stat st;

		if (stat(operands->items[i], &st) == 0 && S_ISDIR(st.st_mode))
			return error_say(e, EINVAL,
					 "%s is a directory: 'fathom map' makes a partial file of "
					 "its chunks",
					 operands->items[i]);
	}
	return 0;
}

static int merge_run(const void *fields, const struct operands *operands, struct error *e)
{
	static const struct partial_options all = {.spans = true};
	const struct merge_options *o = fields;
	struct partial_target target;
	struct partial_file *file = NULL;
	int err = partial_target_open(&target, o->output, e);

	if (err)
		return err;
	err = files_merge((const char *const *)operands->items, operands->count, &all, &file, e);
	err = err ? err : partial_target_write(&target, file, e);
	partial_target_close(&target);
	partial_file_free(file);
	return err;
}

const struct command command_merge = {
	.name = "merge",
	.summary = "join partial files, in any order",
	.usage = "FILE... -o FILE",
	.description = "Joins partial files that 'fathom map' or 'fathom merge' wrote. The same "
		       "chunks give the\n"
		       "same file, in whatever order and grouping they are joined. A file whose "
		       "chunks another\n"
		       "one has already adds nothing; files that share a part of their chunks are "
		       "refused.",
	.examples = "  fathom merge monday.partial tuesday.partial -o week.partial\n"
		    "  fathom merge parts/*.partial -o all.partial && fathom report all.partial\n",
	.options = merge_option_table,
	.options_bytes = sizeof(struct merge_options),
	.check = merge_check,
	.run = merge_run,
};
