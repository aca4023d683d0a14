-- hold_seats
-- One round trip, all or none. $1 show, $2 seat numbers (different, ascending), $3 visitor, $4 order, $5 most seats.
with show as materialized (
    select id, hold_window_s, currency, zone_prices, sales_close_at > clock_timestamp() as open
    from shows where id = $1
), repeated as materialized (
    -- The same attempt again: it has the same order id.
    select show_id, seat_nos from orders where id = $4
), mine as materialized (
    -- What this visitor holds in this show, by the rule; and how many orders there were, to number the next.
    select coalesce(max(nth), 0) as nth,
           coalesce(sum(cardinality(seat_nos)) filter (
               where state in ('held', 'paying')
               and not is_available('locked', locked_at, hold_window_s, clock_timestamp())), 0) as seats
    from orders, (select hold_window_s from show) show where visitor_id = $3 and show_id = $1
), wanted as materialized (
    -- The pre-check: a loser stops here, without a lock, a transaction id or a flush.
    select s.seat_no, is_available(s.status, s.locked_at, show.hold_window_s, clock_timestamp()) as free
    from show join seats s on s.show_id = show.id
    where s.show_id = $1 and s.seat_no = any ($2)
), precheck as materialized (
    select count(*) filter (where free) as free,
           coalesce(array_agg(seat_no order by seat_no) filter (where not free), '{}') as taken,
           coalesce(array_agg(seat_no order by seat_no), '{}') as found
    from wanted
), allowed as materialized (
    select show.* from show, precheck, mine
    where show.open and precheck.free = cardinality($2) and mine.seats + cardinality($2) <= $5
      and not exists (select from repeated)
), locked as materialized (
    -- In seat order, as everybody locks. After a wait the rule is evaluated again on the newest version of the row, by
    -- the clock after the wait.
    select s.seat_no, allowed.zone_prices[s.zone + 1] as price
    from allowed join seats s on s.show_id = allowed.id
    where s.show_id = $1 and s.seat_no = any ($2)
      and is_available(s.status, s.locked_at, allowed.hold_window_s, clock_timestamp())
    order by s.seat_no
    for update of s
), winner as materialized (
    select clock_timestamp() as locked_at, array_agg(price order by seat_no) as prices
    from locked having count(*) = cardinality($2)
), held as (
    -- By key, never by ctid: a row that moved while we waited is found again.
    update seats s set status = 'locked', locked_at = winner.locked_at, order_id = $4
    from winner, locked
    where s.show_id = $1 and s.seat_no = locked.seat_no
    returning s.seat_no
), placed as (
    insert into orders (id, show_id, visitor_id, nth, seat_nos, prices, currency, window_s, held_at, locked_at,
                        state, state_at)
    select $4, $1, $3, mine.nth + 1, $2, winner.prices, show.currency, show.hold_window_s, winner.locked_at,
           winner.locked_at, 'held', winner.locked_at
    from winner, show, mine
)
select all_or_none((select count(*) from held), cardinality($2)) as "held!",
       show.open as "open?",
       repeated.show_id as "repeated_show?",
       repeated.seat_nos as "repeated_seats?",
       mine.seats as "holding!",
       precheck.taken as "taken!",
       precheck.found as "found!"
from precheck cross join mine left join show on true left join repeated on true
