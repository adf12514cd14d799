/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/describe.h"
#include "answer/map_chunks.h"
#include "answer/range.h"
#include "base/names.h"
#include "map/file/choose.h"

bool is_partial_path(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

bool has_partial_path(const char *const *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_partial_path(paths[i]))
			return true;
	return false;
}

/* ---- reading ---- */

/* Takes `more`, which comes from `path`. */
static int file_take(struct partial_file **file, struct partial_file *more, const char *path,
		     struct error *e)
{
	int err;

	if (!*file) {
		*file = more;
		return 0;
	}
	err = partial_file_merge(*file, more, e);
	return err ? error_set(e, err, "cannot add %s", path) : 0;
}

int files_merge(const char *const *paths, size_t count, const struct partial_options *options,
		struct partial_file **out, struct error *e)
{
	struct partial_file *file = NULL, *more;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		err = partial_file_read(&more, paths[i], options, e);
		err = err ? err : file_take(&file, more, paths[i], e);
	}
	if (err)
		partial_file_free(file);
	else
		*out = file;
	return err;
}

static int add_recordings(struct partial_file *file, const struct source_options *o,
			  const char *const *dirs, size_t count, struct error *e)
{
	struct source_options how = *o;
	struct partial_file *more;
	int err;

	how.dirs = dirs;
	how.dirs_count = count;
	err = chunks_map_alike(&how, &file->terms, &more, e);
	return err ? err : file_take(&file, more, dirs[0], e);
}

/* All that is named: files, and what is mapped for them. */
static int all_read(const struct source_options *o, struct partial_file **out, struct error *e)
{
	const struct partial_options options = {
		.spans = o->spans, .only = o->only, .hits = o->hits};
	const char **files = calloc(2 * o->dirs_count + 1, sizeof(*files));
	const char **dirs = files ? files + o->dirs_count : NULL;
	struct partial_file *file = NULL;
	size_t file_count = 0, dir_count = 0;
	int err;

	if (!files)
		return error_set(e, ENOMEM, "cannot read partial files");
	for (size_t i = 0; i < o->dirs_count; i++) {
		if (is_partial_path(o->dirs[i]))
			files[file_count++] = o->dirs[i];
		else
			dirs[dir_count++] = o->dirs[i];
	}
	err = files_merge(files, file_count, &options, &file, e);
	if (!err && dir_count)
		err = add_recordings(file, o, dirs, dir_count, e);
	free(files);
	if (err)
		partial_file_free(file);
	else
		*out = file;
	return err;
}

/* ---- which boots ---- */

static const struct partial_chunk *first_chunk(const struct partial_boot *boot)
{
	return &boot->runs.data[0]->chunks.data[0];
}

/* The time of a boot in Unix time, to compare it with other boots. */
struct boot_time {
	struct partial_boot *boot;
	u64 begin_ns, end_ns;
	size_t host; /* number of the first boot of the same host */
};

struct boot_times { /* a VEC: the latest first */
	struct boot_time *data;
	size_t count, capacity;
};

static struct boot_time time_of(struct partial_boot *boot)
{
	const struct partial_run *last = boot->runs.data[boot->runs.count - 1];
	const struct partial_chunk *c = first_chunk(boot);
	u64 ahead_ns = c->clock.unix_ns - c->clock.monotonic_ns;

	return (struct boot_time){boot, ahead_ns + c->begin_ns,
				  ahead_ns + last->chunks.data[last->chunks.count - 1].end_ns, 0};
}

static int time_compare(const void *a, const void *b)
{
	const struct boot_time *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns > y->begin_ns ? -1 : 1;
	return strcmp(x->boot->boot_id, y->boot->boot_id);
}

static bool is_of_name(const struct boot_time *x, const struct boot_time *y)
{
	return strcmp(first_chunk(x->boot)->host, first_chunk(y->boot)->host) == 0;
}

