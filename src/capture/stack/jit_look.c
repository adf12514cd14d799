/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/stack/jit_look.h"

#include <stdlib.h>
#include <string.h>

void look_free(struct look *l)
{
	for (size_t i = 0; l->results && i < l->asks.count; i++)
		free(l->results[i]);
	free(l->results);
	vec_free(&l->asks);
	vec_free(&l->addresses);
}

static void result_take(void *arg, size_t index, const struct perf_map_line *line)
{
	struct look *l = arg;
	struct found *f = l->results[index];

	if (!f)
		f = l->results[index] = calloc(1, sizeof(*f));
	if (!f)
		return;
	f->begin = line->begin;
	f->end = line->end;
	f->bytes = (u16)line->name_bytes;
	memcpy(f->name, line->name, line->name_bytes);
}

/* Finds the file, and reads it if it can have an answer. */
void look_do(struct look *l)
{
	const struct perf_map_search search = {l->addresses.data, l->addresses.count, result_take,
					       l};

	l->err = jit_file_find(&l->file, l->pid);
	if (l->err || !l->search)
		return;
	l->changed |= jit_file_changed(&l->file);
	if (l->changed)
		(void)perf_map_read(l->file.fd, &search);
}
