// SPDX-License-Identifier: Apache-2.0
/* What test_labels.c reads: files that publish labels, in the way that their compiler's flags say. */
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default"), used))

#ifdef VERSION
EXPORTED VERSION_TYPE custom_labels_abi_version = VERSION;
#endif

#ifdef V0
EXPORTED __thread void *custom_labels_thread_local_data[2];
EXPORTED void *labels_v0(void);
EXPORTED void *labels_v0(void)
{
	return &custom_labels_thread_local_data;
}
#endif

#ifdef V1
EXPORTED __thread void *custom_labels_current_set;
EXPORTED void *labels_v1(void);
EXPORTED void *labels_v1(void)
{
	return &custom_labels_current_set;
}
#endif

#ifdef CONTEXT
EXPORTED __thread void *otel_thread_ctx_v1;
EXPORTED void *const *labels_context(void);
EXPORTED void *const *labels_context(void)
{
	return &otel_thread_ctx_v1;
}
#endif
