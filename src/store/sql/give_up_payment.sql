-- give_up_payment
-- $1 payment, $2 why its card was declined (null: the gateway failed), $3 who. The order first, then its payment, as
-- everybody locks.
with paid_for as materialized (
    select o.id, o.state from (select order_id from payments where id = $1) payment
    join orders o on o.id = payment.order_id for update of o
), settled as (
    update payments p
    set state = case when $2::text is null then 'failed' else 'declined' end::payment_state, reason = $2,
        settled_at = clock_timestamp()
    from paid_for where p.id = $1 and p.state = 'started'
    returning p.settled_at
), back as (
    -- An order that has ended meanwhile (another payment bought its seats) stays what it is.
    update orders o set state = 'held', state_at = settled.settled_at
    from settled, paid_for where o.id = paid_for.id and paid_for.state = 'paying'
)
insert into order_events (order_id, at, event, actor, payment_id, why)
select paid_for.id, settled.settled_at,
       case when $2::text is null then 'payment_failed' else 'payment_declined' end::order_event, $3::text::actor, $1, $2
from settled, paid_for
