/* SPDX-License-Identifier: Apache-2.0 */
#include "answer/checkpoints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "chunk/directory.h"
#include "map/checkpoint/checkpoint.h"

/* ---- places of checkpoints ---- */

/* The length of a path without trailing slashes; *name is the begin of its last name. */
static size_t path_length(const char *path, size_t *name)
{
	size_t len = strlen(path), at;

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (at = len; at > 0 && path[at - 1] != '/'; at--)
		;
	*name = at;
	return len;
}

static int place_get(struct checkpoints *checkpoints, const char *dir, size_t len,
		     struct checkpoint_place **found)
{
	struct checkpoint_place place = {.dir = strndup(dir, len)};
	int err = place.dir ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < checkpoints->places.count; i++) {
		*found = &checkpoints->places.data[i];
		if (strcmp((*found)->dir, place.dir) == 0) {
			free(place.dir);
			return 0;
		}
	}
	err = err ? err : vec_push(&checkpoints->places, place);
	if (err)
		free(place.dir);
	else
		*found = &checkpoints->places.data[checkpoints->places.count - 1];
	return err;
}

/* Adds the directory of a path: a path with the name of a chunk is in a recording, or alone. */
static int place_add(struct checkpoints *checkpoints, const char *path)
{
	char name[CHUNK_NAME_BYTES] = "";
	struct chunk_name chunk;
	struct checkpoint_place *place;
	size_t at, len = path_length(path, &at);
	int err;

	if (len - at < sizeof(name))
		memcpy(name, path + at, len - at);
	if (!chunk_name_parse(name, &chunk)) {
		err = place_get(checkpoints, path, len, &place);
		if (!err)
			place->whole = true;
		return err;
	}
	err = at ? place_get(checkpoints, path, at > 1 ? at - 1 : 1, &place)
		 : place_get(checkpoints, ".", 1, &place);
	return err ? err : bytes_map_put(&place->named, name, strlen(name), place);
}

/* If a directory, or a copy of it, is given twice, only one checkpoint is used. */
static void leave_out_known(struct checkpoints *checkpoints, size_t at)
{
	struct checkpoint_place *place = &checkpoints->places.data[at];

	for (size_t i = 0; i < at && place->checkpoint.data; i++) {
		struct checkpoint_place *other = &checkpoints->places.data[i];

		if (other->checkpoint.data && other->checkpoint.bytes == place->checkpoint.bytes &&
		    memcmp(other->checkpoint.data, place->checkpoint.data,
			   place->checkpoint.bytes) == 0)
			recording_checkpoint_free(place->whole ? &other->checkpoint
							       : &place->checkpoint);
	}
}

int checkpoints_open(struct checkpoints *checkpoints, const struct recording_checkpoint *given)
{
	int err = 0;

	checkpoints->given = given;
	for (size_t i = 0; !given && i < checkpoints->count && !err; i++)
		err = place_add(checkpoints, checkpoints->dirs[i]);
	for (size_t i = 0; i < checkpoints->places.count && !err; i++) {
		struct checkpoint_place *place = &checkpoints->places.data[i];
		struct error e = {0};

		err = recording_checkpoint_read(place->dir, NULL, &place->checkpoint, &e);
		leave_out_known(checkpoints, i);
		if (err && err != -ENOENT && err != -ENOTDIR && err != -ENOMEM)
			notice_tell(&checkpoints->notice, "%s", e.text);
		if (err != -ENOMEM)
			err = 0;
	}
	return err;
}

void checkpoints_close(struct checkpoints *checkpoints)
{
	for (size_t i = 0; i < checkpoints->places.count; i++) {
		free(checkpoints->places.data[i].dir);
		bytes_map_free(&checkpoints->places.data[i].named);
		recording_checkpoint_free(&checkpoints->places.data[i].checkpoint);
	}
	vec_free(&checkpoints->places);
}

/* ---- chunks after a checkpoint ---- */

