/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines the context's variable, in an object of its own that is linked in
 * every way there is; PADDING makes its TLS segment larger than what the
 * loader keeps for libraries that come late, HIDDEN keeps it out of .dynsym.
 */
void **publisher_slot(void);
void *publisher_padding(void);

#ifdef PADDING
static __thread char padding[PADDING] = {1};
#else
static __thread char padding[24] = {1};
#endif
#ifdef HIDDEN
__attribute__((visibility("hidden")))
#endif
__thread void *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void **publisher_slot(void)
{
	return &otel_thread_ctx_v1;
}

__attribute__((visibility("default"))) void *publisher_padding(void)
{
	return padding;
}
