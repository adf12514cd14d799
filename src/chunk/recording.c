/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of one boot of one host, joined by time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/vec.h"
#include "chunk/boots.h"
#include "chunk/directory.h"
#include "chunk/reader.h"
#include "chunk/writer.h"

#define RECORD_FIRST                                                                               \
	"record something first ('fathom record'), or name the directory of a recording"

struct recording {
	struct recording_info info;
	VEC(struct chunk_info) chunks;
	struct bytes_map paths, identities; /* a set: identities of the chunks */
	VEC(struct recording_gap) gaps;
	struct recording_options options;
	char host[RECORDING_HOST_BYTES];
	char open_in[4096]; /* directory with an open chunk that was left out */
};

/* ---- choosing chunks ---- */

static void tell_damage(struct recording *r, const char *text)
{
	if (r->options.damage)
		r->options.damage(r->options.arg, text);
}

static const uint8_t no_identity[16];

static bool has_identity(const struct chunk_info *info)
{
	return memcmp(info->identity, no_identity, sizeof(no_identity)) != 0;
}

static bool is_known(const struct recording *r, const struct chunk_info *info)
{
	return bytes_map_get(&r->paths, info->path, strlen(info->path)) ||
	       (has_identity(info) &&
		bytes_map_get(&r->identities, info->identity, sizeof(info->identity)));
}

static int remember(struct recording *r, const struct chunk_info *info)
{
	int err = bytes_map_put(&r->paths, info->path, strlen(info->path), r);

	if (!err && has_identity(info))
		err = bytes_map_put(&r->identities, info->identity, sizeof(info->identity), r);
	return err ? err : vec_push(&r->chunks, *info);
}

/* A chunk that retention has deleted meanwhile is not damaged. */
static bool is_gone(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 && errno == ENOENT;
}

static void tell_what_is_damaged(struct recording *r, struct chunk_reader *reader)
{
	if (!r->options.with_open)
		return;
	chunk_reader_check_files(reader);
	if (chunk_reader_damage(reader) && !is_gone(chunk_reader_info(reader)->path))
		tell_damage(r, chunk_reader_damage(reader));
}

/* It has no time: there is no manifest, no metadata, no packet. */
static bool is_illegible(const struct chunk_info *info)
{
	return !info->clock.unix_ns && !info->boot_id[0];
}

static void count_damaged(struct recording *r, const char *text)
{
	tell_damage(r, text);
	r->info.lost.damaged++;
	r->info.illegible++;
}

/* Without a manifest the facts are found by reading. */
static int add_opened(struct recording *r, struct chunk_reader *reader, bool growing,
		      struct error *e)
{
	int err = 0;

	if (is_known(r, chunk_reader_info(reader)))
		return 0;
	if (chunk_reader_damage(reader) && is_gone(chunk_reader_info(reader)->path))
		return 0;
	if (!growing && !chunk_reader_has_sums(reader))
		err = chunk_reader_measure(reader, e);
	if (!err && !growing && !r->options.with_open && is_illegible(chunk_reader_info(reader))) {
		count_damaged(r, chunk_reader_damage(reader));
		return 0;
	}
	if (!err && !growing)
		tell_what_is_damaged(r, reader);
	if (!err && !is_known(r, chunk_reader_info(reader)))
		err = remember(r, chunk_reader_info(reader));
	return err;
}

/*
 * Fails only if out of memory: a chunk that cannot be read counts as damaged. A chunk that was
 * `listed` may have been deleted since then.
 */
static int add_chunk(struct recording *r, const char *path, bool growing, bool listed,
		     struct error *e)
{
	struct chunk_reader *reader;
	struct error why = {0};
	int err = chunk_reader_open(&reader, path, &why);

	if (err == -ENOMEM)
		return error_set(e, err, "cannot open %s", path);
	if (err && listed && is_gone(path))
		return 0;
	if (err) {
		count_damaged(r, why.text);
		return 0;
	}
	err = add_opened(r, reader, growing, e);
	chunk_reader_close(reader);
	return err ? error_set(e, err, "cannot open %s", path) : 0;
}

