/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One algorithm as programs that run its hooks on memory instead of a socket, for tests: a section per
 * hook, with its name. HEADER and NAME come from build.rs.
 */
#include "program.h"
#include "../shim/shim.h"

/* src/testing.rs has the same offsets. */
struct {
	u32 result;
	u32 what;
	struct cc_window w;
	struct cc_ack a;
	u64 state[CC_STATE_BYTES / 8];
} event SEC(".data.event");

#define PROGRAM(hook, ...)                               \
	SEC("syscall/" #hook) int hook(void *ctx)        \
	{                                                \
		STATE *ca = (STATE *)event.state;        \
		struct cc_window w = event.w;            \
		struct cc_ack a = event.a;               \
		(void)ctx;                               \
		__VA_ARGS__;                             \
		event.w = w;                             \
		return 0;                                \
	}

#define ARGUMENTS ca, parameters(), &w, &a

#define DEFINE_init(A) PROGRAM(init, A##_init(ARGUMENTS))
#define DEFINE_pkts_acked(A) PROGRAM(pkts_acked, A##_pkts_acked(ARGUMENTS))
#define DEFINE_cong_avoid(A) PROGRAM(cong_avoid, A##_cong_avoid(ARGUMENTS))
#define DEFINE_cong_control(A) PROGRAM(cong_control, A##_cong_control(ARGUMENTS))
#define DEFINE_segment_lost(A) PROGRAM(segment_lost, A##_segment_lost(ARGUMENTS))
#define DEFINE_ssthresh(A) PROGRAM(ssthresh, event.result = A##_ssthresh(ARGUMENTS))
#define DEFINE_undo_cwnd(A) PROGRAM(undo_cwnd, event.result = A##_undo_cwnd(ARGUMENTS))
#define DEFINE_set_state(A) PROGRAM(set_state, A##_set_state(ARGUMENTS, (u8)event.what))
#define DEFINE_cwnd_event(A) PROGRAM(cwnd_event, A##_cwnd_event(ARGUMENTS, (u8)event.what))
#define DEFINE(A, hook) DEFINE_##hook(A)

NAMED(NAME, _HOOKS)(DEFINE, NAME)
