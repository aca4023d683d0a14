-- bare_hold
-- The least that holds seats rightly: the pre-check, the ordered lock, the update by key, the guard. No order, no limit of
-- ten, no attempt, no sales cut-off. What these add is the difference between this one's time and the product's.
with show as materialized (
    select hold_window_s from shows where id = $1
), precheck as materialized (
    select count(*) as free from show, seats s
    where s.show_id = $1 and s.seat_no = any ($2)
      and is_available(s.status, s.locked_at, show.hold_window_s, clock_timestamp())
), locked as materialized (
    select s.seat_no from show, seats s
    where (select free from precheck) = cardinality($2) and s.show_id = $1 and s.seat_no = any ($2)
      and is_available(s.status, s.locked_at, show.hold_window_s, clock_timestamp())
    order by s.seat_no
    for update of s
), held as (
    update seats s set status = 'locked', locked_at = clock_timestamp(), order_id = $4
    from locked
    where (select count(*) from locked) = cardinality($2) and s.show_id = $1 and s.seat_no = locked.seat_no
    returning s.seat_no
)
select all_or_none((select count(*) from held), cardinality($2)) as "held!", $3, $5