static bool looks_like_chunk(const char *path)
{
	char file[4096 + 16];
	struct chunk_name name;
	const char *end = path + strlen(path), *begin;
	char last[CHUNK_NAME_BYTES];
	struct stat st;

	while (end > path && end[-1] == '/')
		end--;
	for (begin = end; begin > path && begin[-1] != '/'; begin--)
		;
	snprintf(last, sizeof(last), "%.*s", (int)(end - begin), begin);
	if (chunk_name_parse(last, &name))
		return true;
	snprintf(file, sizeof(file), "%.4090s/" MANIFEST_NAME, path);
	return stat(file, &st) == 0;
}

/* Counts the open chunks of a directory that are read, and those that are left out. */
struct open_chunks {
	bool written;
	size_t read, left_out;
};

static void open_chunks_tell(struct recording *r, const char *dir, const struct open_chunks *open)
{
	char text[4096 + 96];

	if (open->left_out && !r->open_in[0])
		snprintf(r->open_in, sizeof(r->open_in), "%.4095s", dir);
	if (!open->read || r->options.with_open)
		return;
	snprintf(text, sizeof(text),
		 "%.4096s: %zu chunk%s that a crash left open %s read up to the last whole packet",
		 dir, open->read, open->read == 1 ? "" : "s", open->read == 1 ? "is" : "are");
	tell_damage(r, text);
}

/* A later chunk has a higher number or, if the numbers began again, a later begin. */
static bool is_newer(const struct recording_options *o, const struct chunk_name *name)
{
	const char *slash = o->after ? strrchr(o->after, '/') : NULL;
	struct chunk_name after;

	if (!o->after || name->open || !chunk_name_parse(slash ? slash + 1 : o->after, &after))
		return true;
	return name->seq > after.seq || name->begin_unix_ns > after.begin_unix_ns;
}

static int add_directory(struct recording *r, const char *dir, struct error *e)
{
	struct open_chunks open = {0};
	struct chunk_names names;
	int err;

	if (looks_like_chunk(dir))
		return add_chunk(r, dir, false, false, e);
	err = chunk_names_list(dir, NULL, &names, e);
	if (err == -EACCES)
		error_hint(e, "run this as the user who recorded, or as root");
	else if (err == -ENOENT || err == -ENOTDIR)
		error_hint(e, RECORD_FIRST);
	if (err)
		return err;
	open.written = recording_is_written(dir);
	for (size_t i = 0; i < names.count && !err; i++) {
		char path[4096 + CHUNK_NAME_BYTES];

		if (!is_newer(&r->options, &names.names[i]))
			continue;
		if (names.names[i].open && !r->options.with_open &&
		    (open.written || r->options.only_sealed)) {
			open.left_out++;
			continue;
		}
		open.read += names.names[i].open;
		snprintf(path, sizeof(path), "%s/%s", dir, names.names[i].name);
		err = add_chunk(r, path, names.names[i].open && open.written, true, e);
	}
	chunk_names_free(&names);
	open_chunks_tell(r, dir, &open);
	return err;
}

/* ---- sorting chunks ---- */

static int compare_monotonic(const void *a, const void *b)
{
	const struct chunk_info *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return memcmp(x->identity, y->identity, sizeof(x->identity));
}

/* Takes over the chunks of one boot. 0 or -ENOMEM. */
static int boot_take(struct recording *r, struct recording *all, const struct boots *boots,
		     uint32_t boot)
{
	int err = 0;

	if (boots->list.count == 1) /* there can be thousands of chunks */
		err = vec_move(&r->chunks, &all->chunks);
	for (size_t i = 0; i < all->chunks.count && !err; i++)
		if (boots->of[i] == boot)
			err = vec_push(&r->chunks, all->chunks.data[i]);
	if (r->chunks.count)
		qsort(r->chunks.data, r->chunks.count, sizeof(*r->chunks.data), compare_monotonic);
	return err;
}

uint64_t chunk_covers_to(const struct chunk_info *chunk)
{
	if (chunk->state == CHUNK_SEALED || chunk->complete_ns >= chunk->end_ns)
		return chunk->end_ns;
	return chunk->complete_ns > chunk->begin_ns ? chunk->complete_ns : chunk->begin_ns;
}

