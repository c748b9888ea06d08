/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Deliberate faults, to prove that the tests find them. They are compiled into the
 * core of one test program only (-DDSM_FAULTS); elsewhere dsm_fault() is false.
 */
#ifndef SONDE_DSM_FAULTS_H
#define SONDE_DSM_FAULTS_H

#define DSM_FAULT_TABLE(X) \
	X(SKIP_INVALIDATION, "a notice does not invalidate the copy") \
	X(OVERWRITE_DIRTY, "a page that comes replaces what was written here") \
	X(STALE_TWIN, "a page that comes is not copied to the twin") \
	X(ALWAYS_COMPLETE, "a writer takes its copy for complete after any diff") \
	X(NO_ACKS, "a release does not wait for acknowledgements") \
	X(STALE_FETCH, "a page older than a notice asked for is taken") \
	X(NO_REFETCH, "a page sent before our diff arrived is taken") \
	X(STAY_EXCLUSIVE, "a home goes on writing unseen after its page was fetched") \
	X(OWN_NOTICES_ONLY, "a grant has only the granter's intervals") \
	X(NO_FLUSH, "a lock goes to another process without a release") \
	X(EARLY_COLLECTION, "notices are dropped when a lock is granted") \
	X(NOT_DEFERRED, "a grant is taken before the barrier it builds on") \
	X(ARRIVAL_OWN_ONLY, "an arrival leaves out late intervals of others") \
	X(BARRIER_EARLY, "a barrier opens with one process missing") \
	X(BARRIER_NO_NOTICES, "a departure has no notices") \
	X(LOST_TAIL, "a lock's manager does not remember who asked last") \
	X(TWO_HOLDERS, "a lock is granted although it is held") \
	X(DUPLICATES, "a message that comes twice is handled twice") \
	X(UNORDERED_WAIT, "a wait gives its lock up before it is in the queue") \
	X(LOST_RESUME, "a signal is lost on who has not given its lock up yet") \
	X(WORD_DIFFS, "a diff has whole words") \
	X(UNSEEN_RELEASE, "a release does not ask for unseen writes") \
	X(UNSEEN_VOID, "unseen writes to a page that becomes void are not asked for") \
	X(TWIN_STAYS, "a page is written after it was compared, and its twin is the old one") \
	X(UNORDERED_TELL, "who tells does not release before") \
	X(TELL_NO_NOTICES, "who is told gets no notices") \
	X(LOST_CANCEL, "a wait that is over stays in the queue of its condition") \
	X(RACE_NOT_SHUT, "who looks for races takes another's diff for own writes") \
	X(RACE_NO_CLOCK, "who looks for races does not send what an interval knew of") \
	X(READ_UNNUMBERED, "an interval that only read has no number") \
	X(UNSETTLED, "a page that the host has filled is not looked after at a notice") \
	X(OFFER_UNSENT, "the host may fill a page that lacks our own diff") \
	X(UNSEEN_COPY, "writes to a home's open page are not told of after a copy") \
	X(RANGE_KEPT, "a range that is acquired keeps its copies") \
	X(RANGE_UNDER_WAY, "a range that is acquired takes copies that were asked for before") \
	X(RANGE_SAME, "a home takes a copy one version old for the newest") \
	X(RANGE_FORGETS, "what a release of a range leaves out is not dirty any more")

enum dsm_fault {
	DSM_FAULT_NONE,
#define X(name, what) DSM_FAULT_##name,
	DSM_FAULT_TABLE(X)
#undef X
	DSM_FAULTS_END,
};

#ifdef DSM_FAULTS
extern enum dsm_fault dsm_fault_now;
#define dsm_fault(name) (dsm_fault_now == DSM_FAULT_##name)
#else
#define dsm_fault(name) 0
#endif

#endif
