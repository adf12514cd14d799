/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents to a stream. */
#ifndef CLI_JSON_FILE_H
#define CLI_JSON_FILE_H

#include <stdio.h>

#include "base/json.h"

/*
 * Starts a document on a stream, which is borrowed until json_end(). The stream is written without
 * its lock, and ferror() finds its failures.
 */
void json_init_file(struct json *j, FILE *file);

#endif
