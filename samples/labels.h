/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_LABELS_H
#define DP_SAMPLES_LABELS_H

#include "kernel/ring_record.h"
#include "process/space.h"
#include "report/label_set.h"
#include "report/sample.h"

/*
 * Which labels a sample has. The kernel reads them where the thread's goroutine keeps them; that
 * they are about the stack, its frames tell: a thread that C has made keeps its goroutine when
 * it is back in C, and a process may have more than one Go runtime, of which the kernel knows one.
 *
 * taken: the space that the kernel took the sample in, or NULL; walked: the one that its frames
 * were found in. *ret is NULL without labels, and empty and cut where they are not known.
 * 0, -ENOMEM or -EBADMSG; the caller frees *ret.
 */
int labels_new(const struct named_sample *named, const struct space *taken,
	       const struct space *walked, const struct sample *sample, struct label_set **ret);

#endif
