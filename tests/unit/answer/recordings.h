/* SPDX-License-Identifier: Apache-2.0 */
/* Makes recordings for the tests of answers, and changes them while they are read. */
#ifndef TESTS_UNIT_ANSWER_RECORDINGS_H
#define TESTS_UNIT_ANSWER_RECORDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "record/record.h"

#define MS 1000000ull
#define BOOT "00000000-0000-0000-0000-000000000001"

/* The properties of the next chunks. */
extern const char *chunk_boot, *chunk_host;
extern u64 chunk_clock_ns; /* how much Unix time is ahead of their monotonic clock */

/*
 * Writes a chunk of [begin_ns, end_ns) in which a thread, which is its process, is named (not,
 * if comm is ""), makes a short call, and goes to sleep 2 ms behind the begin.
 */
void chunk_write(const char *dir, u64 begin_ns, u64 end_ns, const char *comm, u32 tid);

/* Writes a chunk with which a recorder begins: its thread has been asleep for long. */
void snapshot_write(const char *dir, u64 begin_ns, u64 end_ns, u32 tid);

/* Writes a chunk with what came late from the one before. */
void late_write(const char *dir, u64 begin_ns);

/* The path of a chunk of a recording, by the order of time. */
void chunk_path(const char *dir, size_t at, char path[4096]);

/*
 * Does what retention does with the first chunk of a recording: the checkpoint stands for it. It
 * does not go if a crash comes then.
 */
void first_is_absorbed(const char *dir, bool goes);
void first_goes(const char *dir);

/* Calls `happen` once, when a stream of that chunk is about to be opened, by any thread. */
void when_read(const char *chunk, void (*happen)(void *arg), void *arg);

/* The first chunk goes when it is read, so many times; and how many of these are left. */
void first_goes_when_read(const char *dir, int times);
int first_goes_left(void);

#endif
