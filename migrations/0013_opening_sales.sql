-- Opening sales, waiting rooms before them, and a limit for those who keep seats from others.

alter table shows
    -- Nobody can hold before. Null: on sale.
    add column sales_open_at timestamptz,
    -- How many who wait are let in a minute, from the opening on. Null: everybody; there is no waiting room.
    add column admit_per_minute integer check (admit_per_minute between 1 and 1000000),
    add constraint shows_waiting_room_has_an_opening check (admit_per_minute is null or sales_open_at is not null);

-- Whether a place is let in: domain::queue has the same, and a test evaluates both. For 15 minutes from its turn on.
create function is_admitted(place bigint, opens_at timestamptz, per_minute integer, now timestamptz) returns boolean
language sql immutable parallel safe as $$
    select now >= opens_at + ((place * 60000000 + per_minute - 1) / per_minute) * interval '1 microsecond'
       and now < opens_at + ((place * 60000000 + per_minute - 1) / per_minute) * interval '1 microsecond' + interval '15 minutes'
$$;

-- How many turns have begun: negative before the opening.
create function turns_passed(opens_at timestamptz, per_minute integer, now timestamptz) returns bigint
language sql immutable parallel safe as $$
    select floor(extract(epoch from now - opens_at) * per_minute / 60)::bigint
$$;

-- The numbers that a show's waiting room has given.
create table queues (
    show_id uuid primary key references shows,
    last bigint not null,
    -- How many came before the opening; stands still from then on, so that whoever computes a place computes the same.
    early bigint not null,
    constraint queues_early_are_among_those_who_came check (early between 0 and last)
)
-- Updated once for everybody who comes.
with (fillfactor = 10);

create table queue_numbers (
    show_id uuid not null,
    visitor_id uuid not null,
    -- In the order of coming, with gaps after the opening for turns that nobody waited for. Not unique: after a crash of the
    -- database the last few may be given again.
    number bigint not null check (number > 0),
    came_at timestamptz not null,
    primary key (show_id, visitor_id)
);

-- Until when an order that was not paid kept its seats from others, as far as that has come.
create function held_until(state order_state, state_at timestamptz, locked_at timestamptz, window_s integer, now timestamptz)
returns timestamptz language sql immutable parallel safe as $$
    select case when state = 'released' then state_at else least(locked_at + window_s * interval '1 second', now) end
$$;
