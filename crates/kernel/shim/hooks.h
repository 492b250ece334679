/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The hooks of NAME on a socket, on_init() and so on, which a program or a module registers with the kernel. */
#ifndef HOOKS_H
#define HOOKS_H

#include "shim.h"

#define BEGIN                                            \
	STATE *ca = (STATE *)INET(sk)->icsk_ca_priv;     \
	struct cc_window before = window(sk), w = before; \
	struct cc_ack a = ack(sk)

#define ARGUMENTS ca, parameters(), &w, &a

#define END change(sk, &before, &w)

#define ON_init(A)                                    \
	static inline void on_init(struct sock *sk)   \
	{                                             \
		BEGIN;                                \
		A##_init(ARGUMENTS);                  \
		END;                                  \
	}

#define ON_pkts_acked(A)                                                                      \
	static inline void on_pkts_acked(struct sock *sk, const struct ack_sample *sample)    \
	{                                                                                     \
		BEGIN;                                                                        \
		if (sample->rtt_us <= 0)                                                      \
			return;                                                               \
		a.rtt_us = (u32)sample->rtt_us;                                               \
		a.acked = sample->pkts_acked;                                                 \
		A##_pkts_acked(ARGUMENTS);                                                    \
		END;                                                                          \
	}

#define ON_cong_avoid(A)                                                \
	static inline void on_cong_avoid(struct sock *sk, u32 acked)    \
	{                                                               \
		BEGIN;                                                  \
		a.acked = acked;                                        \
		a.prior_in_flight += a.acked;                           \
		A##_cong_avoid(ARGUMENTS);                              \
		END;                                                    \
	}

#define ON_cong_control(A)                                                                \
	static inline void on_cong_control(struct sock *sk, const struct rate_sample *rs) \
	{                                                                                 \
		BEGIN;                                                                    \
		a.acked = rs->acked_sacked;                                               \
		a.lost = rs->losses > 0 ? (u32)rs->losses : 0;                            \
		a.rtt_us = rs->rtt_us > 0 ? (u32)rs->rtt_us : 0;                          \
		a.prior_in_flight = rs->prior_in_flight;                                  \
		a.rate_prior_delivered = rs->prior_delivered;                             \
		if (rs->delivered >= 0 && rs->interval_us > 0) {                          \
			a.rate_delivered = (u32)rs->delivered;                            \
			a.rate_interval_us = (u32)rs->interval_us;                        \
		}                                                                         \
		if (rs->is_app_limited)                                                   \
			a.flags |= CC_RATE_APP_LIMITED;                                   \
		A##_cong_control(ARGUMENTS);                                              \
		END;                                                                      \
	}

/* No kernel reports the segments that it marks lost one by one. */
#define ON_segment_lost(A)

#define ON_ssthresh(A)                                   \
	static inline u32 on_ssthresh(struct sock *sk)   \
	{                                                \
		u32 ssthresh;                            \
		BEGIN;                                   \
		ssthresh = A##_ssthresh(ARGUMENTS);      \
		END;                                     \
		return ssthresh;                         \
	}

#define ON_set_state(A)                                            \
	static inline void on_set_state(struct sock *sk, u8 state) \
	{                                                          \
		BEGIN;                                             \
		A##_set_state(ARGUMENTS, state);                   \
		END;                                               \
	}

/* The kernel has more events than the contract. */
#define ON_cwnd_event(A)                                             \
	static inline void on_cwnd_event(struct sock *sk, u32 event) \
	{                                                            \
		BEGIN;                                               \
		if (event <= CC_RTO) {                               \
			A##_cwnd_event(ARGUMENTS, (u8)event);        \
			END;                                         \
		}                                                    \
	}

#define ON_undo_cwnd(A)                                   \
	static inline u32 on_undo_cwnd(struct sock *sk)   \
	{                                                 \
		u32 cwnd;                                 \
		BEGIN;                                    \
		cwnd = A##_undo_cwnd(ARGUMENTS);          \
		END;                                      \
		return cwnd;                              \
	}

/* For algorithms without undo_cwnd, which the kernel requires. */
static inline u32 default_undo_cwnd(struct sock *sk)
{
	return cc_max(TCP(sk)->snd_cwnd, TCP(sk)->prior_cwnd);
}

#define ON(A, hook) ON_##hook(A)

NAMED(NAME, _HOOKS)(ON, NAME)

#endif /* HOOKS_H */
