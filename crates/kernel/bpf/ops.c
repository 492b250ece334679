/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One algorithm as programs for struct tcp_congestion_ops: a section per hook, with its name.
 * HEADER and NAME come from build.rs.
 */
#include "shim.h"

const char _license[] SEC("license") = "Dual MIT/GPL";

#define PROGRAM(hook) SEC("struct_ops/" #hook) int hook(u64 *ctx)

#define BEGIN                                                                   \
	struct sock *sk = (struct sock *)ctx[0];                                \
	STATE *ca = (STATE *)INET(sk)->icsk_ca_priv;                            \
	struct cc_window before = window(sk), w = before;                       \
	struct cc_ack a = ack(sk)

#define ARGUMENTS ca, parameters(), &w, &a

#define END                    \
	change(sk, &before, &w)

#define DEFINE_init(A)                \
	PROGRAM(init)                 \
	{                             \
		BEGIN;                \
		A##_init(ARGUMENTS);  \
		END;                  \
		return 0;             \
	}

#define DEFINE_pkts_acked(A)                                                     \
	PROGRAM(pkts_acked)                                                      \
	{                                                                        \
		const struct ack_sample *sample = (const struct ack_sample *)ctx[1]; \
		BEGIN;                                                           \
		if (sample->rtt_us <= 0)                                         \
			return 0;                                                \
		a.rtt_us = (u32)sample->rtt_us;                                  \
		a.acked = sample->pkts_acked;                                    \
		A##_pkts_acked(ARGUMENTS);                                       \
		END;                                                             \
		return 0;                                                        \
	}

#define DEFINE_cong_avoid(A)                         \
	PROGRAM(cong_avoid)                          \
	{                                            \
		BEGIN;                               \
		a.acked = (u32)ctx[2];               \
		a.prior_in_flight += a.acked;        \
		A##_cong_avoid(ARGUMENTS);           \
		END;                                 \
		return 0;                            \
	}

#define DEFINE_cong_control(A)                                                           \
	PROGRAM(cong_control)                                                            \
	{                                                                                \
		const struct rate_sample *rs = rate_sample(ctx);                         \
		BEGIN;                                                                   \
		a.acked = rs->acked_sacked;                                              \
		a.lost = rs->losses > 0 ? (u32)rs->losses : 0;                           \
		a.rtt_us = rs->rtt_us > 0 ? (u32)rs->rtt_us : 0;                         \
		a.prior_in_flight = rs->prior_in_flight;                                 \
		a.rate_prior_delivered = rs->prior_delivered;                            \
		if (rs->delivered >= 0 && rs->interval_us > 0) {                         \
			a.rate_delivered = (u32)rs->delivered;                           \
			a.rate_interval_us = (u32)rs->interval_us;                       \
		}                                                                        \
		if (rs->is_app_limited)                                                  \
			a.flags |= CC_RATE_APP_LIMITED;                                  \
		A##_cong_control(ARGUMENTS);                                             \
		END;                                                                     \
		return 0;                                                                \
	}

#define DEFINE_ssthresh(A)                              \
	PROGRAM(ssthresh)                               \
	{                                               \
		u32 ssthresh;                           \
		BEGIN;                                  \
		ssthresh = A##_ssthresh(ARGUMENTS);     \
		END;                                    \
		return (int)ssthresh;                   \
	}

#define DEFINE_set_state(A)                                  \
	PROGRAM(set_state)                                   \
	{                                                    \
		BEGIN;                                       \
		A##_set_state(ARGUMENTS, (u8)ctx[1]);        \
		END;                                         \
		return 0;                                    \
	}

/* The kernel has more events than the contract. */
#define DEFINE_cwnd_event(A)                                 \
	PROGRAM(cwnd_event)                                  \
	{                                                    \
		BEGIN;                                       \
		if (ctx[1] <= CC_RTO) {                      \
			A##_cwnd_event(ARGUMENTS, (u8)ctx[1]); \
			END;                                 \
		}                                            \
		return 0;                                    \
	}

#define DEFINE_undo_cwnd(A)                        \
	PROGRAM(undo_cwnd)                         \
	{                                          \
		u32 cwnd;                          \
		BEGIN;                             \
		cwnd = A##_undo_cwnd(ARGUMENTS);   \
		END;                               \
		return (int)cwnd;                  \
	}

/* The kernel insists on undo_cwnd: for algorithms without it. */
SEC("default/undo_cwnd") int default_undo_cwnd(u64 *ctx)
{
	const struct tcp_sock *tp = (const struct tcp_sock *)ctx[0];

	return (int)cc_max(tp->snd_cwnd, tp->prior_cwnd);
}

#define DEFINE(A, hook) DEFINE_##hook(A)

NAMED(NAME, _HOOKS)(DEFINE, NAME)
