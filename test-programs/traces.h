/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_PROGRAMS_TRACES_H
#define DP_TEST_PROGRAMS_TRACES_H

#include <stdint.h>

/* A thread's context as OpenTelemetry's OTEP 4947 has it, with room for one attribute. */
struct trace {
	uint8_t trace_id[16], span_id[8];
	volatile uint8_t valid;
	uint8_t flags;
	uint16_t attributes_size;
	uint8_t attributes[32];
};

/* Publishes it for the calling thread; NULL: none. */
void traces_publish(struct trace *trace);

#endif
