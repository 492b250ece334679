/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hooks of HEADER for this machine, on an event of ebpf/events.c whose first number is that of a hook: the event
 * becomes what the hook leaves, with the result of the hook first.
 */
#include <stdio.h>
#include <stdlib.h>

#include "shim/names.h"
#include HEADER

struct event {
	u32 result;
	u32 what;
	struct cc_window w;
	struct cc_ack a;
	u64 state[CC_STATE_BYTES / 8];
};

enum { HOOK_init, HOOK_pkts_acked, HOOK_cong_avoid, HOOK_cong_control, HOOK_segment_lost, HOOK_ssthresh,
       HOOK_set_state, HOOK_cwnd_event, HOOK_undo_cwnd };

#define ARGUMENTS (STATE *)e->state, &params, &e->w, &e->a
#define CALL_init(A) A##_init(ARGUMENTS)
#define CALL_pkts_acked(A) A##_pkts_acked(ARGUMENTS)
#define CALL_cong_avoid(A) A##_cong_avoid(ARGUMENTS)
#define CALL_cong_control(A) A##_cong_control(ARGUMENTS)
#define CALL_segment_lost(A) A##_segment_lost(ARGUMENTS)
#define CALL_ssthresh(A) result = A##_ssthresh(ARGUMENTS)
#define CALL_undo_cwnd(A) result = A##_undo_cwnd(ARGUMENTS)
#define CALL_set_state(A) A##_set_state(ARGUMENTS, (u8)e->what)
#define CALL_cwnd_event(A) A##_cwnd_event(ARGUMENTS, (u8)e->what)
#define CASE(A, hook)         \
	case HOOK_##hook:     \
		CALL_##hook(A); \
		break;

static void call(struct event *e)
{
	PARAMS params = { NAMED(NAME, _PARAMS)(CC_PARAM_DEFAULT) };
	u32 result = 0;

	(void)params;
	switch (e->result) {
	NAMED(NAME, _HOOKS)(CASE, NAME)
	default:
		exit(3);
	}
	e->result = result;
}
