/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Turns registry.h into a table that Rust can read: one entry per algorithm, hooks with erased types. */
#include <stddef.h>

#include "headers.h" /* an #include for each line of registry.h, written by build.rs */
#include "registry.h"

typedef void cc_hook(void *ca, const void *p, struct cc_window *w, const struct cc_ack *a);
typedef void cc_hook_u8(void *ca, const void *p, struct cc_window *w, const struct cc_ack *a, u8 what);
typedef const char *cc_check(const void *ca, const void *p, const struct cc_window *w, const struct cc_ack *a);
typedef u32 cc_hook_u32(void *ca, const void *p, struct cc_window *w, const struct cc_ack *a);

struct cc_param_info {
	const char *name, *choices, *doc;
	u32 value, one, min, max;
};

struct cc_algorithm {
	const char *name, *title, *paper, *kind, *status;
	u32 year, state_bytes, param_count;
	const struct cc_param_info *params;
	cc_hook *init, *pkts_acked, *cong_avoid, *cong_control, *segment_lost;
	cc_hook_u32 *ssthresh, *undo_cwnd;
	cc_hook_u8 *set_state, *cwnd_event;
	cc_check *broken_invariant;
};

#define VOID_HOOK(A, hook)                                                                           \
	static void A##_##hook##_erased(void *ca, const void *p, struct cc_window *w, const struct cc_ack *a) \
	{ A##_##hook(ca, p, w, a); }
#define U32_HOOK(A, hook)                                                                            \
	static u32 A##_##hook##_erased(void *ca, const void *p, struct cc_window *w, const struct cc_ack *a) \
	{ return A##_##hook(ca, p, w, a); }
#define U8_HOOK(A, hook)                                                                             \
	static void A##_##hook##_erased(void *ca, const void *p, struct cc_window *w, const struct cc_ack *a, u8 what) \
	{ A##_##hook(ca, p, w, a, what); }
#define ERASE_init VOID_HOOK
#define ERASE_pkts_acked VOID_HOOK
#define ERASE_cong_avoid VOID_HOOK
#define ERASE_cong_control VOID_HOOK
#define ERASE_segment_lost VOID_HOOK
#define ERASE_ssthresh U32_HOOK
#define ERASE_undo_cwnd U32_HOOK
#define ERASE_set_state U8_HOOK
#define ERASE_cwnd_event U8_HOOK
#define ERASE(A, hook) ERASE_##hook(A, hook)

#ifdef CC_CHECK_INVARIANTS /* debug builds; headers.h then has a list of invariants for each algorithm */
#define CHECK_INVARIANT(...) \
	if (!(__VA_ARGS__)) return #__VA_ARGS__;
/* The first of the header's invariants that does not hold; NULL: all hold. */
#define BROKEN(A)                                                                                      \
	static const char *A##_broken(const void *state, const void *params, const struct cc_window *w, \
				      const struct cc_ack *a)                                          \
	{                                                                                              \
		const struct A *ca = state;                                                            \
		const struct A##_params *p = params;                                                   \
		(void)ca, (void)p, (void)w, (void)a;                                                   \
		A##_INVARIANTS(CHECK_INVARIANT)                                                        \
		return NULL;                                                                           \
	}
#define BROKEN_FIELD(A) .broken_invariant = A##_broken,
#else
#define BROKEN(A)
#define BROKEN_FIELD(A)
#endif

#define PARAM_INFO(field, value, one, min, max, choices, doc) \
	{ #field, choices, doc, (value), (one), (min), (max) },

#define DEFINE(name, ...)                                      \
	name##_HOOKS(ERASE, name)                              \
	BROKEN(name)                                           \
	static const struct cc_param_info name##_param_info[] = { \
		name##_PARAMS(PARAM_INFO)                      \
		{ NULL, NULL, NULL, 0, 0, 0, 0 }               \
	};
CC_REGISTRY(DEFINE)

#define HOOK_FIELD(A, hook) .hook = A##_##hook##_erased,
#define ENTRY(id, title_, year_, paper_, kind_, status_)                             \
	{ .name = #id, .title = title_, .paper = paper_, .kind = #kind_, .status = #status_, \
	  .year = year_, .state_bytes = sizeof(struct id),                            \
	  .param_count = sizeof(id##_param_info) / sizeof(id##_param_info[0]) - 1,   \
	  .params = id##_param_info, id##_HOOKS(HOOK_FIELD, id)                       \
	  BROKEN_FIELD(id) },

const struct cc_algorithm cwnd_algorithms[] = { CC_REGISTRY(ENTRY) };
const size_t cwnd_algorithm_count = sizeof(cwnd_algorithms) / sizeof(cwnd_algorithms[0]);

#define CHECK_WINDOW(field, least, most) \
	if ((u64)w->field - (u64)(least) > (u64)(most) - (u64)(least)) return #field;
#define CHECK_ACK(field, least, most) \
	if ((u64)a->field - (u64)(least) > (u64)(most) - (u64)(least)) return #field;

/* The first field that is not in the range that cc.h promises, or out of a relation; NULL: all are. */
const char *cwnd_out_of_range(const struct cc_window *w, const struct cc_ack *a)
{
	CC_WINDOW_RANGES(CHECK_WINDOW)
	CC_ACK_RANGES(CHECK_ACK)
	if (w->cwnd > w->cwnd_clamp)
		return "cwnd";
	if (w->prior_cwnd > w->cwnd_clamp)
		return "prior_cwnd";
	return NULL;
}

/* Rust mirrors these structs; a test compares the sizes. */
const size_t cwnd_struct_bytes[] = {
	sizeof(struct cc_window), sizeof(struct cc_ack), sizeof(struct cc_algorithm), sizeof(struct cc_param_info),
};