/* Whether a chunk is of this directory; a given chunk may have been read from a copy. */
static bool lies_in(const char *path, const struct checkpoint_place *place)
{
	size_t len = strlen(place->dir);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return (strncmp(path, place->dir, len) == 0 && path[len] == '/') ||
	       bytes_map_get(&place->named, name, strlen(name));
}

/* Whether this chunk is the first one of a directory. */
static bool begins_in(const struct recording_info *info, size_t at,
		      const struct checkpoint_place *place)
{
	for (size_t i = 0; i < at; i++)
		if (lies_in(info->chunks[i].path, place))
			return false;
	return lies_in(info->chunks[at].path, place);
}

/* Whether the checkpoint replaces a chunk of its directory, or the chunk is of another boot. */
static bool is_stood_for(const struct checkpoint_place *place, const char *name)
{
	const struct chunk_info *info;
	struct chunk_reader *reader;
	char path[4096 + CHUNK_NAME_BYTES];
	bool stood_for;

	snprintf(path, sizeof(path), "%.4095s/%s", place->dir, name);
	if (chunk_reader_open(&reader, path, NULL))
		return false;
	info = chunk_reader_info(reader);
	stood_for = strcmp(info->boot_id, place->checkpoint.boot_id) != 0 ||
		    (info->end_ns && info->end_ns <= place->checkpoint.end_ns);
	chunk_reader_close(reader);
	return stood_for;
}

/* Whether a chunk before number `seq` is neither given nor replaced by the checkpoint. */
static bool leaves_out(const struct checkpoint_place *place, u64 seq)
{
	struct chunk_names names;
	bool left_out = false;

	if (chunk_names_list(place->dir, NULL, &names, NULL))
		return true;
	for (size_t i = 0; i < names.count && !left_out; i++) {
		const char *name = names.names[i].name;

		left_out = names.names[i].seq < seq &&
			   !bytes_map_get(&place->named, name, strlen(name)) &&
			   !is_stood_for(place, name);
	}
	chunk_names_free(&names);
	return left_out;
}

/* Whether it is of this boot, and no chunk of its directory is left out before the first one. */
static bool is_of(const struct checkpoint_place *place, const struct recording_info *info)
{
	const struct recording_checkpoint *checkpoint = &place->checkpoint;
	size_t at = 0;

	if (!checkpoint->data || strcmp(checkpoint->boot_id, info->boot_id) != 0)
		return false;
	if (place->whole)
		return true;
	while (at < info->chunk_count && (info->chunks[at].end_ns <= checkpoint->end_ns ||
					  !lies_in(info->chunks[at].path, place)))
		at++;
	return at < info->chunk_count && (info->chunks[at].begin_ns == checkpoint->end_ns ||
					  !leaves_out(place, info->chunks[at].seq));
}

/*
 * Whether a checkpoint fits before the chunk `at`. *next is the first chunk from there on that it
 * does not replace. It replaces only chunks of its directory.
 */
static bool checkpoint_fits(const struct checkpoint_place *place, const struct recording_info *info,
			    size_t at, size_t *next)
{
	size_t n = at;

	while (n < info->chunk_count && info->chunks[n].end_ns <= place->checkpoint.end_ns &&
	       lies_in(info->chunks[n].path, place))
		n++;
	if (n == info->chunk_count || info->chunks[n].begin_ns < place->checkpoint.end_ns)
		return false;
	*next = n;
	return true;
}

static void tell_unusable(const struct checkpoints *checkpoints, const char *dir, int err)
{
	notice_tell(&checkpoints->notice,
		    "the checkpoint of %s %s: names of files and processes seen only in chunks "
		    "that --keep deleted will be missing",
		    dir,
		    err == -EPROTO ? "was written by another version of fathom" : "is damaged");
}

/*
 * Makes a partial of a checkpoint. If it cannot be used, reports that and sets *out to NULL. 0 or
 * -ENOMEM.
 */
static int checkpoint_take(const struct checkpoints *checkpoints,
			   const struct recording_checkpoint *checkpoint, const char *dir,
			   struct partial_options options, struct partial **out)
{
	int err;

