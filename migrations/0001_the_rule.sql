-- The one rule, in SQL. Its twin is domain::seat::HoldWindow::is_available; a test evaluates both over every status and
-- boundary instant. Everything that asks whether a seat is free calls one of the two.

create type seat_status as enum ('available', 'locked', 'booked');

-- Immutable and in plain SQL, so that the planner can inline it: the caller passes the clock.
-- Seconds, not an interval column: an interval may hide months and days, whose length depends on the calendar.
create function is_available(status seat_status, locked_at timestamptz, hold_window_s integer, now timestamptz)
returns boolean
language sql immutable parallel safe
return status = 'available'
    or (status = 'locked' and now - locked_at > hold_window_s * interval '1 second');

-- The guard of all-or-none: a statement that would keep a part of its seats fails instead, and so rolls back as a whole.
-- Its own SQLSTATE, so that it is never mistaken for anything else.
create function all_or_none(done bigint, wanted bigint)
returns boolean
language plpgsql immutable
as $$
begin
    if done <> 0 and done <> wanted then
        raise exception 'all or none: % of % seats', done, wanted using errcode = 'MT001';
    end if;
    return done = wanted;
end
$$;
