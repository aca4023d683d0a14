-- hold_seats
-- One round trip, all or none. $1 show, $2 seat numbers (different, ascending), $3 visitor, $4 order, $5 most seats,
-- $6 the visitor's place in the show's waiting room, if there is one.
with show as materialized (
    select hold_window_s, currency, zone_prices, sales_close_at > clock_timestamp() as open,
           coalesce(sales_open_at <= clock_timestamp(), true) as opened,
           admit_per_minute is null
               or coalesce(is_admitted($6, sales_open_at, admit_per_minute, clock_timestamp()), false) as admitted
    from shows where id = $1
), mine as materialized (
    -- What this visitor holds in this show, by the rule; how many orders there were, to number the next; whether this
    -- attempt, which has the same order id, was here before; and for how many seconds of the last day the visitor has kept
    -- wanted seats from others without buying them.
    select coalesce(max(nth), 0) as nth,
           coalesce(sum(cardinality(seat_nos)) filter (
               where state in ('held', 'paying')
               and not is_available('locked', locked_at, (select hold_window_s from show), clock_timestamp())), 0) as seats,
           coalesce(bool_or(id = $4), false) as repeated,
           coalesce(bool_or(id = $4 and seat_nos = $2), false) as same,
           coalesce(sum(extract(epoch from held_until(state, state_at, locked_at, window_s, clock_timestamp()) - held_at)) filter (
               where state in ('held', 'paying', 'released') and seat_nos && $2
               and held_at > clock_timestamp() - interval '1 day'), 0) as kept_s
    from orders where visitor_id = $3 and show_id = $1
), precheck as materialized (
    -- A loser stops here, without a lock, a transaction id or a flush.
    select count(*) filter (where free) as free,
           array_agg(seat_no) filter (where not free) as taken,
           array_agg(seat_no) as found
    from (select s.seat_no, is_available(s.status, s.locked_at, show.hold_window_s, clock_timestamp()) as free
          from show, seats s where s.show_id = $1 and s.seat_no = any ($2)) wanted
), allowed as materialized (
    select show.*, mine.nth + 1 as nth from show, precheck, mine
    where show.open and show.opened and show.admitted and precheck.free = cardinality($2) and mine.seats + cardinality($2) <= $5
      and mine.kept_s <= 3 * show.hold_window_s and not mine.repeated
), locked as materialized (
    -- In seat order, as everybody locks. After a wait the rule is evaluated again on the newest version of the row, by
    -- the clock after the wait.
    select s.seat_no, allowed.zone_prices[s.zone + 1] as price
    from allowed, seats s
    where s.show_id = $1 and s.seat_no = any ($2)
      and is_available(s.status, s.locked_at, allowed.hold_window_s, clock_timestamp())
    order by s.seat_no
    for update of s
), winner as materialized (
    select clock_timestamp() as locked_at, array_agg(price order by seat_no) as prices
    from locked having count(*) = cardinality($2)
), held as (
    -- Only what was locked. By key, never by ctid: a row that moved while we waited is found again.
    update seats s set status = 'locked', locked_at = winner.locked_at, order_id = $4
    from winner, locked
    where s.show_id = $1 and s.seat_no = locked.seat_no
    returning s.seat_no
), placed as (
    insert into orders (id, show_id, visitor_id, nth, seat_nos, prices, currency, window_s, held_at, locked_at,
                        state, state_at)
    select $4, $1, $3, allowed.nth, $2, winner.prices, allowed.currency, allowed.hold_window_s, winner.locked_at,
           winner.locked_at, 'held', winner.locked_at
    from winner, allowed
), told as (
    insert into order_events (order_id, at, event, actor) select $4, winner.locked_at, 'held', 'visitor' from winner
)
select all_or_none((select count(*) from held), cardinality($2)) as "held!",
       (select open from show) as "open?",
       (select opened from show) as "opened?",
       (select admitted from show) as "admitted?",
       mine.repeated as "repeated!",
       mine.same as "same!",
       mine.seats as "holding!",
       -- Three windows a day: then it is somebody else's turn.
       coalesce(mine.kept_s > 3 * (select hold_window_s from show), false) as "kept_long!",
       precheck.taken as "taken?",
       precheck.found as "found?"
from precheck, mine