/* Boots of one name are of one host unless two of them were at the same time. */
static void host_find(struct boot_times *times, size_t at)
{
	struct boot_time *t = &times->data[at];

	t->host = at;
	for (size_t first = 0; first < at && t->host == at; first++) {
		bool fits = times->data[first].host == first && is_of_name(t, &times->data[first]);

		for (size_t i = first; i < at && fits; i++)
			fits = times->data[i].host != first || t->end_ns <= times->data[i].begin_ns;
		if (fits)
			t->host = first;
	}
}

static int times_find(struct boot_times *times, const struct partial_file *file)
{
	int err = 0;

	for (size_t i = 0; i < file->boots.count && !err; i++)
		err = vec_push(times, time_of(file->boots.data[i]));
	if (err)
		return err;
	qsort(times->data, times->count, sizeof(*times->data), time_compare);
	for (size_t i = 0; i < times->count; i++)
		host_find(times, i);
	return 0;
}

static size_t hosts_count(const struct boot_times *times)
{
	size_t count = 0;

	for (size_t i = 0; i < times->count; i++)
		count += times->data[i].host == i;
	return count;
}

/* As struct recording_info tells the name: hosts of one name bear a part of their boot id, too. */
static void host_name(const struct boot_times *times, size_t at, struct source *s)
{
	bool shared = false;

	for (size_t i = 0; i < times->count; i++)
		shared |= i != at && times->data[i].host == i &&
			  is_of_name(&times->data[i], &times->data[at]);
	snprintf(s->host, sizeof(s->host), shared ? "%s@%.8s" : "%s",
		 first_chunk(times->data[at].boot)->host, times->data[at].boot->boot_id);
}

/* ---- what the answer says beside ---- */

static int gap_add(struct source *s, u64 from_ns, u64 to_ns)
{
	if (from_ns >= to_ns || to_ns <= s->from_ns || from_ns >= s->to_ns)
		return 0;
	return vec_push(&s->gaps, ((struct gap_view){.from_ns = from_ns, .to_ns = to_ns}));
}

static int describe_chunk(struct source *s, const struct partial_chunk *c, u64 *covered_ns)
{
	int err = source_add_clock(s, c->clock.monotonic_ns, c->clock.unix_ns);

	s->view.lost.buffer += c->lost.buffer;
	s->view.lost.recursion += c->lost.recursion;
	s->view.lost.application += c->lost.application;
	s->view.lost.damaged += c->lost.damaged;
	s->view.incomplete += c->incomplete;
	names_join(s->missing, sizeof(s->missing), c->missing);
	err = err ? err : gap_add(s, *covered_ns, c->begin_ns);
	if (c->covers_ns > *covered_ns)
		*covered_ns = c->covers_ns;
	return err;
}

static int describe(struct source *s, const struct partial_file *file,
		    const struct partial_boot *boot)
{
	u64 covered_ns = first_chunk(boot)->begin_ns;
	int err = 0;

	source_name_boot(s, boot->boot_id);
	s->view.lost.damaged += file->illegible;
	for (size_t i = 0; i < boot->runs.count; i++)
		for (size_t k = 0; k < boot->runs.data[i]->chunks.count && !err; k++)
			err = describe_chunk(s, &boot->runs.data[i]->chunks.data[k], &covered_ns);
	return err ? err : source_describe(s);
}

/* ---- the answer ---- */

static int joined_take(struct source *s, const struct partial_terms *terms,
		       const struct partial_joined *joined, struct error *e)
{
	const struct partial_options range = {.from_ns = terms->from_ns, .to_ns = terms->to_ns};
	int err = range_check(&range, joined->from_ns, joined->end_ns, e);

	s->partial = joined->partial;
	s->recorded_ns = joined->recorded_ns;
	s->from_ns = terms->from_ns > joined->from_ns ? terms->from_ns : joined->from_ns;
	s->to_ns = terms->to_ns && terms->to_ns < joined->end_ns ? terms->to_ns : joined->end_ns;
	if (err)
		return err;
	err = partial_finish(s->partial);
	err = err ? err : partial_choose(s->partial);
	return err ? error_set(e, err, "cannot finish the answer") : 0;
}

