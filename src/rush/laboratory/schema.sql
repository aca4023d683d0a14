-- The laboratory's tables, in a schema of their own. Seats are as narrow as the product's; what each strategy needs beside
-- them is here for all, so that every row has the same width.
create table seats (
    show_no integer not null,
    seat_no smallint not null,
    status seat_status not null default 'available',
    locked_at timestamptz,
    order_id uuid,
    -- For `optimistic`: counts the changes of the row.
    version bigint not null default 0,
    -- For `redis-lock`: the newest lock that was seen.
    fence bigint not null default 0,
    primary key (show_no, seat_no)
) with (fillfactor = 70);

-- What was sold. Without the unique constraint that the product has as its second guard: a strategy must stand alone.
-- Unnumbered places have no seat.
create table tickets (
    show_no integer not null,
    seat_no smallint,
    order_id uuid not null
);

-- For `unique`: a row is a hold or a sale; a free seat has none.
create table holds (
    show_no integer not null,
    seat_no smallint not null,
    order_id uuid not null,
    locked_at timestamptz not null,
    sold boolean not null default false,
    primary key (show_no, seat_no)
) with (fillfactor = 70);

-- For `counter`: how many places are left, and who has the others.
create table stocks (
    show_no integer primary key,
    stock integer not null
) with (fillfactor = 50);
create table places (
    order_id uuid primary key,
    show_no integer not null,
    places integer not null,
    locked_at timestamptz not null,
    sold boolean not null default false
);
create index on places (show_no, locked_at) where not sold;

-- For `document`: a whole show in one value.
create table documents (
    show_no integer primary key,
    version bigint not null default 0,
    seats jsonb not null
) with (fillfactor = 50);
