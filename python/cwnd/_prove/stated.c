/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The hooks of a header as `cwnd kernel` tests them, with programs that compute what the header states of itself:
 * NAME_INVARIANTS, of the state between hooks; NAME_GROWTH, the segments that cong_avoid grows cwnd by at most;
 * NAME_PROGRESS, what grows until cwnd does. STATES_... is defined where the header has the statement.
 */
#include "ebpf/events.c"

/* Keeps the type of the state in BTF. */
STATE shape SEC(".data.shape");

u64 stated[64] SEC(".data.stated");

#define STATED(what, ...)                                                                        \
	static inline void find_##what(const STATE *ca, const PARAMS *p, const struct cc_window *w, \
				       const struct cc_ack *a)                                   \
	{                                                                                        \
		u64 *found = stated;                                                             \
		(void)ca;                                                                        \
		(void)p;                                                                         \
		(void)w;                                                                         \
		(void)a;                                                                         \
		__VA_ARGS__;                                                                     \
	}                                                                                        \
	SEC("stated/" #what) int what(void *ctx)                                                 \
	{                                                                                        \
		struct cc_window w = event.w;                                                    \
		struct cc_ack a = event.a;                                                       \
		(void)ctx;                                                                       \
		find_##what((STATE *)event.state, parameters(), &w, &a);                         \
		return 0;                                                                        \
	}

#define HOLDS(...) *found++ = !!(__VA_ARGS__);
#define TEXT(...) #__VA_ARGS__ "\0"

#ifdef STATES_INVARIANTS
const char invariants_text[] SEC(".rodata.invariants") = NAMED(NAME, _INVARIANTS)(TEXT);
STATED(invariants, NAMED(NAME, _INVARIANTS)(HOLDS))
#endif
#ifdef STATES_GROWTH
STATED(growth, *found = (u64)(NAMED(NAME, _GROWTH)))
#endif
#ifdef STATES_PROGRESS
#define CREDIT(windows, gain, credit, needed) \
	found[0] = (u64)(windows), found[1] = (u64)(gain), found[2] = (u64)(credit), found[3] = (u64)(needed)
STATED(progress, NAMED(NAME, _PROGRESS)(CREDIT))
#endif
