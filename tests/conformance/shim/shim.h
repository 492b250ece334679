/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * As much of the kernel as its congestion control modules ask for, in user space. Included ahead
 * of every one of them; the headers that they include themselves are empty files.
 *
 * One connection at a time: driver.c fills struct tcp_sock before each hook. HZ is 1000.
 */
#ifndef SHIM_H
#define SHIM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

typedef uint8_t u8, __u8;
typedef uint16_t u16, __u16;
typedef uint32_t u32, __u32;
typedef unsigned long long u64, __u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32, __s32;
typedef long long s64;

/* Language and build. */
#define __init
#define __exit
#define __initdata
#define __read_mostly
#define __bpf_kfunc
#define noinline
#define likely(x) (x)
#define unlikely(x) (x)
#define fallthrough __attribute__((fallthrough))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, value) ((x) = (value))
#define cmpxchg(p, old, new) __sync_val_compare_and_swap(p, old, new)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG_ON(wrong) _Static_assert(!(wrong), #wrong)
#define WARN_ON_ONCE(wrong) ((void)(wrong))
#define WARN_ONCE(wrong, ...) ((void)(wrong))
#define pr_debug(...) ((void)0)
#define EXPORT_SYMBOL(symbol)
#define EXPORT_SYMBOL_GPL(symbol)
#define THIS_MODULE NULL
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_DESCRIPTION(text)
#define MODULE_VERSION(text)
#define MODULE_PARM_DESC(name, text)

/* A module registers its algorithm and its parameters before main() runs. */
void shim_param(const char *module, const char *name, void *value, size_t size);
#define module_init(function)                                              \
	static void __attribute__((constructor)) shim_load_##function(void) \
	{                                                                  \
		(void)function();                                          \
	}
#define module_exit(function) \
	void __attribute__((used)) shim_unload_##function(void) { function(); }
#define module_param(name, type, mode)                                     \
	static void __attribute__((constructor)) shim_param_##name(void)    \
	{                                                                  \
		shim_param(SHIM_MODULE, #name, (void *)&name, sizeof(name)); \
	}

/* A parameter that checks what is written is read here as it is. */
struct kernel_param;
struct kernel_param_ops {
	int (*set)(const char *text, const struct kernel_param *kp);
	int (*get)(char *text, const struct kernel_param *kp);
};
static inline int param_set_uint_minmax(const char *text, const struct kernel_param *kp, unsigned int low,
					unsigned int high)
{
	(void)text;
	(void)kp;
	(void)low;
	(void)high;
	return 0;
}
#define param_get_uint NULL
#define module_param_cb(name, ops, value, mode)                         \
	static const void __attribute__((unused)) *const shim_ops_##name = ops;

#define BTF_SET8_START(name) static const int name __attribute__((unused)) = 0;
#define BTF_SET8_END(name)
#define BTF_ID_FLAGS(...)
struct btf_kfunc_id_set {
	const void *owner, *set;
};
#define BPF_PROG_TYPE_STRUCT_OPS 0
static inline int register_btf_kfunc_id_set(int type, const struct btf_kfunc_id_set *set)
{
	(void)type;
	(void)set;
	return 0;
}

/* Numbers. */
#define U32_MAX UINT32_MAX
#define min_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ > b_ ? a_ : b_; })
#define min(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
/* The smaller one, but 0 is none. */
#define min_not_zero(a, b) ({ __typeof__(a) x_ = (a); __typeof__(b) y_ = (b); !x_ ? y_ : !y_ ? x_ : min(x_, y_); })
#define clamp(x, low, high) min(max(x, (__typeof__(x))(low)), (__typeof__(x))(high))
/* Unsigned differences count as signed. */
#define abs(x) _Generic((x), u32: abs_s32, s32: abs_s32, default: abs_s64)((x))
static inline s32 abs_s32(s32 x)
{
	return x < 0 ? -x : x;
}
static inline s64 abs_s64(s64 x)
{
	return x < 0 ? -x : x;
}
#define swap(a, b) do { __typeof__(a) t_ = (a); (a) = (b); (b) = t_; } while (0)
#define BIT(n) (1UL << (n))
/* Divides n in place; the value is the remainder. The kernel's divisor is 32 bits wide. */
#define do_div(n, by) ({ u32 by_ = (u32)(by), rest_ = (u32)((u64)(n) % by_); (n) = (u64)(n) / by_; rest_; })

static inline u64 div_u64(u64 n, u32 by)
{
	return n / by;
}
static inline u64 div64_u64(u64 n, u64 by)
{
	return n / by;
}
#define div64_ul(n, by) div64_u64(n, by)
#define div64_long(n, by) ((s64)(n) / (long)(by))
static inline int fls64(u64 n)
{
	return n ? 64 - __builtin_clzll(n) : 0;
}
static inline int fls(u32 n)
{
	return n ? 32 - __builtin_clz(n) : 0;
}

/* What the shim answers where the kernel draws lots; set by the driver. */
extern u32 shim_random;
static inline u32 prandom_u32_max(u32 below)
{
	return (u32)((u64)shim_random * below >> 32);
}
#define get_random_u32_below(below) prandom_u32_max(below)

/* Time. */
#define HZ 1000
#define USEC_PER_MSEC 1000L
#define USEC_PER_SEC 1000000L
#define NSEC_PER_USEC 1000L
#define MSEC_PER_SEC 1000L
extern unsigned long jiffies;
#define tcp_jiffies32 ((u32)jiffies)

/* Milliseconds are jiffies; a part of one counts as one. */
static inline unsigned long usecs_to_jiffies(u32 us)
{
	return us / 1000 + (us % 1000 > 0);
}
static inline unsigned long msecs_to_jiffies(u32 ms)
{
	return ms;
}
static inline u32 jiffies_to_usecs(unsigned long j)
{
	return (u32)(j * 1000);
}
static inline u32 jiffies_to_msecs(unsigned long j)
{
	return (u32)j;
}

/* Sequence numbers. */
static inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}
#define after(a, b) before(b, a)
static inline bool between(u32 seq, u32 low, u32 high)
{
	return high - low >= seq - low;
}

