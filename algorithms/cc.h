/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cc.h - the contract between a congestion control algorithm and whatever runs it:
 * the simulator, the kernel (eBPF or module), a QUIC stack.
 *
 * An algorithm NAME is one header, NAME.h, with
 *
 *   NAME_PARAMS(P)   its parameters, one P(...) each: see CC_PARAM_FIELD below
 *   NAME_HOOKS(H, A) the hooks it has, one H(A, hook) each
 *   struct NAME      its state, at most CC_STATE_BYTES, zeroed before init
 *   NAME_INVARIANTS(I), NAME_GROWTH, NAME_PROGRESS(M)  what it states of itself: see CC_CHECK_STATE
 *   NAME_<hook>()    the hooks, with the names and the meaning of the kernel's
 *                    struct tcp_congestion_ops:
 *
 *     void init(ca, p, w, a)             the connection is established
 *     void pkts_acked(ca, p, w, a)       an ACK carries an RTT sample (a->rtt_us > 0)
 *     void cong_avoid(ca, p, w, a)       an ACK moves the left edge; a->acked segments arrived: grow
 *     u32  ssthresh(ca, p, w, a)         a loss: the new ssthresh; the stack lowers cwnd
 *     void set_state(ca, p, w, a, state) the stack enters CC_OPEN ... CC_LOSS
 *     void cwnd_event(ca, p, w, a, ev)   CC_TX_START ...
 *     u32  undo_cwnd(ca, p, w, a)        the last reduction was spurious: the cwnd to restore
 *     void cong_control(ca, p, w, a)     every ACK: set cwnd and pacing_rate
 *     void segment_lost(ca, p, w, a)     a segment is marked lost, of algorithms with cong_control
 *
 * with  struct NAME *ca, const struct NAME_params *p, struct cc_window *w, const struct cc_ack *a.
 *
 * An ACK: pkts_acked; then, except in CC_CWR and CC_RECOVERY, cong_avoid. With cong_control the
 * stack calls that instead, in every state and after any set_state of the same ACK, and sets
 * cwnd itself only at a timeout.
 * A segment is marked lost: segment_lost, for each of them, after pkts_acked and before any
 * ssthresh or set_state. rate_in_flight, rate_lost and CC_RATE_APP_LIMITED are then those of the
 * lost segment, and rate_lost counts it. No kernel calls this hook; its builds define
 * CC_NO_SEGMENT_LOST.
 * Fast retransmit: ssthresh, set_state(CC_RECOVERY), the stack lowers cwnd; when the repair is
 * done, cwnd_event(CC_COMPLETE_CWR), set_state(CC_OPEN).
 * Timeout: ssthresh, unless a fast retransmit already answered losses of the same window;
 * cwnd_event(CC_RTO), the stack sets cwnd to 1, set_state(CC_LOSS).
 * Congestion experienced (CC_ECE): ssthresh, set_state(CC_CWR), the stack lowers cwnd; a window
 * later cwnd_event(CC_COMPLETE_CWR), set_state(CC_OPEN).
 * Nothing in flight for longer than the RTO: cwnd_event(CC_CWND_RESTART), then the stack lowers
 * cwnd. The first segment sent while nothing is in flight: cwnd_event(CC_TX_START).
 * In ns-2's stack alone: cwnd_event(CC_SLOW_ACK), before ssthresh, for an ACK that does not move
 * the left edge, that comes in a state other than CC_OPEN, or whose RTT is not for the algorithm;
 * acked then is the number of segments by which it moves the left edge.
 *
 * ssthresh and one of cong_avoid and cong_control are mandatory. A hook left out has the
 * kernel's default: undo_cwnd restores prior_cwnd, the others do nothing.
 *
 * Rules, so that one text compiles for the host, for a module and for the BPF verifier:
 * u32, u64 and s64 only; no floating point; no loop or recursion whose branches depend on
 * data (write them with masks: parts/fixed.h); no signed division; at most five arguments;
 * no pointer kept between calls; the state's arrays indexed by constants. No compiler warning under -Wall -Wextra -Wconversion.
 */
#ifndef CC_H
#define CC_H

#ifndef CC_HAVE_TYPES /* a kernel build brings its own */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;
#endif

/*
 * Between the steps of a long hook: what the steps before wrote to the state is read anew. To the
 * BPF verifier the paths through them then become one; to all others it is nothing.
 */
#ifndef CC_FORGET
#define CC_FORGET() ((void)0)
#endif

/*
 * A number, of which that verifier forgets what the path so far shows of it: paths that differ in
 * nothing else become one. state: any member of the state.
 */
