-- release_hold
-- $1 order. Gives its seats back; the order first, then its seats in seat order, as everybody locks.
with released as materialized (
    select id, show_id, seat_nos from orders where id = $1 and state = 'held' for update
), locked as materialized (
    -- A lapsed hold may have lost its seats to others: only what is still this order's is given back.
    select s.seat_no from released join seats s on s.show_id = released.show_id
    where s.seat_no = any (released.seat_nos) and s.order_id = released.id and s.status = 'locked'
    order by s.seat_no
    for update of s
), freed as (
    update seats s set status = 'available', locked_at = null, order_id = null
    from released, locked
    where s.show_id = released.show_id and s.seat_no = locked.seat_no
    returning s.seat_no
), ended as (
    update orders o set state = 'released', state_at = clock_timestamp() from released where o.id = released.id
    returning o.id, o.state_at
), told as (
    insert into order_events (order_id, at, event, actor) select id, state_at, 'released', 'visitor' from ended
)
select exists (select from released) as "released!", (select count(*) from freed) as "freed!"
