-- hold_seats
-- One round trip, all or none. $1 show, $2 seat numbers (different, ascending), $3 visitor, $4 order, $5 most seats,
-- $6 the visitor's place in the show's waiting room, if there is one. No row: there is no such show.
--
-- Few parts, because Postgres sets each up anew at every execution: that took a third of the statement's time.
with seen as materialized (
    -- All that can be known without a lock, as one row. A loser stops here, without a lock, a transaction id or a flush.
    select show.*, mine.nth, mine.seats, mine.repeated, mine.same, mine.kept_long, wanted.taken, wanted.found,
           show.open and show.opened and show.admitted and wanted.free = cardinality($2)
           and mine.seats + cardinality($2) <= $5 and not mine.kept_long and not mine.repeated as allowed
    from (
        select hold_window_s, currency, zone_prices, sales_close_at > clock_timestamp() as open,
               coalesce(sales_open_at <= clock_timestamp(), true) as opened,
               admit_per_minute is null
                   or coalesce(is_admitted($6, sales_open_at, admit_per_minute, clock_timestamp()), false) as admitted
        from shows where id = $1
    ) show
    cross join lateral (
        -- What this visitor holds in this show, by the rule; how many orders there were, to number the next; whether this
        -- attempt, which has the same order id, was here before; and whether the visitor has kept wanted seats from others
        -- for three windows of the last day without buying them: then it is somebody else's turn.
        select coalesce(max(nth), 0) as nth,
               coalesce(sum(cardinality(seat_nos)) filter (
                   where state in ('held', 'paying')
                   and not is_available('locked', locked_at, show.hold_window_s, clock_timestamp())), 0) as seats,
               coalesce(bool_or(id = $4), false) as repeated,
               coalesce(bool_or(id = $4 and seat_nos = $2), false) as same,
               coalesce(sum(held_until(state, state_at, locked_at, window_s, clock_timestamp()) - held_at) filter (
                   where state in ('held', 'paying', 'released') and seat_nos && $2
                   and held_at > clock_timestamp() - interval '1 day')
                   > 3 * show.hold_window_s * interval '1 second', false) as kept_long
        from orders where visitor_id = $3 and show_id = $1
    ) mine
    cross join lateral (
        select count(*) filter (where free) as free,
               array_agg(seat_no) filter (where not free) as taken,
               array_agg(seat_no) as found
        from (select s.seat_no, is_available(s.status, s.locked_at, show.hold_window_s, clock_timestamp()) as free
              from seats s where s.show_id = $1 and s.seat_no = any ($2)) each
    ) wanted
), winner as materialized (
    select clock_timestamp() as locked_at, array_agg(seat_no) as seats, array_agg(price) as prices
    -- In seat order, as everybody locks, and as the prices are kept. After a wait the rule is evaluated again on the newest
    -- version of the row, by the clock after the wait.
    from (
        select s.seat_no, seen.zone_prices[s.zone + 1] as price
        from seen, seats s
        where seen.allowed and s.show_id = $1 and s.seat_no = any ($2)
          and is_available(s.status, s.locked_at, seen.hold_window_s, clock_timestamp())
        order by s.seat_no
        for update of s
    ) locked having count(*) = cardinality($2)
), held as (
    -- Only what was locked. By key, never by ctid: a row that moved while we waited is found again.
    update seats s set status = 'locked', locked_at = winner.locked_at, order_id = $4
    from winner
    where s.show_id = $1 and s.seat_no = any (winner.seats)
    returning s.seat_no
), placed as (
    insert into orders (id, show_id, visitor_id, nth, seat_nos, prices, currency, window_s, held_at, locked_at,
                        state, state_at)
    select $4, $1, $3, seen.nth + 1, $2, winner.prices, seen.currency, seen.hold_window_s, winner.locked_at,
           winner.locked_at, 'held', winner.locked_at
    from winner, seen
), told as (
    insert into order_events (order_id, at, event, actor) select $4, winner.locked_at, 'held', 'visitor' from winner
)
select all_or_none((select count(*) from held), cardinality($2)) as "held!",
       open as "open!", opened as "opened!", admitted as "admitted!", repeated as "repeated!", same as "same!",
       seats as "holding!", kept_long as "kept_long!", taken as "taken?", found as "found?"
from seen
