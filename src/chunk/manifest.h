/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest of a chunk: what it is and which files it has. Text, a line for
 * each key, at most MANIFEST_MAX_BYTES:
 *
 *   fathom_chunk=3                the contract's version
 *   identity=<32 hex digits>
 *   host=<name>
 *   boot=<boot id>
 *   seq=<number>
 *   begin_ns=  begun_ns=  complete_ns=  end_ns=
 *   late_ns=                      only if it is before begin_ns
 *   cpus=                         only if so many CPUs have a stream from the begin on
 *   cpu_list=                     which, as "0,2-3"; only if they are not 0 .. cpus - 1. Who does
 *                                 not know this key takes them for these
 *   missing=                      only if the recorder had to do without some tracepoints: their
 *                                 names, separated by commas
 *   filters=                      only if something was left out on request: FILTER_*
 *   clock=<monotonic_ns> <unix_ns> <boottime_ns> <error_ns>
 *   state=open|sealed|recovered
 *   events=<CTF events in all files>
 *   lost=<buffer> <recursion> <application> <damaged>
 *   incomplete=<fields>
 *   file=<name> <bytes> <crc32c, 8 hex digits> <records> <events>
 *                                 for each file but the manifest; `records` are
 *                                 the events that are not rows of tables
 *   checksum=<crc32c of all before this line, 8 hex digits>
 *
 * Unknown keys are skipped. Valid: the checksum is right, every key up to
 * `incomplete` is there, and no file twice. It is replaced by rename, so a crash leaves an old one
 * or a new one.
 */
#ifndef CHUNK_MANIFEST_H
#define CHUNK_MANIFEST_H

#include "chunk/chunk.h"

#define MANIFEST_MAX_BYTES (16u << 20)
#define MANIFEST_NAME ".manifest" /* hidden: CTF readers take any other file for a stream */
#define METADATA_NAME "metadata"
#define RECOVERED_NEW ".recovered.new" /* a stream, while recovery closes its holes */
#define CHUNK_FILE_NAME_BYTES 32

struct manifest_file {
	char name[CHUNK_FILE_NAME_BYTES];
	uint64_t bytes;
	uint32_t crc;
	uint64_t records;
	uint64_t events;
};

struct manifest {
	struct chunk_info info; /* .path and .bytes are not in the text */
	struct manifest_file *files;
	size_t file_count;
};

/* Writes it in the directory and, if `sync`, fsyncs it. */
int manifest_write(int dir, const struct manifest *manifest, bool sync, struct error *e);

/*
 * Reads it. -ENOENT if there is none, -EBADMSG if it is not valid,
 * -EPROTO if it is of another version of the contract. Free the
 * result with manifest_free(). info.bytes becomes the sum of the files.
 */
int manifest_read(int dir, struct manifest *manifest, struct error *e);

void manifest_free(struct manifest *manifest);

/* Counts a `lost` record by its class. */
void chunk_lost_add(struct chunk_lost *lost, const struct record_lost *record);

/* Is this the name of a stream's file? */
bool chunk_file_is_stream(const char *name);
bool chunk_file_is_compressed(const char *name);

/* These have a stream from the begin on. */
void chunk_cpus_set(struct chunk_info *info, const char *list);

#endif
