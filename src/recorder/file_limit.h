/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDER_FILE_LIMIT_H
#define RECORDER_FILE_LIMIT_H

/*
 * From now on, a file that reaches its size limit (RLIMIT_FSIZE) fails like a full disk, without a
 * signal. Children get the disposition that was there before. Call it once.
 */
void file_limit_ignore(void);

#endif