#ifndef CC_FORGET_VALUE
#define CC_FORGET_VALUE(value, state) (value)
#endif

/* What few ACKs need, in a function of its own: the hook then has its registers for what all need. */
#ifndef CC_RARE
#define CC_RARE static __attribute__((noinline, unused))
#endif

#define CC_STATE_BYTES 104 /* icsk_ca_priv in struct inet_connection_sock */

#define CC_SSTHRESH_INFINITE 0x7fffffffU

/* What an algorithm may change. Windows are in segments. */
struct cc_window {
	u32 cwnd;        /* congestion window, at least 1 */
	u32 cwnd_cnt;    /* segments acknowledged towards the next increase of cwnd */
	u32 ssthresh;    /* slow start threshold */
	u32 cwnd_clamp;  /* upper bound of cwnd, set by the stack */
	u32 prior_cwnd;  /* cwnd just before the last reduction, kept by the stack */
	u32 repair_cwnd; /* set by ssthresh, for ns-2's stack: cwnd during fast retransmit; 0: half of ssthresh */
	u64 pacing_rate; /* bytes/s of payload; 0: not paced */
};

/* What an algorithm may know. One per ACK; the hooks between two ACKs see the last one. */
struct cc_ack {
	u64 now_us;          /* any monotonic clock */
	/*
	 * Counts since the connection began: delivered, rate_prior_delivered, delivered_ce, lost_total. A kernel has them
	 * modulo 2^32, so they are compared by cc_after() and subtracted by cc_since().
	 */
	u64 delivered;       /* segments delivered so far, in order or SACKed */
	/*
	 * The delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation), only for
	 * algorithms with cong_control: rate_delivered segments arrived in rate_interval_us.
	 */
	u64 rate_prior_delivered; /* delivered when the newest segment acknowledged here was sent */
	u64 delivered_ce;    /* of the delivered, those reported as marked (RFC 3168, CE) */
	u64 lost_total;      /* segments marked lost so far, retransmissions again */
	u32 rate_delivered;
	u32 rate_interval_us;     /* 0: no sample */
	/*
	 * Of the newest segment acknowledged here: what was in flight when it was sent, with it, and how
	 * many were marked lost since. Only for algorithms with cong_control; 0 in a kernel.
	 */
	u32 rate_in_flight;
	u32 rate_lost;
	u32 rtt_us;          /* this ACK's RTT sample; 0: none */
	u32 srtt_us;         /* smoothed RTT, RFC 6298; 0: no sample yet */
	u32 min_rtt_us;      /* smallest sample of the connection; 0: no sample yet */
	u32 acked;           /* segments newly reported to have arrived, in order or SACKed */
	u32 ce;              /* segments newly reported as marked */
	u32 lost;            /* segments newly marked lost */
	u32 owd_us;          /* from the sending of a segment to that of the ACK that it caused, plus a constant: the clocks' difference; 0: no sample */
	u32 prior_in_flight; /* segments in flight before this ACK */
	u32 in_flight;       /* and after it */
	u32 snd_wnd;         /* receive window */
	u32 mss;             /* bytes of payload in a segment */
	/*
	 * For cc_random(), another number with each ACK: in the simulator from the seed, of a kernel and
	 * of a QUIC stack from the clock. Only for algorithms with cong_control.
	 */
	u32 chance;
	u8 state;            /* enum cc_state */
	u8 flags;            /* CC_CWND_LIMITED ... */
	u8 reserved[2];
};

/*
 * The range of each field that a caller guarantees, R(field, smallest, largest): the driver asserts it in debug builds, and
 * `cwnd prove` assumes it. Fields left out may have any value. Relations besides:
 *
 *   1 <= cwnd <= cwnd_clamp; prior_cwnd <= cwnd_clamp
 *   rtt_us >= 1 in pkts_acked; acked >= 1 in cong_avoid
 *   now_us never decreases
 *
 * A header keeps 1 <= cwnd <= cwnd_clamp, and returns from ssthresh what is in the range of ssthresh.
 */
#define CC_WINDOW_RANGES(R)            \
	R(cwnd, 1, 0x7fffffff)         \
	R(ssthresh, 2, 0x7fffffff)     \
	R(cwnd_clamp, 1, 0xffffffff)

#define CC_ACK_RANGES(R)                          \
	R(now_us, 0, 0x3fffffffffffffff)          \
	R(delivered, 0, 0xffffffffffff)           \
	R(rate_prior_delivered, 0, 0xffffffffffff) \
	R(delivered_ce, 0, 0xffffffffffff)        \
	R(lost_total, 0, 0xffffffffffff)          \
	R(rtt_us, 0, 0x7fffffff)                  \
	R(srtt_us, 0, 0x7fffffff)                 \
	R(min_rtt_us, 0, 0x7fffffff)              \
	R(acked, 0, 0x7fffffff)                   \
	R(mss, 1, 0xffff)                         \
	R(state, 0, 4)

