create type order_state as enum ('held', 'paying', 'sold', 'released', 'refund_owed', 'refunded');

create table orders (
    -- Derived by the server from the visitor's secret id and the attempt: the same attempt is the same order, without
    -- another index, and nobody else can guess it.
    id uuid primary key,
    show_id uuid not null references shows,
    visitor_id uuid not null,
    -- The visitor's first, second, .. order in this show. Two holds of one visitor that run at the same time compute the
    -- same number; the second one fails on the index and is judged again, so the limit of ten cannot be outrun.
    nth integer not null check (nth > 0),
    -- Ascending and different. What is bought is fixed here when the seats are held: seats, prices, currency.
    seat_nos smallint[] not null check (cardinality(seat_nos) between 1 and 10),
    prices bigint[] not null check (cardinality(prices) = cardinality(seat_nos)),
    currency text not null,
    -- The show's window when the hold was made, or renewed: evidence that it lasts two windows at most. Whether it has
    -- lapsed is judged by the show's window alone, so that seats and orders can never disagree.
    window_s integer not null,
    held_at timestamptz not null,
    -- When the hold began or was renewed; the seats carry the same instant.
    locked_at timestamptz not null check (locked_at >= held_at),
    -- Starting to pay renews a hold once; so a hold lasts two windows at most.
    renewed_at timestamptz check (renewed_at = locked_at),
    state order_state not null,
    state_at timestamptz not null,
    constraint orders_one_at_a_time unique (visitor_id, show_id, nth)
)
-- An order is updated two or three times and its indexed columns never: room for that on its own page.
with (fillfactor = 70);

create table seats (
    show_id uuid not null,
    seat_no smallint not null check (seat_no > 0),
    -- Index into the show's prices; here, so that a hold knows the price without the plan.
    zone smallint not null,
    status seat_status not null,
    locked_at timestamptz,
    -- No foreign key: its check would run once a seat on the hottest path. `matinee prove` verifies what it would.
    order_id uuid,
    primary key (show_id, seat_no),
    -- No status without what it needs, and nothing left over from an earlier one.
    -- Short, because it is evaluated at every write of a seat: an order exactly when it is not available, a time exactly
    -- when it is locked.
    constraint seats_status_is_whole check (
        (status = 'available') = (order_id is null) and (status = 'locked') = (locked_at is not null)
    )
)
-- Measured: at 70 nearly every update stays on its page (HOT) as long as nothing but the key is indexed; at 100 a third.
with (fillfactor = 70);

create table tickets (
    code text primary key check (code ~ '^[0-9A-HJKMNP-TV-Z]{13}$'),
    order_id uuid not null references orders,
    show_id uuid not null references shows,
    seat_no smallint not null,
    issued_at timestamptz not null,
    -- The second guard of the first promise: a seat of a show is sold at most once.
    constraint tickets_one_per_seat unique (show_id, seat_no)
);
create index tickets_by_order on tickets (order_id);
