-- confirm
-- $1 payment, $2 gateway's reference, $3 amount and $4 currency that were taken, $5 as many ticket codes as a hold can have
-- seats (the first ones are used: nobody asks before how many there are), $6 who, $7 what the gateway said and
-- $8 where.
-- Money was taken: sell the seats, or owe a refund. Nothing in between: payment, order, seats, tickets (or the refund), the
-- story and the incident change together in this one statement. Also for a payment that was given up before: the gateway
-- has the last word on money.
with bought_for as materialized (
    select o.id, o.show_id, o.seat_nos, o.locked_at, o.state, shows.hold_window_s
    from (select order_id from payments where id = $1) payment
    join orders o on o.id = payment.order_id join shows on shows.id = o.show_id
    for update of o
), payment as materialized (
    -- Read after the wait for it: a payment that was captured meanwhile is known, with the charge it was captured by.
    select p.id, p.state, p.gateway_reference, p.amount_minor = $3 and p.currency = $4 as as_asked
    from bought_for join payments p on p.id = $1 for update of p
), locked as materialized (
    -- Still this order's (nobody took it, even if the hold has lapsed), or free for everybody by the rule.
    select s.seat_no from payment, bought_for b join seats s on s.show_id = b.show_id
    where payment.state <> 'captured' and b.state in ('held', 'paying') and s.seat_no = any (b.seat_nos)
      and ((s.order_id = b.id and s.status = 'locked')
           or is_available(s.status, s.locked_at, b.hold_window_s, clock_timestamp()))
    order by s.seat_no
    for update of s
), counted as materialized (
    select count(*) as seats from locked
), verdict as materialized (
    -- Joined to the count, so that the clock is read after every wait: else money could be said to have come before the
    -- hold of whoever it came too late for.
    select b.*, payment.id as payment_id, clock_timestamp() as now,
           -- Money in a wrong amount ends an order only when no other payment may still buy its seats.
           b.state in ('held', 'paying') and (payment.as_asked or not exists (
               select from payments other where other.order_id = b.id and other.id <> $1 and other.state = 'started')) as ends,
           payment.as_asked and b.state in ('held', 'paying')
               and counted.seats = cardinality(b.seat_nos) as whole,
           case when not payment.as_asked then 'wrong_amount'
                when b.state in ('held', 'paying') then 'too_late'
                when b.state = 'released' then 'given_back'
                else 'paid_twice' end::refund_reason as reason
    from bought_for b, payment, counted where payment.state <> 'captured'
), booked as (
    update seats s set status = 'booked', locked_at = null, order_id = verdict.id
    from verdict, locked
    where verdict.whole and s.show_id = verdict.show_id and s.seat_no = locked.seat_no
    returning s.seat_no
), freed as (
    -- Some seats have gone: those that are still this order's are free by the rule, and must not point at a dead order.
    update seats s set status = 'available', locked_at = null, order_id = null
    from verdict, locked
    where verdict.ends and not verdict.whole and s.show_id = verdict.show_id and s.seat_no = locked.seat_no
      and s.order_id = verdict.id
), issued as (
    insert into tickets (code, order_id, show_id, seat_no, issued_at)
    select issue.code, verdict.id, verdict.show_id, issue.seat_no, verdict.now
    from verdict, unnest(($5::text[])[:cardinality(verdict.seat_nos)], verdict.seat_nos) as issue (code, seat_no)
    where verdict.whole
    returning seat_no
), captured as (
    update payments p set state = 'captured', settled_at = verdict.now, gateway_reference = $2, reason = null,
                          captured_minor = $3, captured_currency = $4, bought = verdict.whole
    from verdict where p.id = verdict.payment_id
), owed as (
    insert into refunds (payment_id, amount_minor, currency, reason, hold_ended_at, owed_since)
    select payment_id, $3, $4, reason, locked_at + hold_window_s * interval '1 second', now
    from verdict where not whole
), ended as (
    -- An order that has ended otherwise (sold by another payment, released) stays what it is.
    update orders o
    set state = case when verdict.whole then 'sold' else 'refund_owed' end::order_state, state_at = verdict.now
    from verdict where verdict.ends and o.id = verdict.id
), set_aside as (
    -- For a person to look at; the money itself goes back. Here, so that no crash can part the two.
    insert into incidents (charge, kind, payment_id, amount_minor, currency, evidence, source)
    select $2, 'wrong_amount', id, $3, $4, $7::text, $8::text::evidence_source from payment
    where not as_asked and (state <> 'captured' or gateway_reference = $2)
    on conflict do nothing
), told as (
    insert into order_events (order_id, at, event, actor, payment_id, why)
    select verdict.id, verdict.now, 'payment_captured'::order_event, $6::text::actor, verdict.payment_id, null from verdict
    union all
    select verdict.id, verdict.now, case when verdict.whole then 'sold' else 'refund_owed' end::order_event,
           $6::text::actor, verdict.payment_id, case when not verdict.whole then verdict.reason::text end from verdict
)
select (select id from bought_for) as order_id,
       (select whole from verdict) as sold,
       (select as_asked from payment) as as_asked,
       (select gateway_reference from payment) as known_as,
       all_or_none((select count(*) from booked), (select cardinality(seat_nos) from verdict)) as booked,
       all_or_none((select count(*) from issued), (select cardinality(seat_nos) from verdict)) as issued