/* Values are the kernel's enum tcp_ca_state. */
enum cc_state { CC_OPEN = 0, CC_DISORDER = 1, CC_CWR = 2, CC_RECOVERY = 3, CC_LOSS = 4 };

/* Values are the kernel's enum tcp_ca_event; no kernel of today has the last one. */
enum cc_event {
	CC_TX_START = 0,
	CC_CWND_RESTART = 1,
	CC_COMPLETE_CWR = 2,
	CC_RTO = 3,
	CC_SLOW_ACK = 6,
};

enum cc_flags {
	CC_CWND_LIMITED = 1, /* cwnd was what limited the sender: it may grow */
	CC_APP_LIMITED = 2,  /* the application had nothing to send */
	CC_ECE = 4,          /* the ACK echoes congestion experienced */
	CC_RATE_APP_LIMITED = 8, /* the application limited the sender while the rate was sampled */
};

/*
 * A parameter is P(field, default, one, min, max, choices, doc). It is stored as a u32 in
 * units of 1/one: P(beta, 717, 1024, ...) is 0.7 to a person. The choices "first|second|..."
 * are what a person writes for the stored values 0, 1, ...: all values from min to max, and one is
 * 1; or those below min, and then the others are numbers. doc ends with the source.
 *
 * Builds whose rules differ from the paper's are choices of the parameter variant, in this order:
 *   spec           the paper or RFC; the default
 *   linux          the module of Linux 6.1
 *   ns2            the module of Linux 2.6 that Agent/TCP/Linux of ns-2.35 runs
 *   ns2-agent      the agent that ns-2.35 itself has
 *   ns2-no-module  Agent/TCP/Linux without a module
 *   authors        what the paper's authors ran
 *   v3             Google's BBRv3, against its draft
 */
#define CC_PARAM_FIELD(field, ...) u32 field;
#define CC_PARAM_DEFAULT(field, value, ...) .field = (value),

/* Declares struct NAME_params and NAME_defaults. */
#define CC_DECLARE_PARAMS(name)                             \
	struct name##_params {                              \
		name##_PARAMS(CC_PARAM_FIELD)               \
	};                                                  \
	static const struct name##_params name##_defaults = { \
		name##_PARAMS(CC_PARAM_DEFAULT)             \
	}

/*
 * What a header may state of itself. `cwnd prove` shows it on the bytecode, and uses it:
 *
 *   NAME_INVARIANTS(I)  I(condition) for each condition that holds between any two hooks, from init on; of ca and p, and of
 *                       a->now_us at the last hook. Debug builds assert them after each hook.
 *   NAME_GROWTH         the segments by which cong_avoid or cong_control grows cwnd at most, of ca, p, w and a before the
 *                       hook; without it a->acked, and none where cwnd did not limit the sender.
 *   NAME_PROGRESS(M)    M(windows, gain, credit, needed): an ACK in congestion avoidance whose sender cwnd limits grows cwnd,
 *                       or adds gain for each segment acknowledged to credit, which stays below needed. So this many windows
 *                       without a loss grow cwnd: needed <= windows * cwnd * gain.
 */
#define CC_CHECK_STATE(name) \
	_Static_assert(sizeof(struct name) <= CC_STATE_BYTES, #name ": state too large")

static inline u32 cc_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 cc_max(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* A random number, all 32 bits of it. */
static inline u32 cc_random(const struct cc_ack *a)
{
	return (u32)(a->chance * 0x9e3779b97f4a7c15ULL >> 32); /* wraps: a hash */
}

/* A window as the stack allows it: at most cwnd_clamp, but at least one segment. */
static inline u32 cc_allowed(const struct cc_window *w, u64 cwnd)
{
	return cwnd < w->cwnd_clamp ? cc_max((u32)cwnd, 1) : cc_max(w->cwnd_clamp, 1);
}

/* The segments counted since the count was `then`: fewer than 2^32. */
static inline u32 cc_since(u64 count, u64 then)
{
	return (u32)count - (u32)then;
}

/* Is the count beyond `end`, by less than 2^31? */
static inline u32 cc_after(u64 count, u64 end)
{
	return (u32)end - (u32)count > 0x7fffffff;
}

static inline u32 cc_cwnd_limited(const struct cc_ack *a)
{
	return a->flags & CC_CWND_LIMITED;
}

#endif /* CC_H */
