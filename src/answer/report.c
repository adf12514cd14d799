/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/report.h"

#include <errno.h>
#include <string.h>

/* By name, if that suits any of the hosts. */
static const struct grouping *default_of(const struct sources *sources)
{
	const struct grouping *by = NULL;

	for (size_t i = 0; i < sources->list.count; i++) {
		by = grouping_default(sources->list.data[i]->partial);
		if (strcmp(by->name, "name") == 0)
			break;
	}
	return by;
}

static int hosts_fill(struct rows *rows, const struct sources *sources, const struct grouping *by)
{
	int err = 0;

	for (size_t i = 0; i < sources->list.count && !err; i++) {
		const struct source *source = sources->list.data[i];
		struct rows of_host = {0};

		err = rows_fill(&of_host, source->partial, by, source->host);
		err = err ? err : rows_merge(rows, &of_host);
		rows_free(&of_host);
	}
	return err;
}

int report_make(struct report *out, struct rows *rows, const struct sources *sources,
		const struct report_choice *choice)
{
	const struct grouping *by = choice->by ? grouping_find(choice->by) : default_of(sources);
	const struct source *one = sources->list.data[0];
	const char *sort;
	int err;

	*rows = (struct rows){0};
	if (!by)
		return -EINVAL;
	sort = choice->sort ? choice->sort : by->sort;
	err = sources->several ? hosts_fill(rows, sources, by)
			       : rows_fill(rows, one->partial, by, NULL);
	err = err ? err : rows_finish(rows, sort);
	if (err)
		return err;
	*out = (struct report){.by = by->name,
			       .sort = sort,
			       .from_ns = sources->several ? 0 : one->from_ns,
			       .to_ns = sources->several ? 0 : one->to_ns,
			       .source = sources->view,
			       .hosts = sources->several ? sources->list.count : 0,
			       .rows = rows->rows.data,
			       .rows_count = rows->rows.count};
	return 0;
}
