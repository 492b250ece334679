/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One algorithm as programs for struct tcp_congestion_ops: a section per hook, with its name.
 * HEADER and NAME come from build.rs.
 */
#define CC_NO_SEGMENT_LOST
#include "program.h"
#include "../shim/hooks.h"

const char _license[] SEC("license") = "Dual MIT/GPL";

#define PROGRAM(hook) SEC("struct_ops/" #hook) int hook(u64 *ctx)
#define SK ((struct sock *)ctx[0])

#define DEFINE_init PROGRAM(init) { on_init(SK); return 0; }
#define DEFINE_pkts_acked \
	PROGRAM(pkts_acked) { on_pkts_acked(SK, (const struct ack_sample *)ctx[1]); return 0; }
#define DEFINE_cong_avoid PROGRAM(cong_avoid) { on_cong_avoid(SK, (u32)ctx[2]); return 0; }
#define DEFINE_cong_control PROGRAM(cong_control) { on_cong_control(SK, rate_sample(ctx)); return 0; }
#define DEFINE_segment_lost
#define DEFINE_ssthresh PROGRAM(ssthresh) { return (int)on_ssthresh(SK); }
#define DEFINE_set_state PROGRAM(set_state) { on_set_state(SK, (u8)ctx[1]); return 0; }
#define DEFINE_cwnd_event PROGRAM(cwnd_event) { on_cwnd_event(SK, (u32)ctx[1]); return 0; }
#define DEFINE_undo_cwnd PROGRAM(undo_cwnd) { return (int)on_undo_cwnd(SK); }

#define DEFINE(A, hook) DEFINE_##hook

NAMED(NAME, _HOOKS)(DEFINE, NAME)

SEC("default/undo_cwnd") int undo_cwnd_by_default(u64 *ctx)
{
	return (int)default_undo_cwnd(SK);
}
