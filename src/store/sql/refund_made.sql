-- refund_made
-- $1 payment, $2 gateway's reference, $3 who. The order first, as everybody locks.
with refunded_for as materialized (
    select o.id, o.state from (select order_id from payments where id = $1) payment
    join orders o on o.id = payment.order_id for update of o
), made as (
    update refunds r set refunded_at = clock_timestamp(), gateway_reference = $2
    from refunded_for where r.payment_id = $1 and r.refunded_at is null
    returning r.refunded_at
), ended as (
    update orders o set state = 'refunded', state_at = made.refunded_at
    from made, refunded_for
    where o.id = refunded_for.id and refunded_for.state = 'refund_owed' and not owes_another_refund(refunded_for.id, $1)
)
insert into order_events (order_id, at, event, actor, payment_id, why)
select refunded_for.id, made.refunded_at, 'refunded', $3::text::actor, $1, $2 from made, refunded_for