/* The connection. */
#include <linux/win_minmax.h>

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
#define TCP_CA_NAME_MAX 16
#define TCP_CONG_NON_RESTRICTED 1
#define TCP_CONG_NEEDS_ECN 2
#define GSO_LEGACY_MAX_SIZE 65536u
#define MAX_TCP_HEADER 320

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };
enum { TCPF_CA_Open = 1, TCPF_CA_Disorder = 2, TCPF_CA_CWR = 4, TCPF_CA_Recovery = 8, TCPF_CA_Loss = 16 };
enum tcp_ca_event {
	CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE, CA_EVENT_ECN_IS_CE,
};
enum tcp_ca_ack_event_flags { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };
enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum { INET_DIAG_VEGASINFO = 3, INET_DIAG_DCTCPINFO = 9, INET_DIAG_BBRINFO = 16 };

/* Counters nobody reads. */
#define NET_INC_STATS(net, counter) ((void)(net))
#define NET_ADD_STATS(net, counter, by) ((void)(net))

struct net {
	struct {
		u8 sysctl_tcp_min_tso_segs;
		int sysctl_tcp_pacing_ss_ratio, sysctl_tcp_pacing_ca_ratio;
	} ipv4;
};

struct sock {
	unsigned long sk_pacing_rate, sk_max_pacing_rate;
	u32 sk_pacing_status;
	u8 sk_state;
	u8 sk_pacing_shift;
	u32 sk_gso_max_size;
	struct net *sk_net;
};
#define sock_net(sk) ((sk)->sk_net)

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct rate_sample {
	u64 prior_mstamp;
	u32 prior_delivered;
	s32 delivered;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked, prior_in_flight;
	bool is_app_limited, is_retrans, is_ack_delayed;
};

struct tcpvegas_info {
	u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
};
struct tcp_bbr_info {
	u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
};
struct tcp_dctcp_info {
	u16 dctcp_enabled, dctcp_ce_state;
	u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
};
union tcp_cc_info {
	struct tcp_dctcp_info dctcp;
	struct tcpvegas_info vegas;
	struct tcp_bbr_info bbr;
};

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(struct sock *sk, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	size_t (*get_info)(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	const void *owner;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

#define ICSK_CA_PRIV_SIZE 104
struct inet_connection_sock {
	struct sock sk;
	u8 icsk_ca_state;
	struct {
		u8 pending;
	} icsk_ack;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_sock {
	struct inet_connection_sock icsk;
	u32 snd_una, snd_nxt, mss_cache;
	u32 snd_cwnd, snd_cwnd_cnt, snd_cwnd_clamp, snd_ssthresh, prior_cwnd, prior_ssthresh;
	u32 packets_out, sacked_out, lost_out, retrans_out;
	u32 delivered, delivered_ce, lost, app_limited, srtt_us, min_rtt_us, lsndtime, rcv_nxt;
	u8 ecn_flags;
	u64 tcp_mstamp, delivered_mstamp, tcp_wstamp_ns, tcp_clock_cache;
	bool is_cwnd_limited;
};

/* Explicit congestion notification; what a receiver does is not asked for. */
#define TCP_ECN_OK 1
#define TCP_ECN_DEMAND_CWR 4
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define TCP_LISTEN 10
#define TCP_CLOSE 7
#define INET_ECN_dontxmit(sk) ((void)(sk))
#define __tcp_send_ack(sk, next) ((void)(sk), (void)(next))

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}
static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}
static inline void *inet_csk_ca(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_priv;
}
static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 cwnd)
{
	tp->snd_cwnd = cwnd;
}
static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}
/* The contract's CC_CWND_LIMITED: whether the stack lets cwnd grow. */
static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	return tcp_sk(sk)->is_cwnd_limited;
}
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
}
static inline u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return tp->min_rtt_us ? tp->min_rtt_us : ~0U;
}
static inline u32 tcp_stamp_us_delta(u64 later, u64 earlier)
{
	return later > earlier ? (u32)(later - earlier) : 0;
}

u32 tcp_current_ssthresh(const struct sock *sk);
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 per, u32 acked);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);

#endif /* SHIM_H */