static int boot_load(const struct source_options *o, struct partial_file *file,
		     struct partial_boot *boot, struct source *out, struct error *e)
{
	const struct partial_options options = {
		.spans = o->spans, .only = o->only, .hits = o->hits};
	struct partial_joined joined;
	struct error told = {0};
	int err = partial_file_join(file, boot, &options, &joined, &told);

	if (err) {
		*e = told;
		return err;
	}
	if (error_is_set(&told))
		notice_tell(&o->notice, "%s", told.text);
	err = joined_take(out, &file->terms, &joined, e);
	if (!err && (err = describe(out, file, boot)))
		error_set(e, err, "cannot describe the partial files");
	out->lacks_spans = o->spans && !file->terms.spans;
	return err;
}

struct loading {
	const struct source_options *o;
	struct partial_file *file;
	struct boot_times times;
	struct source_list *out;
};

/* Of several hosts, one without chunks in the range is left out. */
static int host_load(struct loading *l, size_t at, struct error *e)
{
	struct source *source = calloc(1, sizeof(*source));
	int err = source ? 0 : -ENOMEM;

	err = err ? err : vec_push(l->out, source);
	if (err) {
		free(source);
		return error_set(e, err, "cannot load partial files");
	}
	source->notice = l->o->notice;
	host_name(&l->times, at, source);
	err = boot_load(l->o, l->file, l->times.data[at].boot, source, e);
	if (!err)
		l->file->illegible = 0; /* it is of no host, and counts once */
	if (err != -ERANGE || hosts_count(&l->times) == 1)
		return err;
	l->out->count--;
	source_free(source);
	free(source);
	error_clear(e);
	return 0;
}

/* The latest boot of each host, or the earlier one that is asked for. */
static int hosts_load(struct loading *l, struct error *e)
{
	size_t earlier = (size_t)-l->o->boot;
	int err = 0;

	if (hosts_count(&l->times) > 1 && earlier)
		return error_misuse(e,
				    "--boot asks for an earlier boot of one host, and the partial "
				    "files are of several");
	if (earlier >= l->times.count)
		return error_say(e, ENOENT,
				 "there is no chunk of such an early boot; the earliest is --boot "
				 "%d",
				 1 - (int)l->times.count);
	if (earlier)
		return host_load(l, earlier, e);
	for (size_t i = 0; i < l->times.count && !err; i++)
		if (l->times.data[i].host == i)
			err = host_load(l, i, e);
	if (!err && !l->out->count)
		err = error_say(e, ERANGE, "no host has chunks in the range of the partial files");
	return err;
}

static int source_compare(const void *a, const void *b)
{
	return strcmp((*(struct source *const *)a)->host, (*(struct source *const *)b)->host);
}

/* Recordings give their own latest boot, which may be another one than that of the files. */
static int boot_check(const struct source_options *o, struct error *e)
{
	if (!o->boot)
		return 0;
	for (size_t i = 0; i < o->dirs_count; i++)
		if (!is_partial_path(o->dirs[i]))
			return error_misuse(e,
					    "--boot cannot count the boots of partial files and "
					    "of %s together: 'fathom map --boot' makes a partial "
					    "file of the recording",
					    o->dirs[i]);
	return 0;
}

int files_load(const struct source_options *o, struct source_list *out, bool *several,
	       struct error *e)
{
	struct loading l = {.o = o, .out = out};
	int err;

	if (o->from.kind || o->to.kind)
		return error_misuse(
			e, "the range of a partial file is chosen when its chunks are mapped: "
			   "give --from and --to to 'fathom map'");
	err = boot_check(o, e);
	err = err ? err : all_read(o, &l.file, e);
	if (err)
		return err;
	err = times_find(&l.times, l.file);
	if (err)
		error_set(e, err, "cannot load partial files");
	else
		err = hosts_load(&l, e);
	*several = hosts_count(&l.times) > 1;
	if (out->count)
		qsort(out->data, out->count, sizeof(*out->data), source_compare);
	vec_free(&l.times);
	partial_file_free(l.file);
	return err;
}