static int gaps_find(struct recording *r)
{
	uint64_t covered = r->chunks.data[0].begin_ns;

	r->gaps.count = 0;
	for (size_t i = 0; i < r->chunks.count; i++) {
		const struct chunk_info *chunk = &r->chunks.data[i];
		const struct recording_gap gap = {covered, chunk->begin_ns};

		if (gap.from_ns < gap.to_ns && vec_push(&r->gaps, gap))
			return -ENOMEM;
		if (chunk_covers_to(chunk) > covered)
			covered = chunk_covers_to(chunk);
	}
	r->info.gaps = r->gaps.data;
	r->info.gap_count = r->gaps.count;
	return 0;
}

bool recording_overlap(const struct recording *r, const struct chunk_info *pair[2])
{
	const struct chunk_info *last = NULL; /* with the latest end so far */

	for (size_t i = 0; i < r->chunks.count; i++) {
		const struct chunk_info *chunk = &r->chunks.data[i];

		if (!chunk->begin_ns) /* it is damaged, and its time is unknown */
			continue;
		if (last && chunk->begin_ns < chunk_covers_to(last) &&
		    chunk->begun_ns < chunk_covers_to(last)) {
			pair[0] = last;
			pair[1] = chunk;
			return true;
		}
		if (!last || chunk_covers_to(chunk) > chunk_covers_to(last))
			last = chunk;
	}
	return false;
}

static int summarize(struct recording *r, struct error *e)
{
	struct recording_info *info = &r->info;

	if (!r->chunks.data)
		return error_say(e, ENOENT, "there is no chunk");
	for (size_t i = 0; i < r->chunks.count; i++) {
		const struct chunk_info *chunk = &r->chunks.data[i];

		if (chunk->end_ns > info->end_ns)
			info->end_ns = chunk->end_ns;
		info->lost.buffer += chunk->lost.buffer;
		info->lost.recursion += chunk->lost.recursion;
		info->lost.application += chunk->lost.application;
		info->lost.damaged += chunk->lost.damaged;
		info->incomplete += chunk->incomplete;
	}
	info->chunks = r->chunks.data;
	info->chunk_count = r->chunks.count;
	info->begin_ns = r->chunks.data[0].begin_ns;
	info->boot_id = r->chunks.data[0].boot_id;
	snprintf(r->host, sizeof(r->host), "%s", r->chunks.data[0].host);
	info->host = r->host;
	return gaps_find(r) ? error_set(e, ENOMEM, "cannot open the recording") : 0;
}

int recording_pass_over(struct recording *r, size_t at, size_t count)
{
	struct recording_info *info = &r->info;

	for (size_t i = at; i < at + count; i++) {
		const struct chunk_info *chunk = &r->chunks.data[i];

		info->lost.buffer -= chunk->lost.buffer;
		info->lost.recursion -= chunk->lost.recursion;
		info->lost.application -= chunk->lost.application;
		info->lost.damaged -= chunk->lost.damaged;
		info->incomplete -= chunk->incomplete;
	}
	r->chunks.count -= count;
	memmove(r->chunks.data + at, r->chunks.data + at + count,
		(r->chunks.count - at) * sizeof(*r->chunks.data));
	info->chunk_count = r->chunks.count;
	return count ? gaps_find(r) : 0;
}

/* All chunks of the directories, of any boot. */
static int chunks_collect(struct recording *r, const char *const *dirs, size_t count,
			  struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = add_directory(r, dirs[i], e);
	if (err || r->chunks.count)
		return err;
	if (r->open_in[0])
		return error_say(e, ENOENT,
				 "there is no sealed chunk in %s yet: run 'fathom rotate' to seal "
				 "the chunk that is being written",
				 r->open_in);
	if (r->info.lost.damaged)
		return error_say(e, ENOENT, "no chunk in %s can be read", dirs[0]);
	return error_say(e, ENOENT, "there is no chunk in %s; " RECORD_FIRST,
			 count ? dirs[0] : "nothing");
}

