-- confirm_before
-- What a confirmation was before the saga kept an order's story: the same guards, but only for an order that is being paid
-- by a payment under way; no amount is compared, no incident kept, nothing told. What the saga adds is the difference between
-- this one's time and the product's. Columns that came since are filled as the schema wants them.
-- $1 order, $2 payment, $3 gateway's reference, $4 ticket codes.
with paid as materialized (
    select o.id, o.show_id, o.seat_nos, o.locked_at, shows.hold_window_s
    from orders o join shows on shows.id = o.show_id
    where o.id = $1 and o.state = 'paying' for update of o
), payment as materialized (
    select p.id, p.amount_minor, p.currency from paid join payments p on p.order_id = paid.id
    where p.id = $2 and p.state = 'started' for update of p
), locked as materialized (
    select s.seat_no from payment, paid join seats s on s.show_id = paid.show_id
    where s.seat_no = any (paid.seat_nos)
      and ((s.order_id = paid.id and s.status = 'locked')
           or is_available(s.status, s.locked_at, paid.hold_window_s, clock_timestamp()))
    order by s.seat_no
    for update of s
), verdict as materialized (
    select paid.*, payment.id as payment_id, payment.amount_minor, payment.currency, clock_timestamp() as now,
           (select count(*) from locked) = cardinality(paid.seat_nos) as whole
    from paid, payment
), booked as (
    update seats s set status = 'booked', locked_at = null, order_id = verdict.id
    from verdict, locked
    where verdict.whole and s.show_id = verdict.show_id and s.seat_no = locked.seat_no
    returning s.seat_no
), freed as (
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
    update payments p set state = 'captured', settled_at = verdict.now, gateway_reference = $3,
                          captured_minor = verdict.amount_minor, captured_currency = verdict.currency, bought = verdict.whole
    from verdict where p.id = verdict.payment_id
), owed as (
    insert into refunds (payment_id, amount_minor, currency, reason, hold_ended_at, owed_since)
    select payment_id, amount_minor, currency, 'too_late', locked_at + hold_window_s * interval '1 second', now
    from verdict where not whole
), ended as (
    update orders o
    set state = case when verdict.whole then 'sold' else 'refund_owed' end::order_state, state_at = verdict.now
    from verdict where o.id = verdict.id
)
select (select whole from verdict) as sold,
       all_or_none((select count(*) from booked), (select cardinality(seat_nos) from verdict)) as booked,
       all_or_none((select count(*) from issued), (select cardinality(seat_nos) from verdict)) as issued
