/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/counts.h"

#include <string.h>

void counts_store_error(struct counts *counts, char text[ERROR_TEXT_BYTES])
{
	pthread_mutex_lock(&counts->lock);
	memcpy(text, counts->store_error, ERROR_TEXT_BYTES);
	pthread_mutex_unlock(&counts->lock);
}

const char *counts_state(const struct counts *counts, const struct log_status *log,
			 uint64_t position, bool store_failed)
{
	if (log->failed)
		return "log failed";
	if (store_failed)
		return "store failed";
	if (atomic_load(&counts->is_full))
		return "full";
	return log->synced > position ? "loading" : "ok";
}
