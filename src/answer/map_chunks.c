/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/map_chunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer/describe.h"
#include "answer/mapper.h"
#include "answer/range.h"
#include "chunk/directory.h"

struct mapping {
	const struct source_options *o;
	const struct partial_terms *terms; /* borrowed; NULL: those that the options give */
	struct recording *recording;	   /* of a host; borrowed */
	struct partial_file *file;
	VEC(struct leaf) leaves;
	u64 bytes, done_bytes; /* of the chunks */
	bool last_try;	       /* a chunk that goes meanwhile is left out */
};

/* ---- the terms ---- */

/* The path is that of a recording, not of a chunk: its length without slashes at its end, or 0. */
static size_t recording_length(const char *path)
{
	char name[CHUNK_NAME_BYTES] = "";
	struct chunk_name chunk;
	size_t len = strlen(path), at;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (at = len; at > 0 && path[at - 1] != '/'; at--)
		;
	if (len - at < sizeof(name))
		memcpy(name, path + at, len - at);
	return chunk_name_parse(name, &chunk) ? 0 : len;
}

/* Whether only chunks are named, of which any may lie outside of the range. */
static bool names_chunks(const struct source_options *o)
{
	for (size_t i = 0; i < o->dirs_count; i++)
		if (recording_length(o->dirs[i]))
			return false;
	return true;
}

static struct partial_terms terms_of(const struct mapping *m)
{
	const struct recording_info *info = recording_info(m->recording);

	if (m->terms)
		return *m->terms;
	return (struct partial_terms){.spans = m->o->spans,
				      .from_ns = range_point(&m->o->from, info),
				      .to_ns = range_point(&m->o->to, info)};
}

static int terms_check(const struct mapping *m, const struct partial_terms *terms, size_t hosts,
		       struct error *e)
{
	const struct partial_options range = {.from_ns = terms->from_ns, .to_ns = terms->to_ns};
	const struct recording_info *info = recording_info(m->recording);

	if (!range.from_ns && !range.to_ns)
		return 0;
	if (hosts > 1)
		return error_misuse(e,
				    "--from and --to are points of a host's clock, and the "
				    "recordings are of %zu hosts: map each host alone",
				    hosts);
	if (m->terms)
		return 0;
	if (names_chunks(m->o))
		return range_check(&range, 0, UINT64_MAX, e);
	return range_check(&range, info->begin_ns, info->end_ns, e);
}

static int file_make(struct mapping *m, size_t hosts, struct error *e)
{
	const struct partial_terms terms = terms_of(m);
	int err = terms_check(m, &terms, hosts, e);

	if (err)
		return err;
	m->file = partial_file_new(&terms);
	if (!m->file)
		return error_set(e, ENOMEM, "cannot map the recording");
	return 0;
}

/* ---- chunks ---- */

/* Takes what came of a chunk. -ESTALE: it was deleted meanwhile. */
static int chunk_take(struct mapping *m, const struct chunk_info *info, struct leaf_mapped *mapped,
		      struct error *e)
{
	const struct chunk_lost unread = {.damaged = info->records};
	const struct chunk_lost *lost = mapped->err ? &unread : &mapped->found.lost;
	const char *damage = mapped->err ? mapped->why.text : mapped->found.damage;

	if (mapped->err == -ENOMEM) {
		*e = mapped->why;
		return -ENOMEM;
	}
	if (*damage && chunk_is_gone(info)) {
		partial_free(mapped->partial);
		return m->last_try ? 0 : -ESTALE;
	}
	if (*damage)
		notice_tell(&m->o->notice, "%s", damage);
	return partial_file_add(m->file, info, lost, mapped->partial, e);
}

static void progress_tell(struct mapping *m, const struct chunk_info *chunk)
{
	m->done_bytes += chunk->bytes;
	if (m->o->progress.tell)
		m->o->progress.tell(m->o->progress.arg, m->done_bytes, m->bytes);
}

static int leaves_map(struct mapping *m, struct error *e)
{
	const struct partial_options options = partial_file_options(m->file);
	struct mapper *mapper = NULL;
	int err = mapper_open(&mapper, m->leaves.data, m->leaves.count, &options, m->o->threads);

	if (err)
		error_set(e, err, "cannot map the recording");
	for (size_t i = 0; i < m->leaves.count && !err; i++) {
		struct leaf_mapped mapped;

		mapper_take(mapper, i, 0, &mapped);
		err = chunk_take(m, m->leaves.data[i].chunk, &mapped, e);
		progress_tell(m, m->leaves.data[i].chunk);
	}
	mapper_close(mapper);
	return err;
}

/* ---- checkpoints ---- */

/* Whether the checkpoint of that recording stands for the chunk, which a crash left there. */
static bool stands_for(const struct recording_checkpoint *checkpoint, const char *dir, size_t len,
		       const struct chunk_info *chunk)
{
	return checkpoint->data && strncmp(chunk->path, dir, len) == 0 && chunk->path[len] == '/' &&
	       strcmp(chunk->boot_id, checkpoint->boot_id) == 0 &&
	       chunk->end_ns <= checkpoint->end_ns;
}

