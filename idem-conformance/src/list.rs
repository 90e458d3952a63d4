//! The laws, one by one: the one place that knows them all.
//!
//! [`conformance!`](crate::conformance) turns the list into tests, [`all_laws`](crate::all_laws) into a
//! table, and `LAWS.md` is written from it.

/// Calls another macro of this crate with every law of a group, and with how its laws take the harness:
/// by reference, or by value. A law is
/// `runtime module::function, "number", "wording", "reason", "the wrong store that it is for";`.
#[doc(hidden)]
#[macro_export]
macro_rules! __laws {
    // Without these words nothing is asked.
    (no_exact_time => $callback:ident $arguments:tt) => {};
    (no_reopen => $callback:ident $arguments:tt) => {};
    // For every store.
    (base => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments base by_reference
            Single reserve::r1_a_vacant_operation_is_reserved, "R1",
                "A vacant operation is reserved, as attempt 1 and without progress, whatever is asked for.",
                "Nothing would ever run.",
                "attempts counted from zero";
            Single reserve::r1_stores_share_nothing, "R1",
                "A store that was opened anew is empty, and its time is its own.",
                "Laws that disturb each other prove nothing.",
                "one store for all tests";
            Single reserve::r3_a_live_lease_is_in_conflict, "R3",
                "An operation in flight whose lease is live is in conflict, for any try with the same fingerprint and at any age.",
                "Two run at once.",
                "get, then set after the handler";
            Single reserve::r3_the_hint_is_at_most_what_is_left_of_the_lease, "R3",
                "The hint is more than zero and at most what is left of the holder's lease.",
                "Clients hammer, or wait for longer than they must.",
                "hint of the caller's lease";
            Single reserve::r3_a_conflict_changes_nothing, "R3",
                "A conflict changes nothing: the lease ends when it would have ended.",
                "Impatient clients keep a dead holder's key stuck.",
                "lease extended by a conflict";
            Single reserve::r6_a_completed_operation_is_replayed, "R6",
                "Completed, it is replayed to every repeat, by any token, until it expires; nothing changes, and it is never said to be remembered for longer than it is.",
                "The effect runs again.",
                "runs again once completed";
            Single reserve::r6_each_operation_has_its_own_answer, "R6",
                "Each operation is answered with its own answer.",
                "Somebody gets another's receipt.",
                "key cut at a dash";

            Single mismatch::r4_another_fingerprint_is_a_mismatch_while_it_runs, "R4",
                "In flight, another fingerprint is a mismatch, and nothing changes.",
                "A client's bug looks like a retry.",
                "conflict before mismatch";
            Single mismatch::r4_another_fingerprint_is_a_mismatch_once_completed, "R4",
                "Completed, another fingerprint is a mismatch, and the answer stays.",
                "One payment is answered with another's receipt, or its record is lost.",
                "mismatch that deletes";
            Single mismatch::r4_another_fingerprint_is_a_mismatch_once_lapsed, "R4",
                "Lapsed or unresolved, another fingerprint is a mismatch, and nothing changes.",
                "The first request's retry becomes a mismatch, or the effect of two requests shares a record.",
                "takeover before mismatch";
            Single mismatch::r4_another_fingerprint_is_a_mismatch_once_abandoned, "R4",
                "Abandoned, another fingerprint is a mismatch, and nothing changes.",
                "The first request's retry becomes a mismatch, or the effect of two requests shares a record.",
                "abandonment that forgets the fingerprint";
            Single mismatch::r4_the_holder_s_own_token_is_no_excuse, "R4",
                "Another fingerprint is a mismatch also by the token that holds the record.",
                "The record would be of one request and the run of another.",
                "own token before mismatch";
            Single mismatch::r4_every_bit_of_a_fingerprint_counts, "R4",
                "All 256 bits of a fingerprint count, and so does its version.",
                "Two requests are one, or an upgrade replays on less information.",
                "fingerprint without its version";

            Single takeover::r5_a_lapsed_lease_is_taken_over, "R5",
                "A lapsed lease is taken over as attempt 2, whatever lease the taker asks for.",
                "A crash blocks its key for the whole retention.",
                "expiry of leases ignored";
            Single takeover::r5_an_abandoned_one_is_taken_over_at_once, "R5",
                "An abandoned reservation is taken over at once.",
                "What is known to be safe waits for a lease all the same.",
                "abandonment that keeps the lease";
            Single takeover::r5_the_new_token_holds_the_record, "R5",
                "After a takeover the taker's token holds the record, and completes it.",
                "The taker's answer is refused, and the effect runs once more.",
                "takeover that keeps the old token";
            Single takeover::r5_every_takeover_counts_one_more, "R5",
                "Each takeover is one attempt more.",
                "A late writer of an earlier attempt cannot be told from the current one.",
                "attempt not counted";
            Single takeover::r5_progress_goes_to_the_next_attempt, "R5",
                "What was saved goes to the next attempt, and on to the one after.",
                "A step that was made is made again.",
                "progress dropped at takeover";
            Single takeover::r5_a_takeover_begins_anew, "R5",
                "A taker has its own lease, has not started, and leaves the first reservation's time as it was.",
                "A takeover that never ran counts as one that may have.",
                "takeover that keeps the start";
            Single takeover::r5_the_taker_decides_what_happens_on_lapse, "R5",
                "The taker's wish for what happens on lapse replaces the holder's.",
                "A held effect runs again, or a repeatable one needs a person.",
                "on lapse kept from the first";

            Single hold::r5_hold_asked_by_the_holder_leaves_it_unresolved, "R5",
                "Lapsed, started and held by its holder's wish: a conflict without a hint, for everybody, and nothing changes.",
                "An effect that must not run twice runs twice.",
                "hold taken from the later caller only";
            Single hold::r5_hold_asked_by_the_caller_leaves_it_alone, "R5",
                "Lapsed, and this caller asks for hold: a conflict without a hint, and nothing changes; who does not ask takes over.",
                "A caller that asked not to run again runs again.",
                "hold taken from the record only";
            Single hold::r5_a_held_one_that_never_started_is_taken_over, "R5",
                "Held, but never started: it is taken over.",
                "A crash before the handler needs a person.",
                "hold without a look at the start";
            Single hold::r5_an_abandoned_one_is_taken_over_under_hold, "R5",
                "Abandoned, it is taken over also under hold.",
                "What was said to be safe needs a person.",
                "hold over an abandonment";
            Single hold::r5_an_unresolved_one_is_settled_by_a_person, "R5",
                "What is unresolved can be completed, abandoned or released by who holds it.",
                "It stays unresolved for good.",
                "unresolved records refuse writes";
            Single hold::r5_what_is_too_old_does_not_run_again, "R5",
                "First reserved as long ago as the caller's longest age, or longer: unresolved, also if abandoned or never started; younger, it is taken over.",
                "The provider has forgotten the key, and charges again.",
                "longest age ignored";
            Single hold::r5_the_age_counts_from_the_first_reservation, "R5",
                "The age counts from the first reservation, not from the last.",
                "Retries keep it young until the provider has forgotten.",
                "age of the last reservation";
            Single hold::r5_what_is_too_old_is_still_in_conflict_while_live, "R5",
                "The age is asked of what lapsed or was abandoned: while live it is a conflict with a hint, completed a replay.",
                "Waiting would have helped, and the client is told that it does not.",
                "age before the lease";

            Single scopes::r7_one_key_in_two_scopes_is_two_records, "R7",
                "One key in two scopes is two records, in whatever happens to them.",
                "One client's answer goes to another.",
                "keys global";
            Single scopes::r7_no_separator_joins_two_records, "R7",
                "No separator in a scope or a key makes one record of two.",
                "One client's answer goes to another who chooses the right name.",
                "separator collision";
            Single scopes::r7_scopes_are_bytes, "R7",
                "Scopes are bytes: each of the 256, not text, not trimmed, not decoded.",
                "One client's answer goes to another who chooses the right name.",
                "scopes as lossy text";
            Single scopes::r9_spaces_count, "R9",
                "Spaces count, around a key and within.",
                "Two operations are one.",
                "key trimmed";
            Single scopes::r9_case_counts, "R9",
                "Case counts.",
                "Two operations are one.",
                "key case-folded";
            Single scopes::r9_every_normal_form_is_a_key_of_its_own, "R9",
                "Keys are not normalised, nor compared by a collation.",
                "Two operations are one.",
                "key normalised";
            Single scopes::r9_no_key_is_decoded_or_cut, "R9",
                "Keys are not decoded, quoted, matched as patterns, read as numbers or cut.",
                "Two operations are one.",
                "key cut at a length";

            Single expiry::r8_a_completed_record_expires, "R8",
                "A completed record is vacant once its retention is over: attempt 1, any fingerprint, nothing left of the old.",
                "Keys are stuck for good, and memory is never given back.",
                "completed records stay";
            Single expiry::r8_a_completed_record_is_replayed_until_it_expires, "R8",
                "A completed record is replayed until its retention is over.",
                "The effect runs again within what was promised.",
                "retention counted from half";
            Single expiry::r8_an_abandoned_record_expires, "R8",
                "An abandoned record is vacant once its retention is over.",
                "Keys are stuck for good, and memory is never given back.",
                "abandoned records stay";
            Single expiry::r8_a_lapsed_record_expires_unless_it_is_held, "R8",
                "A lapsed record, made under `RunAgain` or never started, is vacant once its retention is over.",
                "Keys are stuck for good, and memory is never given back.",
                "lapsed records stay";
            Single expiry::r8_held_and_started_it_never_expires, "R8",
                "A record that was made under `Hold` and started never expires before it is settled.",
                "Time alone makes an unknown effect run again.",
                "unresolved records expire";
            Single expiry::r8_what_was_held_expires_once_it_is_settled, "R8",
                "What was held and is settled is remembered as any other record, and expires.",
                "What was settled is forgotten at once, or never.",
                "retention not counted for held records";
            Single expiry::r8_a_live_lease_does_not_expire, "R8",
                "A reservation that is renewed lives on past the retention that it began with.",
                "A live holder loses its key.",
                "expiry of a live lease";
            Single expiry::r8_a_lease_longer_than_the_retention_left_is_kept, "R8",
                "A lease that is renewed past the end of the retention is kept.",
                "A live holder loses its key.",
                "lease cut at the retention";

            Single resend::r10_a_resent_reserve_gets_its_reservation_again, "R10",
                "A reserve repeated with the token that holds the record is reserved again, live or lapsed.",
                "A winner whose answer was lost is told that it lost, and nobody runs.",
                "own lost reserve reported as conflict";
            Single resend::r10_a_resent_takeover_gets_attempt_and_progress_again, "R10",
                "A resent takeover gets the same attempt and the same progress.",
                "The winner's writes are refused, or a step is made twice.",
                "resend that takes over from itself";
            Single resend::r10_a_resend_counts_its_own_lease_from_now, "R10",
                "A resent reserve gets a lease of its own length, counted from now; when it was reserved stays.",
                "The caller counts on a lease that it does not have.",
                "resend with the old lease";
            Single resend::r10_a_resend_keeps_what_happens_on_lapse, "R10",
                "A resent reserve leaves the record's token, its wish on lapse, and that it has not started.",
                "A resend changes what its first copy asked for.",
                "resend that writes a new record";
            Single resend::r10_a_resend_may_ask_for_another_retention, "R10",
                "The retention of a resent reserve counts, and never makes the record's shorter.",
                "A resend changes what its first copy asked for.",
                "resend that shortens the retention";
            Single resend::r10_a_started_reservation_is_not_given_again, "R10",
                "A reserve repeated on its own reservation that has started changes nothing: a conflict with the smallest hint.",
                "A late copy starts a second handler beside the first.",
                "started reservation given again";
            Single resend::r10_a_started_one_that_is_unresolved_says_so, "R10",
                "A reserve repeated on its own reservation that is unresolved, by its wish or the holder's, is a conflict without a hint.",
                "A client waits for what only a person can settle.",
                "hint on an unresolved record";
            Single resend::r10_an_abandoned_reservation_is_not_given_again, "R10",
                "A reserve repeated on its own reservation that is abandoned changes nothing: a conflict with the smallest hint.",
                "A handler that has ended holds the key once more.",
                "late copy that revives an abandoned record";

            Single complete::c1_the_holder_completes_and_the_next_replays, "C1",
                "The holder completes, and the next reserve replays.",
                "The effect runs again.",
                "completion that stores nothing";
            Single complete::c1_every_attempt_may_complete, "C1",
                "Whichever attempt holds the record completes it.",
                "Only a first attempt can ever answer.",
                "completion by attempt 1 only";
            Single complete::c1_the_answer_says_for_how_long_it_is_remembered, "C1",
                "The completion says for how long the answer is remembered, counted anew or not.",
                "A copy of it outlives the record.",
                "time remembered overstated";
            Single complete::c2_a_repeat_is_told_what_stands, "C2",
                "A completion that is repeated is told the answer that stands, and for how long it is remembered.",
                "The caller sends an answer that no repeat will get.",
                "repeat that reports success, not what stands";
            Single complete::c2_a_second_answer_changes_nothing, "C2",
                "A second answer changes nothing.",
                "Two callers get two answers.",
                "second response overwrites the first";
            Single complete::c5_a_renewal_leaves_a_completed_record_alone, "C5",
                "A renewal by who completed is told what stands, and changes nothing.",
                "A heartbeat makes an answered operation run.",
                "renewal that reopens a completed record";
            Single complete::c5_an_abandonment_leaves_a_completed_record_alone, "C5",
                "An abandonment by who completed is told what stands, and changes nothing.",
                "An answered operation runs again.",
                "abandonment of a completed record";
            Single complete::c5_a_release_leaves_a_completed_record_alone, "C5",
                "A release by who completed is told what stands, and changes nothing.",
                "An answered operation runs again.",
                "release of a completed record";
            Single complete::c5_no_request_changes_a_completed_record, "C5",
                "No reserve and no write by a dead token changes a completed record.",
                "An answered operation runs again.",
                "late release of a completed record";

            Single dead_tokens::c3_a_token_that_was_never_issued_writes_nothing, "C3",
                "A token that was never issued writes nothing, whatever the state.",
                "Anybody ends anybody's reservation.",
                "completion without token";
            Single dead_tokens::c3_a_token_that_was_taken_over_writes_nothing, "C3",
                "A token that was taken over writes nothing, and learns nothing of the taker's answer.",
                "A slow first attempt overwrites the result of the second.",
                "writes by who once held it";
            Single dead_tokens::c3_a_token_that_was_released_writes_nothing, "C3",
                "A token that was released writes nothing.",
                "A key that was given back is held again.",
                "completion by upsert";
            Single dead_tokens::c3_a_token_whose_record_expired_writes_nothing, "C3",
                "A token whose record expired writes nothing, purged or not.",
                "What is vacant is written to.",
                "writes to an expired record";
            Single dead_tokens::c3_an_earlier_attempt_of_the_same_token_writes_nothing, "C3",
                "An earlier attempt of the same token writes nothing.",
                "A late copy of attempt 1 ends attempt 3.",
                "completion without attempt";
            Single dead_tokens::c3_the_token_alone_is_not_enough, "C3",
                "The right token with another attempt writes nothing.",
                "A late copy of attempt 1 ends attempt 3.",
                "attempt compared as at least";
            Single dead_tokens::c3_who_was_refused_writes_nothing, "C3",
                "Who was in conflict, a mismatch or given a replay writes nothing.",
                "A duplicate that was turned away destroys the owner's claim.",
                "release by a rejected duplicate";
            Single dead_tokens::c4_a_lapsed_holder_still_completes, "C4",
                "Who has lapsed and was not taken over still completes.",
                "An effect that happened is not recorded, and happens again.",
                "completion needs a live lease";
            Single dead_tokens::c4_a_lapsed_holder_still_renews, "C4",
                "Who has lapsed and was not taken over still renews.",
                "A pause becomes a takeover without a taker.",
                "renewal needs a live lease";
            Single dead_tokens::c4_a_lapsed_holder_still_abandons_and_releases, "C4",
                "Who has lapsed and was not taken over still abandons and releases.",
                "A person cannot settle what is unresolved.",
                "abandonment needs a live lease";

            Single late_copies::r10_a_late_reserve_finds_what_was_completed, "R10",
                "A late copy of the reserve that led to the answer is a replay, and changes nothing.",
                "The answer is lost to a copy.",
                "late copy that reserves a completed record";
            Single late_copies::r10_a_late_reserve_takes_nothing_back, "R10",
                "A late copy of a reserve that was taken over is in conflict with the taker.",
                "The dead attempt holds the key again.",
                "late copy that takes its record back";
            Single late_copies::c3_a_late_renewal_brings_nothing_back, "C3",
                "A late renewal brings back nothing that was released, abandoned or taken over.",
                "A heartbeat outlives its handler.",
                "renewal that revives a dead token";
            Single late_copies::c3_a_late_completion_brings_nothing_back, "C3",
                "A late completion brings back nothing that was released or has expired.",
                "A record appears that nobody reserved.",
                "completion that inserts";
            Single late_copies::c3_a_late_abandonment_or_release_frees_nobody_else_s, "C3",
                "A late abandonment or release frees nobody else's reservation.",
                "Two run at once.",
                "release by key alone";
            Single late_copies::c5_every_late_write_of_who_completed_is_told_so, "C5",
                "Every late write of who completed is told what stands, again and again.",
                "The caller takes its own answer for lost.",
                "superseded once completed";

            Single renew::c6_a_renewal_extends_the_lease_from_now, "C6",
                "A renewal extends the lease, counted from now.",
                "A live holder is taken over, or a dead one blocks for longer.",
                "lease added to the one before";
            Single renew::c6_a_renewal_may_ask_for_another_lease, "C6",
                "A renewal extends the lease by the length that it asks for.",
                "A live holder is taken over, or a dead one blocks for longer.",
                "renewal by the first lease";
            Single renew::c6_a_renewal_never_shortens_a_lease, "C6",
                "A renewal never shortens a lease.",
                "A late copy of a renewal ends a longer lease.",
                "renewal that shortens a lease";
            Single renew::c6_a_renewal_says_that_it_started, "C6",
                "A renewal marks the reservation as started: it may have run.",
                "A held effect runs twice.",
                "renewal that does not mark the start";
            Single renew::c6_a_renewal_is_no_reservation, "C6",
                "A renewal is no new reservation: token, attempt and the times of reservation stay.",
                "The age for running again never comes.",
                "renewal that counts as a reservation";
            Single renew::c6_progress_is_kept_until_it_is_replaced, "C6",
                "Progress is kept until it is replaced, also by nothing at all.",
                "A heartbeat wipes the recovery point.",
                "renewal that forgets progress";
            Single renew::c6_progress_is_bytes, "C6",
                "Progress is bytes, up to 64 KiB of them; empty is not none.",
                "A recovery point comes back as something else.",
                "progress as text";

            Single abandon::c7_an_abandonment_ends_the_lease_now, "C7",
                "An abandonment ends the lease now, and passes the progress on.",
                "The retry waits for a lease that nobody needs.",
                "abandonment that drops progress";
            Single abandon::c7_an_abandonment_keeps_the_record, "C7",
                "An abandonment keeps the record: fingerprint, holder, start and times.",
                "Another payload slips in.",
                "abandonment as release";
            Single abandon::c7_an_abandoned_record_takes_no_renewal, "C7",
                "An abandoned record takes no renewal.",
                "A heartbeat that arrives late blocks the retry.",
                "late renewal revives an abandoned record";
            Single abandon::c7_abandoning_again_changes_nothing, "C7",
                "Abandoning again changes nothing, however late.",
                "A late copy keeps the record young.",
                "abandonment that counts anew";
            Single abandon::c7_who_abandoned_may_still_complete_or_release, "C7",
                "Who abandoned may still complete or release.",
                "An answer that was found after all cannot be recorded.",
                "abandonment that drops the token";

            Single release::c8_a_release_makes_the_key_vacant, "C8",
                "A release makes the key vacant.",
                "A client that was told to try again cannot.",
                "release that keeps the record";
            Single release::c8_a_release_forgets_everything, "C8",
                "A release forgets all: fingerprint, progress, times.",
                "The next operation starts half-way through another.",
                "release that keeps the fingerprint";
            Single release::c8_a_second_release_touches_nobody_else, "C8",
                "A second release touches nobody else's record.",
                "Two run at once.",
                "second release frees the next holder";

            Single retention::t3_reads_do_not_restart_it, "T3",
                "Neither `get`, nor `lapsed`, nor a purge restarts the retention.",
                "A record that is watched never leaves.",
                "retention restarted by reads";
            Single retention::t3_replays_do_not_restart_it, "T3",
                "Neither replays, nor late writes of who completed, restart the retention.",
                "A key that is retried for ever is remembered for ever.",
                "retention restarted by replays";
            Single retention::t3_conflicts_and_mismatches_do_not_restart_it, "T3",
                "Neither conflicts nor mismatches restart the retention.",
                "A key that is retried for ever is remembered for ever.",
                "retention restarted by conflicts";
            Single retention::t3_a_renewal_counts_it_anew_when_half_would_not_be_left, "T3",
                "A renewal counts the retention anew if less than half would be left after the lease, and not otherwise.",
                "A long operation is forgotten as soon as it is answered.",
                "retention never counted anew";
            Single retention::t3_a_takeover_counts_it_anew_when_half_would_not_be_left, "T3",
                "A takeover counts the retention anew if less than half would be left after its lease, and not otherwise.",
                "A long operation is forgotten as soon as it is answered.",
                "retention restarted by a takeover";
            Single retention::t3_a_resend_counts_it_anew_when_half_would_not_be_left, "T3",
                "A resent reserve counts the retention anew if less than half would be left after its lease, and not otherwise.",
                "A long operation is forgotten as soon as it is answered.",
                "retention not counted anew by a resend";
            Single retention::t3_a_completion_counts_it_anew_when_half_would_not_be_left, "T3",
                "A completion counts the retention anew if less than half is left, and not otherwise.",
                "A long operation is forgotten as soon as it is answered.",
                "not counted anew at completion";
            Single retention::t3_an_abandonment_counts_it_anew_when_half_would_not_be_left, "T3",
                "An abandonment counts the retention anew if less than half is left, and not otherwise; abandoning again does not.",
                "The record is gone before its retry.",
                "not counted anew at abandonment";
            Single retention::t3_at_least_half_is_left_after_the_answer, "T3",
                "Whenever it is answered, at least half of the retention is left.",
                "What was promised to clients is not kept.",
                "retention from the first reservation only";
            Single retention::t3_it_never_gets_shorter, "T3",
                "Nobody makes the retention shorter by asking for less.",
                "What was promised to clients is not kept.",
                "retention of the last request";
            Single retention::t3_who_asks_for_more_gets_more, "T3",
                "Who asks for a longer retention gets it when it is counted anew.",
                "What was promised to clients is not kept.",
                "retention of the first request";

            Single time::t1_the_longest_lease_neither_panics_nor_wraps, "T1",
                "The longest lease is one that is live a year later: it saturates at what the store keeps.",
                "A lease of forever is one of nothing.",
                "durations that wrap";
            Single time::t1_the_longest_retention_neither_panics_nor_wraps, "T1",
                "The longest retention is one that holds a year later.",
                "A lease of forever is one of nothing.",
                "retention that wraps";
            Single time::t1_a_month_and_more_is_not_cut, "T1",
                "Leases of 26, 51 and 180 days are not cut.",
                "A long lease ends after days: milliseconds in 31 or 32 bits.",
                "milliseconds in 32 bits";
            Single time::t1_one_millisecond_is_not_none, "T1",
                "A lease and a retention of a millisecond come to an end.",
                "A record without an end: a key stuck for good.",
                "durations cut to whole seconds";
            Single time::t1_the_longest_age_is_never_reached, "T1",
                "The longest age is never reached; none is reached at once.",
                "What may run again is held, or the other way round.",
                "age that wraps";
            Single time::t1_the_longest_wait_neither_panics_nor_ends_early_for_good, "T1",
                "A wait of any length leaves the store in order.",
                "A time-out of forever is a panic.",
                "wait that overflows";
            Single time::t2_all_handles_see_one_time, "T2",
                "All handles see one time: the store's.",
                "A node whose clock is ahead takes over a live lease.",
                "the caller's clock used";
            Single time::t2_a_request_counts_from_when_it_arrives, "T2",
                "A request counts from when it arrives, not from when it was made.",
                "A node whose clock is ahead takes over a live lease.",
                "time read before the call";

            Single purge::p1_only_what_is_expired_is_removed, "P1",
                "A purge removes only what is expired, and says so.",
                "The effect runs again.",
                "purge of everything";
            Single purge::p1_what_is_unresolved_is_never_removed, "P1",
                "A purge never removes what is unresolved.",
                "An unknown effect runs again, and nobody learns of it.",
                "unresolved records purged";
            Single purge::p1_a_call_removes_at_most_its_limit, "P1",
                "A purge removes at most its limit a call; repeated, it leaves nothing that is due.",
                "A purge that locks the store for an hour, or never ends.",
                "purge of everything at once";
            Single purge::p1_what_was_given_more_time_stays, "P1",
                "A purge leaves what was given more time.",
                "A live holder loses its key.",
                "purge by the first due time";
            Single purge::p1_what_was_reserved_anew_stays, "P1",
                "A purge leaves what expired and was reserved anew.",
                "A live holder loses its key.",
                "purge by a stale list";

            Single inspect::p2_get_shows_a_reservation, "P2",
                "`get` shows a reservation with all that it has.",
                "An operator settles the wrong thing.",
                "`get` without the fingerprint's version";
            Single inspect::p2_get_shows_what_lapsed, "P2",
                "`get` tells lapsed from unresolved, and says since when.",
                "An operator settles the wrong thing.",
                "`get` that calls all of it lapsed";
            Single inspect::p2_get_shows_a_takeover, "P2",
                "`get` shows the current attempt, and when the first was reserved.",
                "An operator settles the wrong thing.",
                "`get` that shows the first attempt";
            Single inspect::p2_get_shows_an_answer, "P2",
                "`get` shows the answer, and who gave it.",
                "An operator settles the wrong thing.",
                "`get` without the answer";
            Single inspect::p2_get_changes_nothing, "P2",
                "`get` changes nothing.",
                "Looking is acting.",
                "`get` that renews";
            Single inspect::p2_get_shows_nothing_where_nothing_is, "P2",
                "`get` shows nothing where nothing is, or what was has expired.",
                "An operator revives what is forgotten.",
                "`get` shows an expired record";
            Single inspect::p2_lapsed_lists_what_nobody_attends, "P2",
                "`lapsed` lists what lapsed, is unresolved or was abandoned, marked so, and nothing else.",
                "What needs a person is not found.",
                "`lapsed` without the abandoned";
            Single inspect::p2_lapsed_shows_what_get_shows, "P2",
                "`lapsed` shows what `get` shows.",
                "What is settled is not what was seen.",
                "`lapsed` with the first holder";
            Single inspect::p2_lapsed_forgets_what_expired, "P2",
                "`lapsed` takes what expired as absent.",
                "What is settled is not what was seen.",
                "`lapsed` shows an expired record";
            Single inspect::p2_lapsed_gives_the_longest_lapsed_first, "P2",
                "`lapsed` gives the longest lapsed first, on pages of any size.",
                "The oldest case waits behind new ones.",
                "`lapsed` in order of keys";
            Single inspect::p2_lapsed_lists_each_record_once, "P2",
                "A walk through `lapsed` lists each record once, also of those that lapsed at one instant.",
                "Cases are missed at the edge of a page.",
                "pages by time alone";
            Single inspect::p2_a_walk_goes_on_when_records_are_settled, "P2",
                "A walk through `lapsed` goes on when what it listed is settled.",
                "Cases are missed at the edge of a page.",
                "pages by count";

            Both waiting::w1_every_kind_of_write_wakes, "W1",
                "Every write after the wait began ends it.",
                "Callers sleep until their time is over.",
                "lost wake-up";
            Both waiting::w1_everyone_who_waits_is_woken, "W1",
                "Everyone who waits is woken, also if another gave up.",
                "Callers sleep until their time is over.",
                "one waiter woken";
            Both waiting::w1_no_wake_up_is_lost, "W1",
                "Who begins to wait, looks, and then waits misses nothing.",
                "Callers sleep until their time is over.",
                "wait registered too late";
            Both waiting::w1_a_wait_ends_in_its_time, "W1",
                "A wait ends in the time that it was given, whatever is written.",
                "A request outlives its client.",
                "wait without an end";

            Single sizes::s1_every_legal_scope_and_key_is_kept, "S1",
                "Every legal scope and key is kept: 255 bytes, any script, quotes, braces, control bytes in scopes.",
                "A client's choice of name is an outage.",
                "names cut at 200 bytes";
            Single sizes::s1_every_legal_scope_and_key_is_listed, "S1",
                "Every legal scope and key is listed by `lapsed`, page by page.",
                "An operator's list breaks off at a client's choice of name.",
                "cursor that cannot hold a key";

            Single responses::s1_the_status_is_kept, "S1",
                "The status is kept.",
                "A declined card is shown as paid.",
                "status replaced by 200";
            Single responses::s1_headers_keep_their_order, "S1",
                "Headers keep their order.",
                "A replay is not the first answer.",
                "headers reordered";
            Single responses::s1_headers_may_repeat, "S1",
                "Headers may repeat, and are not merged.",
                "Cookies and links are broken.",
                "headers merged at commas";
            Single responses::s1_header_names_keep_their_case, "S1",
                "Header names keep their case.",
                "A replay is not the first answer.",
                "header names lower-cased";
            Single responses::s1_header_values_are_bytes, "S1",
                "Header values are bytes.",
                "A replay is not the first answer.",
                "non-UTF-8 values replaced";
            Single responses::s1_the_body_is_bytes, "S1",
                "The body is bytes: all 256 values, not text.",
                "A replay is not the first answer.",
                "body as lossy text";
            Single responses::s1_a_body_of_json_is_not_read, "S1",
                "A body of JSON comes back as it was written.",
                "A signature over it breaks.",
                "body re-serialised as JSON";
            Single responses::s1_an_empty_body_is_an_answer, "S1",
                "An empty body is an answer.",
                "No content is taken for no answer, and the effect runs again.",
                "empty body lost";
            Single responses::s1_trailers_are_kept, "S1",
                "Trailers are kept.",
                "The outcome of a call over gRPC is lost.",
                "trailers dropped";
            Single responses::s1_what_was_too_large_is_remembered_as_such, "S1",
                "That an answer was too large to keep is remembered, with its status and length.",
                "The effect runs again.",
                "too large answers forgotten";

            Both concurrency::r2_of_many_at_once_exactly_one_wins, "R2",
                "Of 2, 20 or 100 callers that reserve one vacant operation at once, exactly one gets it.",
                "Two winners are a double charge.",
                "check-then-insert";
            Both concurrency::r2_also_where_a_record_was_released_or_expired, "R2",
                "Of many callers that reserve at once what was released or has expired, exactly one gets it.",
                "Two winners are a double charge.",
                "check-then-insert over an expired record";
            Both concurrency::r2_of_two_payloads_exactly_one_wins, "R2",
                "Of many callers with two payloads at once, exactly one wins; the others are in conflict or a mismatch, by their payload.",
                "Two winners are a double charge.",
                "winner decided by the fingerprint";
            Both concurrency::r2_many_operations_at_once_do_not_meet, "R2",
                "Of many operations at once, each has its own winner.",
                "Who is alone with an operation is refused.",
                "one lock's winner for all";
            Multi concurrency::r3_not_one_of_thousands_is_given_a_live_lease, "R3",
                "Not one of 14 000 tries at a live lease is given it: a double grant in a thousand is missed less than once in a million.",
                "Two run at once, once in a while.",
                "double grant one time in a thousand";
            Both concurrency::r5_of_many_takers_exactly_one_wins, "R5",
                "Of 20 callers that reserve what lapsed or was abandoned at once, exactly one takes over.",
                "Two takers are a double charge.",
                "takeover decided on a stale read";
            Both concurrency::r10_many_copies_of_one_try_are_one_reservation, "R10",
                "Many copies of one try at once are one reservation.",
                "A winner is in conflict with itself.",
                "copies in conflict with each other";
            Both concurrency::c2_of_many_answers_exactly_one_stands, "C2",
                "Of many answers by one holder at once, exactly one stands, and everybody is told which.",
                "Two callers get two answers.",
                "completion decided on a stale read";

            Both races::c3_a_late_completion_and_a_takeover_do_not_both_win, "C3",
                "A late completion and a takeover at once: one wins, and the other is told.",
                "An answered operation runs again.",
                "takeover that overwrites a completion";
            Both races::c5_a_completion_and_a_release_do_not_both_win, "C5",
                "A completion and a release by one holder at once: one wins, and the other is told.",
                "An answer that was acknowledged is gone.",
                "release decided on a stale read";
            Both races::c6_a_late_renewal_and_a_takeover_do_not_both_win, "C6",
                "A late renewal and a takeover at once: one wins, and the other is told.",
                "Two run at once.",
                "renewal decided on a stale read";
            Both races::c7_a_late_abandonment_takes_nothing_from_a_taker, "C7",
                "A late abandonment at the instant of a takeover takes nothing from the taker.",
                "Two run at once.",
                "abandonment decided on a stale read";
            Both races::c8_a_late_release_takes_nothing_from_a_taker, "C8",
                "A late release at the instant of a takeover takes nothing from the taker.",
                "Two run at once.",
                "late release of a taken record";
            Both races::p1_a_purge_beside_reserves_takes_nothing_from_them, "P1",
                "A purge beside reserves takes nothing that was reserved anew.",
                "Two run at once.",
                "purge that lists, then deletes";

            Single durability::d1_what_one_handle_was_told_every_handle_knows, "D1",
                "What one handle was told, every handle knows, also when it is gone.",
                "A crash of the caller loses what was acknowledged.",
                "writes kept with the handle";
        }
    };
    // For stores with an injected clock: the instants at which something changes, to the millisecond.
    (exact_time => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments exact_time by_reference
            Single exact_time::t2_no_time_passes_by_itself, "T2",
                "No time passes unless the clock is advanced.",
                "Real time would decide verdicts: the word `exact_time` is wrong, or the store has a second clock.",
                "a second clock";
            Single exact_time::r3_a_lease_is_live_until_its_last_millisecond, "R3",
                "A lease is live while now is before its end, and not at its end.",
                "Stores that disagree on the boundary take over a live holder.",
                "lease live at its end";
            Single exact_time::r5_what_is_as_old_as_the_longest_age_is_too_old, "R5",
                "What is exactly as old as the longest age is too old.",
                "The provider forgets at that very moment.",
                "age compared as more than";
            Single exact_time::r8_a_record_is_there_until_its_last_millisecond, "R8",
                "A record is there while now is before the end of its retention, and not at its end.",
                "Stores that disagree on the boundary replay or run again.",
                "record there at its end";
            Single exact_time::t3_half_is_enough_and_a_millisecond_less_is_not, "T3",
                "Exactly half is enough; a millisecond less is counted anew.",
                "Stores disagree on what clients are promised.",
                "half compared as at most";
            Single exact_time::c6_a_renewed_lease_counts_from_now, "C6",
                "A renewed lease counts from now, to the millisecond.",
                "Stores disagree on what clients are promised.",
                "renewal rounded to seconds";
            Single exact_time::p2_every_duration_counts_from_the_call, "P2",
                "Every duration that is shown counts from the call.",
                "An operator reads the wrong age.",
                "ages rounded to seconds";
            Single exact_time::p2_lapsed_lists_a_lease_from_its_end_on, "P2",
                "`lapsed` lists a lease from its end on.",
                "An operator does not see what the next request will take.",
                "`lapsed` lists a live lease";
            Single exact_time::p1_what_has_a_millisecond_left_stays, "P1",
                "What has a millisecond left is not purged.",
                "The effect runs again within what was promised.",
                "purge a second early";
            Single exact_time::t1_a_millisecond_is_a_millisecond, "T1",
                "A lease and a retention of milliseconds end after as many.",
                "A short lease blocks, or never holds.",
                "durations rounded up to seconds";
        }
    };
    // For stores that outlive their process.
    (reopen => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments reopen by_value
            Single durability::d1_a_reservation_survives, "D1",
                "A reservation that was acknowledged survives, with its lease and its token.",
                "Two run at once after a crash.",
                "reservations in memory";
            Single durability::d1_an_answer_survives, "D1",
                "An answer survives, for as long as it would have been remembered.",
                "The effect runs again after a crash.",
                "answers in memory";
            Single durability::d1_a_renewal_survives, "D1",
                "A renewal survives: lease, start, progress.",
                "The effect runs again after a crash; a held effect runs twice.",
                "renewals in memory";
            Single durability::d1_an_abandonment_survives, "D1",
                "An abandonment survives.",
                "A retry waits for a lease that nobody needs.",
                "abandonments in memory";
            Single durability::d1_a_release_survives, "D1",
                "A release survives.",
                "A key that was given back is stuck.",
                "releases in memory";
            Single durability::d1_a_takeover_survives, "D1",
                "A takeover survives: the dead stay dead.",
                "A slow first attempt overwrites the second.",
                "takeovers in memory";
            Single durability::d1_what_is_unresolved_survives, "D1",
                "What is unresolved survives, and is listed.",
                "Nobody learns of it.",
                "the start in memory";
            Single durability::d1_no_replay_is_given_before_it_is_durable, "D1",
                "No replay is given before the answer is durable.",
                "A client was answered, and the next is answered otherwise.",
                "replay before it is durable";
            Single durability::d1_nobody_is_told_what_stands_before_it_is_durable, "D1",
                "Nobody is told what stands before it is durable.",
                "A client was answered, and the next is answered otherwise.",
                "repeat answered before it is durable";
            Single durability::d1_no_reservation_is_repeated_before_it_is_durable, "D1",
                "No reservation is given again before it is durable.",
                "Two run at once after a crash.",
                "resend answered before it is durable";
        }
    };
    // For stores that state no limit.
    (no_limit => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments no_limit by_reference
            Single sizes::s1_without_a_stated_limit_large_responses_come_back, "S1",
                "A store that states no limit keeps responses of 8 MiB; one that has a limit says so by the word `limit`.",
                "An answer is cut, or its completion fails where nobody expects it.",
                "a response cut at a length";
        }
    };
    // For stores that keep responses only up to a size.
    (limit => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments limit by_reference
            Single sizes::s1_responses_up_to_the_limit_come_back, "S1",
                "Responses up to the stated limit come back unchanged.",
                "An answer is cut, or its completion fails where nobody expects it.",
                "a limit lower than stated";
            Single sizes::s1_a_response_over_the_limit_is_refused, "S1",
                "A response over the limit is a too-large error before anything is written; that it was too large can be recorded.",
                "An answer is cut, or the effect runs again.",
                "a limit that cuts";
        }
    };
    // For stores that answer every call themselves.
    (no_copies => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments no_copies by_reference
            Single reserve::r6_a_replay_says_for_how_long_it_is_remembered, "R6",
                "A replay says for how long it is still remembered.",
                "A client repeats too late.",
                "time remembered of the whole retention";

            Multi histories::l1_concurrent_histories_are_linearizable, "L1",
                "Any concurrent history on one record is linearizable against the state machine; a call whose outcome is unknown takes effect at any later time, or never.",
                "A store that is right for one caller at a time may still look in one moment and write in another.",
                "look, then write";
        }
    };
    // For stores with an injected clock and without such a cache.
    (exact_time_no_copies => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments exact_time_no_copies by_reference
            Single model::l1_random_scripts_agree_to_the_millisecond, "L1",
                "The same where calls fall on the very instants at which something changes, and durations are compared to the millisecond.",
                "Off by one is a live holder taken over, or a record that is expired for one call and stands for the next.",
                "off by one millisecond";
            Multi histories::l1_concurrent_histories_are_linearizable_to_the_millisecond, "L1",
                "The same with durations compared to the millisecond.",
                "A call may read the clock before another call's write, and count its lease from there.",
                "time remembered by half";
        }
    };
    // For stores behind a cache.
    (copies => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments copies by_reference
            Single cached::r6_a_copy_is_given_for_half_of_the_retention_at_most, "R6",
                "A copy is given for at most half of what the record is remembered for; the record goes on without it.",
                "A copy outlives its record: a replay and a run.",
                "copies for the whole retention";
        }
    };
    // For stores behind a cache that never refuses.
    (copies_no_marks => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments copies_no_marks by_reference
            Multi histories::l1_concurrent_histories_are_linearizable_at_one_moment, "L1",
                "Any concurrent history on one record is linearizable against the state machine, while time stands still.",
                "A cache may answer in one moment for a record of another.",
                "look, then write, behind copies";
        }
    };
    // For stores without such a cache.
    (no_marks => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments no_marks by_reference
            Both races::c7_a_renewal_beside_it_does_not_undo_an_abandonment, "C7",
                "A renewal at the instant of an abandonment does not undo it.",
                "A retry waits for a lease that nobody needs.",
                "renewal beside an abandonment";

            Single model::l1_random_scripts_agree_with_the_machine, "L1",
                "Any sequence of calls, with time moving between them, has the outcomes of the state machine, and leaves the records that it leaves.",
                "Rules that hold one by one can still contradict each other in a sequence that nobody thought of.",
                "two rules that hold one by one";
        }
    };
    // For stores behind a cache that refuses rapid repeats.
    (marks => $callback:ident $arguments:tt) => {
        $crate::$callback! { $arguments marks by_reference
            Single cached::r3_a_mark_refuses_for_a_second_at_most, "R3",
                "A mark refuses for a second at most, and goes with what it marked.",
                "A false conflict lasts.",
                "marks for the whole lease";

            Both races::c7_a_renewal_beside_it_delays_an_abandonment_by_a_mark, "C7",
                "A renewal at the instant of an abandonment delays the next attempt by no more than a mark.",
                "A false conflict lasts.",
                "a mark that is put for a lease";
        }
    };
}
