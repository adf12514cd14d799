/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/report.h"

#include <errno.h>

int report_make(struct report *out, struct rows *rows, const struct source *source,
		const struct report_choice *choice)
{
	const struct grouping *by = choice->by ? grouping_find(choice->by)
					       : grouping_default(source->partial);
	int err;

	*rows = (struct rows){0};
	if (!by)
		return -EINVAL;
	err = rows_build(rows, source->partial, by, choice->sort);
	if (err)
		return err;
	*out = (struct report){.by = by->name,
			       .sort = choice->sort ? choice->sort : by->sort,
			       .from_ns = source->from_ns,
			       .to_ns = source->to_ns,
			       .source = source->view,
			       .rows = rows->rows.data,
			       .rows_count = rows->rows.count};
	return 0;
}
