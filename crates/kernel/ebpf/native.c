/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * FORWARD_cubic and FORWARD_bbr: programs that only call the kernel's own cubic and bbr, so that the kernel
 * measures their time as it measures ours.
 */
#undef HEADER
#define HEADER "cc.h"
#define none_PARAMS(P) P(unused, 0, 1, 0, 0, "", "")
struct none_params {
	unsigned int unused;
};
#undef NAME
#define NAME none
#include "program.h"
#include "../shim/shim.h"

#define KFUNC extern __attribute__((section(".ksyms")))
#define PROGRAM(hook) SEC("struct_ops/" #hook) int hook(u64 *ctx)
#define SK ((struct sock *)ctx[0])
#define FORWARD(hook, ...) PROGRAM(hook) { __VA_ARGS__; return 0; }

#ifdef FORWARD_cubic
KFUNC void cubictcp_init(struct sock *sk);
KFUNC u32 cubictcp_recalc_ssthresh(struct sock *sk);
KFUNC void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked);
KFUNC void cubictcp_state(struct sock *sk, u8 state);
KFUNC void cubictcp_cwnd_event(struct sock *sk, int event);
KFUNC void cubictcp_acked(struct sock *sk, const struct ack_sample *sample);
KFUNC u32 tcp_reno_undo_cwnd(struct sock *sk);

FORWARD(init, cubictcp_init(SK))
FORWARD(ssthresh, return (int)cubictcp_recalc_ssthresh(SK))
FORWARD(cong_avoid, cubictcp_cong_avoid(SK, (u32)ctx[1], (u32)ctx[2]))
FORWARD(set_state, cubictcp_state(SK, (u8)ctx[1]))
FORWARD(cwnd_event, cubictcp_cwnd_event(SK, (int)ctx[1]))
FORWARD(pkts_acked, cubictcp_acked(SK, (const struct ack_sample *)ctx[1]))
FORWARD(undo_cwnd, return (int)tcp_reno_undo_cwnd(SK))
#elif defined(FORWARD_bbr)
KFUNC void bbr_init(struct sock *sk);
KFUNC void bbr_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
KFUNC u32 bbr_undo_cwnd(struct sock *sk);
KFUNC void bbr_cwnd_event(struct sock *sk, int event);
KFUNC u32 bbr_ssthresh(struct sock *sk);
KFUNC void bbr_set_state(struct sock *sk, u8 state);

FORWARD(init, bbr_init(SK))
FORWARD(cong_control,
	bbr_main(SK, (u32)ctx[1], (int)ctx[2], (const struct rate_sample *)ctx[3]))
FORWARD(undo_cwnd, return (int)bbr_undo_cwnd(SK))
FORWARD(cwnd_event, bbr_cwnd_event(SK, (int)ctx[1]))
FORWARD(ssthresh, return (int)bbr_ssthresh(SK))
FORWARD(set_state, bbr_set_state(SK, (u8)ctx[1]))
#endif