	*out = NULL;
	if (options.from_ns < checkpoint->end_ns)
		options.from_ns = checkpoint->end_ns;
	err = checkpoint_read(out, checkpoint->data, checkpoint->bytes, &options);
	if (err && err != -ENOMEM)
		tell_unusable(checkpoints, dir, err);
	return err == -ENOMEM ? err : 0;
}

/* The same for the checkpoint of a directory, which is dropped if it cannot be used. */
static int checkpoint_take_of(struct checkpoints *checkpoints, size_t i,
			      const struct partial_options *options, struct partial **out)
{
	struct checkpoint_place *place = &checkpoints->places.data[i];
	int err = checkpoint_take(checkpoints, &place->checkpoint, place->dir, *options, out);

	if (!err && !*out)
		recording_checkpoint_free(&place->checkpoint);
	return err;
}

static void tell_left_out(const struct checkpoints *checkpoints, const char *dir)
{
	notice_tell(&checkpoints->notice,
		    "the checkpoint of %s is not used, because other chunks overlap its time: "
		    "names of files and processes seen only in chunks that --keep deleted will be "
		    "missing",
		    dir);
}

/* Begins with the checkpoint of the caller; at least one chunk is left to be mapped. */
static int begin_with_given(struct checkpoints *checkpoints, const struct recording_info *info,
			    const struct partial_options *options, struct partial **out,
			    size_t *first)
{
	int err = checkpoint_take(checkpoints, checkpoints->given, "the recorder", *options, out);

	if (err || !*out)
		return err;
	while (*first + 1 < info->chunk_count &&
	       info->chunks[*first].end_ns <= checkpoints->given->end_ns)
		++*first;
	return 0;
}

int checkpoints_begin(struct checkpoints *checkpoints, const struct recording_info *info,
		      const struct partial_options *options, struct partial **out, size_t *first)
{
	struct partial *p = NULL;
	size_t next = 0;
	int err = checkpoints->given ? begin_with_given(checkpoints, info, options, &p, &next) : 0;

	for (checkpoints->begun = 0; checkpoints->begun < checkpoints->places.count;
	     checkpoints->begun++) {
		const struct checkpoint_place *place =
			&checkpoints->places.data[checkpoints->begun];

		if (!is_of(place, info) || !checkpoint_fits(place, info, 0, &next))
			continue;
		err = checkpoint_take_of(checkpoints, checkpoints->begun, options, &p);
		if (err)
			return err;
		if (p)
			break;
		next = 0;
	}
	if (err)
		return err;
	if (!p)
		p = partial_new(options);
	if (!p)
		return -ENOMEM;
	*out = p;
	*first = next;
	return 0;
}

/* Merges `checkpoint`, and frees it in any case. */
static int checkpoint_join(struct partial *into, struct partial *checkpoint, u64 covered_ns,
			   u64 at_ns)
{
	int err = checkpoint_follow(checkpoint, covered_ns, at_ns);

	if (err) {
		partial_free(checkpoint);
		return err;
	}
	return partial_merge(into, checkpoint);
}

int checkpoints_insert(struct checkpoints *checkpoints, const struct recording_info *info,
		       struct partial *into, struct answer_reach *reach)
{
	for (size_t i = 0; i < checkpoints->places.count; i++) {
		const struct checkpoint_place *place = &checkpoints->places.data[i];
		struct partial *p = NULL;
		size_t next = reach->next;
		bool fits;
		int err;

		if (i == checkpoints->begun || !place->checkpoint.data ||
		    !begins_in(info, reach->next, place) || !is_of(place, info))
			continue;
		fits = checkpoint_fits(place, info, reach->next, &next);
		err = checkpoint_take_of(checkpoints, i, &into->options, &p);
		if (err)
			return err;
		if (!p)
			continue;
		if (!fits || p->from_ns < reach->covered_ns) {
			partial_free(p);
			tell_left_out(checkpoints, place->dir);
			continue;
		}
		err = checkpoint_join(into, p, reach->covered_ns, place->checkpoint.end_ns);
		if (err)
			return err;
		*reach = (struct answer_reach){next, place->checkpoint.end_ns};
		return 0;
	}
	return 0;
}