/* All chunks but those that the checkpoint of their recording stands for. */
static int leaves_find(struct mapping *m, const struct recording_checkpoint *checkpoints)
{
	const struct recording_info *info = recording_info(m->recording);
	int err = 0;

	for (size_t i = 0; i < info->chunk_count && !err; i++) {
		const struct chunk_info *chunk = &info->chunks[i];
		bool stood_for = false;

		for (size_t k = 0; k < m->o->dirs_count && !stood_for; k++)
			stood_for = stands_for(&checkpoints[k], m->o->dirs[k],
					       recording_length(m->o->dirs[k]), chunk);
		if (chunk->begin_ns >= chunk->end_ns) {
			notice_tell(&m->o->notice,
				    "%s does not say when it was recorded: it is left out",
				    chunk->path);
			m->file->illegible++;
		} else if (!stood_for) {
			m->bytes += chunk->bytes;
			err = vec_push(&m->leaves, ((struct leaf){chunk, 0}));
		}
	}
	return err;
}

static int checkpoint_read_of(struct mapping *m, const char *path,
			      struct recording_checkpoint *checkpoint)
{
	struct error why = {0};
	int err = recording_length(path) ? recording_checkpoint_read(path, NULL, checkpoint, &why)
					 : -ENOENT;

	if (err && err != -ENOENT && err != -ENOTDIR && err != -ENOMEM)
		notice_tell(&m->o->notice, "%s", why.text);
	return err == -ENOMEM ? err : 0;
}

/* Once the chunks are there: those of their boot. */
static int checkpoints_add(struct mapping *m, const struct recording_checkpoint *checkpoints)
{
	int err = 0;

	for (size_t i = 0; i < m->o->dirs_count && !err; i++)
		if (checkpoints[i].data)
			err = partial_file_add_checkpoint(m->file, &checkpoints[i]);
	return err;
}

/* ---- the whole ---- */

static int host_map(struct mapping *m, const struct recording_checkpoint *checkpoints,
		    struct error *e)
{
	int err;

	m->file->illegible += recording_info(m->recording)->illegible;
	m->leaves.count = 0;
	err = leaves_find(m, checkpoints);
	if (err)
		return error_set(e, err, "cannot map the recording");
	err = leaves_map(m, e);
	if (!err && (err = checkpoints_add(m, checkpoints)))
		error_set(e, err, "cannot map the recording");
	return err;
}

static int hosts_map(struct mapping *m, const struct recording_set *set, struct error *e)
{
	const struct source_options *o = m->o;
	struct recording_checkpoint *checkpoints = calloc(o->dirs_count, sizeof(*checkpoints));
	int err = checkpoints ? 0 : -ENOMEM;

	for (size_t i = 0; i < o->dirs_count && !err; i++)
		err = checkpoint_read_of(m, o->dirs[i], &checkpoints[i]);
	if (err)
		error_set(e, err, "cannot map the recording");
	for (size_t i = 0; i < set->count && !err; i++) {
		m->recording = set->data[i];
		err = host_map(m, checkpoints, e);
	}
	if (!err && !partial_file_chunks(m->file))
		err = error_say(e, ENOENT, "there is no chunk in %s that can be mapped",
				o->dirs[0]);
	for (size_t i = 0; i < o->dirs_count && checkpoints; i++)
		recording_checkpoint_free(&checkpoints[i]);
	free(checkpoints);
	vec_free(&m->leaves);
	return err;
}

static int map_once(struct mapping *m, struct error *e)
{
	const struct source_options *o = m->o;
	const struct recording_options reading = {
		.boot = o->boot, .damage = o->notice.tell, .arg = o->notice.arg};
	struct recording_set set;
	int err = recording_set_open(
		&set, &(struct recording_query){o->dirs, o->dirs_count, &reading}, e);

	if (err)
		return err;
	m->recording = set.data[0];
	err = file_make(m, set.count, e);
	err = err ? err : hosts_map(m, &set, e);
	recording_set_close(&set);
	return err;
}

static int map_all(const struct source_options *o, const struct partial_terms *terms,
		   struct partial_file **out, struct error *e)
{
	int err = -ESTALE;

	for (int again = SOURCE_READ_AGAIN; err == -ESTALE && again >= 0; again--) {
		struct mapping m = {.o = o, .terms = terms, .last_try = !again};

		error_clear(e);
		err = map_once(&m, e);
		if (err)
			partial_file_free(m.file);
		else
			*out = m.file;
	}
	return err;
}

int chunks_map_to_file(const struct source_options *options, struct partial_file **out,
		       struct error *e)
{
	return map_all(options, NULL, out, e);
}

int chunks_map_alike(const struct source_options *options, const struct partial_terms *terms,
		     struct partial_file **out, struct error *e)
{
	return map_all(options, terms, out, e);
}
