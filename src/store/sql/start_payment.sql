-- start_payment
-- $1 order, $2 payment, $3 attempt, $4 the card's last four digits, $5 where to mail the tickets
-- (null: as before), $6 whose order it must be. Records the attempt before any money moves, and renews the hold the first
-- time.
with payable as materialized (
    select o.id, o.show_id, o.visitor_id, o.seat_nos, o.prices, o.currency, shows.hold_window_s, o.locked_at, o.renewed_at
    from orders o join shows on shows.id = o.show_id
    where o.id = $1 and o.visitor_id = $6 and o.state = 'held'
      and not is_available('locked', o.locked_at, shows.hold_window_s, clock_timestamp())
    for update of o
), locked as materialized (
    -- Judged again after any wait: a hold that lapsed meanwhile is not renewed.
    select s.seat_no from payable join seats s on s.show_id = payable.show_id
    where s.seat_no = any (payable.seat_nos) and s.order_id = payable.id and s.status = 'locked'
      and not is_available(s.status, s.locked_at, payable.hold_window_s, clock_timestamp())
    order by s.seat_no
    for update of s
), judged as materialized (
    select payable.*, clock_timestamp() as now from payable
    where (select count(*) from locked) = cardinality(payable.seat_nos)
), whole as materialized (
    -- A row that was waited for but not changed is not evaluated again, so the rule is: by the clock after all waits, which
    -- is also the instant that is written.
    select judged.* from judged where not is_available('locked', locked_at, hold_window_s, now)
), renewed as (
    update seats s set locked_at = whole.now
    from whole, locked
    where whole.renewed_at is null and s.show_id = whole.show_id and s.seat_no = locked.seat_no
    returning s.seat_no
), paying as (
    update orders o
    set state = 'paying', state_at = whole.now,
        locked_at = case when whole.renewed_at is null then whole.now else o.locked_at end,
        renewed_at = coalesce(whole.renewed_at, whole.now),
        -- A renewal takes the visitor's next number, as a hold does. A hold that ran at this moment and counted this order
        -- as lapsed computed the same one: the index lets one of the two through, and the other is judged again. Else a
        -- visitor could come to hold twenty seats.
        nth = case when whole.renewed_at is null
                   then (select max(nth) + 1 from orders
                         where visitor_id = whole.visitor_id and show_id = whole.show_id)
                   else o.nth end,
        email = coalesce($5, o.email),
        window_s = case when whole.renewed_at is null then whole.hold_window_s else o.window_s end
    from whole where o.id = whole.id
), started as (
    insert into payments (id, order_id, attempt, card_ending, amount_minor, currency, state, started_at)
    select $2, whole.id, $3, $4, (select sum(price) from unnest(whole.prices) price), whole.currency, 'started', whole.now
    from whole
    returning amount_minor, currency
), told as (
    insert into order_events (order_id, at, event, actor, payment_id)
    select whole.id, whole.now, 'payment_started', 'visitor', $2 from whole
)
select (select amount_minor from started) as amount_minor,
       (select currency from started) as currency,
       all_or_none((select count(*) from renewed), (select cardinality(seat_nos) from whole)) as renewed