/* Makes a recording of one of the boots. Damage that is of no boot is counted in the first one. */
static int recording_of_boot(struct recording_set *set, struct recording *all,
			     const struct boots *boots, uint32_t boot)
{
	struct recording *r = calloc(1, sizeof(*r));
	int err = r ? boot_take(r, all, boots, boot) : -ENOMEM;

	if (!err) {
		r->options = all->options;
		r->info = all->info;
		all->info = (struct recording_info){0};
		err = summarize(r, NULL);
	}
	if (!err)
		err = vec_push(set, r);
	if (err)
		recording_close(r);
	return err;
}

/* Tells hosts of one name apart. */
static void namesakes_name(struct recording_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const char *name = set->data[i]->chunks.data[0].host;
		bool namesake = false;

		for (size_t other = 0; other < set->count && !namesake; other++)
			namesake = other != i &&
				   strcmp(set->data[other]->chunks.data[0].host, name) == 0;
		if (namesake)
			snprintf(set->data[i]->host, sizeof(set->data[i]->host), "%s@%.8s", name,
				 set->data[i]->info.boot_id);
	}
}

static int compare_hosts(const void *a, const void *b)
{
	const struct recording_info *x = &(*(struct recording *const *)a)->info;
	const struct recording_info *y = &(*(struct recording *const *)b)->info;
	int names = strcmp(x->host, y->host);

	return names ? names : strcmp(x->boot_id, y->boot_id);
}

static int boot_check(const struct boots *boots, int boot, bool every_host, struct error *e)
{
	if (boot && every_host && boots->hosts > 1)
		return error_misuse(
			e, "--boot is for the recordings of one host, and these are of %u hosts",
			boots->hosts);
	if ((size_t)-boot >= boots->list.count)
		return error_say(e, ENOENT,
				 "there is no chunk of that boot; the earliest is --boot %d",
				 1 - (int)boots->list.count);
	return 0;
}

static int set_make(struct recording_set *set, struct recording *all, bool every_host,
		    struct error *e)
{
	struct boots boots = {0};
	int boot = all->options.boot, err = boots_find(&boots, all->chunks.data, all->chunks.count);

	if (err)
		error_set(e, err, "cannot open the recording");
	else
		err = boot_check(&boots, boot, every_host, e);
	if (!err && (boot || !every_host)) {
		err = recording_of_boot(set, all, &boots, (uint32_t)-boot);
	} else {
		for (uint32_t host = 0; host < boots.hosts && !err; host++)
			err = recording_of_boot(set, all, &boots, boots_latest(&boots, host));
	}
	boots_free(&boots);
	namesakes_name(set);
	if (set->count)
		qsort(set->data, set->count, sizeof(*set->data), compare_hosts);
	return err && !error_is_set(e) ? error_set(e, err, "cannot open the recording") : err;
}

static int set_open(struct recording_set *set, const struct recording_query *query, bool every_host,
		    struct error *e)
{
	struct recording *all = calloc(1, sizeof(*all));
	int err;

	*set = (struct recording_set){0};
	if (!all)
		return error_set(e, ENOMEM, "cannot open the recording");
	if (query->options)
		all->options = *query->options;
	err = chunks_collect(all, query->dirs, query->count, e);
	if (!err)
		err = set_make(set, all, every_host, e);
	recording_close(all);
	if (err)
		recording_set_close(set);
	return err;
}

int recording_set_open(struct recording_set *set, const struct recording_query *query,
		       struct error *e)
{
	return set_open(set, query, true, e);
}

void recording_set_close(struct recording_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		recording_close(set->data[i]);
	vec_free(set);
}

int recording_open(struct recording **recording, const char *const *dirs, size_t count,
		   const struct recording_options *options, struct error *e)
{
	struct recording_set set;
	int err = set_open(&set, &(struct recording_query){dirs, count, options}, false, e);

	if (err)
		return err;
	*recording = set.data[0];
	vec_free(&set);
	return 0;
}

const struct recording_info *recording_info(const struct recording *r)
{
	return &r->info;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	vec_free(&r->chunks);
	bytes_map_free(&r->paths);
	bytes_map_free(&r->identities);
	vec_free(&r->gaps);
	free(r);
}
