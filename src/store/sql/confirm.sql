-- confirm
-- $1 order, $2 payment, $3 gateway's reference, $4 ticket codes. Money was taken: sell the seats, or owe a refund.
-- Nothing in between: payment, order, seats and tickets (or the refund) change together in this one statement.
with paid as materialized (
    select o.id, o.show_id, o.seat_nos, o.locked_at, shows.hold_window_s
    from orders o join shows on shows.id = o.show_id
    where o.id = $1 and o.state = 'paying' for update of o
), payment as materialized (
    select p.id, p.amount_minor from paid join payments p on p.order_id = paid.id
    where p.id = $2 and p.state = 'started' for update of p
), locked as materialized (
    -- Still this order's (nobody took it, even if the hold has lapsed), or free for everybody by the rule.
    select s.seat_no from payment, paid join seats s on s.show_id = paid.show_id
    where s.seat_no = any (paid.seat_nos)
      and ((s.order_id = paid.id and s.status = 'locked')
           or is_available(s.status, s.locked_at, paid.hold_window_s, clock_timestamp()))
    order by s.seat_no
    for update of s
), verdict as materialized (
    select paid.*, payment.id as payment_id, payment.amount_minor, clock_timestamp() as now,
           (select count(*) from locked) = cardinality(paid.seat_nos) as whole
    from paid, payment
), booked as (
    update seats s set status = 'booked', locked_at = null, order_id = verdict.id
    from verdict, locked
    where verdict.whole and s.show_id = verdict.show_id and s.seat_no = locked.seat_no
    returning s.seat_no
), freed as (
    -- Some seats have gone: those that are still this order's are free by the rule, and must not point at a dead order.
    update seats s set status = 'available', locked_at = null, order_id = null
    from verdict, locked
    where not verdict.whole and s.show_id = verdict.show_id and s.seat_no = locked.seat_no and s.order_id = verdict.id
), issued as (
    insert into tickets (code, order_id, show_id, seat_no, issued_at)
    select issue.code, verdict.id, verdict.show_id, issue.seat_no, verdict.now
    from verdict, unnest($4::text[], verdict.seat_nos) as issue (code, seat_no)
    where verdict.whole
    returning seat_no
), captured as (
    update payments p set state = 'captured', settled_at = verdict.now, gateway_reference = $3
    from verdict where p.id = verdict.payment_id
), owed as (
    insert into refunds (payment_id, amount_minor, hold_ended_at, owed_since)
    select payment_id, amount_minor, locked_at + hold_window_s * interval '1 second', now
    from verdict where not whole
), ended as (
    update orders o
    set state = case when verdict.whole then 'sold' else 'refund_owed' end::order_state, state_at = verdict.now
    from verdict where o.id = verdict.id
)
select (select whole from verdict) as sold,
       all_or_none((select count(*) from booked), (select cardinality(seat_nos) from verdict)) as booked,
       all_or_none((select count(*) from issued), (select cardinality(seat_nos) from verdict)) as issued
