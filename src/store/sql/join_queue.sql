-- join_queue
-- $1 show, $2 visitor, $3 whether a number that the visitor has is given up for a new one.
with unflushed as materialized (select set_config('synchronous_commit', 'off', true)),
counted as (
    insert into queues as mine (show_id, last, early)
    select id, greatest(1, turns_passed(sales_open_at, admit_per_minute, clock_timestamp())),
           (clock_timestamp() < sales_open_at)::int
    from unflushed, shows where id = $1
    on conflict (show_id) do update
    -- By the clock after the wait for the others who come at this moment.
    set (last, early) = (
        select greatest(mine.last + 1, turns_passed(sales_open_at, admit_per_minute, clock_timestamp())),
               mine.early + (clock_timestamp() < sales_open_at)::int
        from shows where id = $1)
    returning last
)
insert into queue_numbers as mine (show_id, visitor_id, number, came_at)
select $1, $2, counted.last, clock_timestamp() from counted
on conflict (show_id, visitor_id) do update set number = excluded.number, came_at = excluded.came_at where $3
