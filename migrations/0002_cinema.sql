-- What the cinema is: halls with plans, films, shows. Written by operators, read by everybody.

create table cinema (
    -- One row: a database belongs to one cinema.
    id boolean primary key default true check (id),
    name text not null check (name <> ''),
    -- IANA name, such as Europe/Berlin. Times are stored in UTC and shown in this zone.
    zone text not null check (zone <> ''),
    -- Signs the session cookie, so that every server on this database accepts the others' visitors and a made-up
    -- session id is a stranger without asking the database. 64 random bytes, made once.
    cookie_key bytea not null check (length(cookie_key) >= 64)
);

create table plans (
    id uuid primary key,
    -- The text that domain::plan reads. Never updated: a hall that changes gets a new plan, so that what was sold
    -- stays what it was.
    layout text not null,
    created_at timestamptz not null default clock_timestamp()
);

create function refuse_change() returns trigger language plpgsql as $$
begin
    raise exception '% is immutable: add a new row instead', tg_table_name using errcode = 'MT002';
end
$$;
create trigger plans_are_immutable before update on plans for each row execute function refuse_change();

create table halls (
    id uuid primary key,
    name text not null check (name <> ''),
    -- The plan that the next shows will get; earlier shows keep theirs.
    plan_id uuid not null references plans
);

create table films (
    id uuid primary key,
    title text not null check (title <> ''),
    -- Name of the poster's file without its ending.
    poster text not null check (poster ~ '^[a-z0-9-]+$'),
    runtime_min integer not null check (runtime_min between 1 and 1000),
    genre text not null,
    rating text not null,
    blurb text not null
);

create table shows (
    id uuid primary key,
    film_id uuid not null references films,
    hall_id uuid not null references halls,
    plan_id uuid not null references plans,
    starts_at timestamptz not null,
    -- Data, not a rule of the program: the start plus a grace for trailers, as the operator likes.
    sales_close_at timestamptz not null,
    -- A second to a day; travels with the show into every judgement and into the browser.
    hold_window_s integer not null default 900 check (hold_window_s between 1 and 86400),
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    -- In minor units, by zone in the plan's order.
    zone_prices bigint[] not null check (cardinality(zone_prices) > 0 and 0 <= all (zone_prices))
);

-- What's on reads a day.
create index shows_by_start on shows (starts_at);
