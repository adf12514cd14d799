/* SPDX-License-Identifier: Apache-2.0 */
/* The inner structure of a chunk writer, shared by writer.c, stream_write.c and seal.c. */
#ifndef CHUNK_WRITER_H
#define CHUNK_WRITER_H

#include "chunk/chunk.h"
#include "chunk/encode.h"
#include "chunk/format.h"
#include "chunk/manifest.h"
#include "chunk/window.h"

struct chunk_stream {
	struct chunk_writer *writer;
	struct chunk_stream *next; /* of the writer */
	enum chunk_stream_kind kind;
	uint32_t number;
	char name[CHUNK_FILE_NAME_BYTES];
	struct window window;
	struct packet packet;
	bool in_packet;
	u16 cpu;	      /* of the packet */
	uint64_t advanced_ns; /* nothing older may be encoded */
	uint64_t encoded_ns;  /* time of the last event or end of packet */
	uint64_t packets;     /* in the file */
	uint64_t discarded;
	uint64_t unwritten;	     /* lost records that no `lost` record in the file counts */
	uint64_t unwritten_since_ns; /* begin of the losses that no `lost` record in the packet
					counts, either */
	uint64_t told;		     /* of these, those in `lost` records of the packet */
	uint32_t tellers;	     /* number of these `lost` records */
	uint64_t doubt_since_ns;     /* begin of the losses in the packet's `lost` records */
	struct manifest_file file;   /* contents of the file */
	struct packet_head last;     /* head of the last packet in the file */
	uint64_t packet_records_before;
};

struct chunk_writer {
	char recording[4096];		    /* directory of the chunks */
	char path[4096 + CHUNK_NAME_BYTES]; /* of the open chunk */
	int parent;			    /* descriptor of the recording */
	int dir;
	bool compress;
	bool sync;
	bool is_cut;
	bool is_sealed;
	struct chunk_info info;
	uint64_t end_unix_ns; /* begin of the next chunk by its clock; 0: no next chunk */
	struct manifest_file metadata;
	struct chunk_stream *streams; /* in the order in which they were made */
	struct chunk_stream **last_stream;
	struct chunk_stream *late;
	struct chunk_stream *life;
	struct chunk_stream
		*shared;   /* the last program stream, which further programs share; else NULL */
	uint32_t programs; /* number of programs with a stream */
	int write_err;	   /* error of the first failed write since the last flush */
};

/* ---- stream_write.c ---- */

/* Begins a packet: 0 or -ENOMEM. */
int chunk_stream_begin(struct chunk_stream *stream, u16 cpu);

/* Ends the packet at end_ns, or at its last event if that is later, and writes it. */
int chunk_stream_write(struct chunk_stream *stream, uint64_t end_ns);

/* Counts records as lost, for which disk or memory had no room; the oldest is of since_ns. */
void chunk_stream_lose(struct chunk_stream *stream, uint64_t count, uint64_t since_ns);

/* Writes `unwritten` as a `lost` record. It is cleared once this record is in the file. */
void chunk_stream_tell(struct chunk_stream *stream, uint64_t time_ns);

/*
 * Adds to the discarded events of the last packet in the file, in place, which needs no space. Also
 * a negative errno if it is the only packet, since CTF readers use the difference to the previous
 * one.
 */
int chunk_stream_discard(struct chunk_stream *stream, uint64_t count);

/* Encodes the records that are older than up_to_ns. */
void chunk_stream_encode(struct chunk_stream *stream, uint64_t up_to_ns);

/* ---- writer.c and seal.c ---- */

/* Converts monotonic time to Unix time, by the clock of the chunk. */
uint64_t chunk_unix_ns(const struct chunk_info *info, uint64_t monotonic_ns);

/* Frees a stream; its file stays. */
void chunk_stream_free(struct chunk_stream *stream);

#endif
