create type payment_state as enum ('started', 'captured', 'declined', 'failed');

create table payments (
    -- Also the gateway's idempotency key.
    id uuid primary key,
    order_id uuid not null references orders,
    attempt uuid not null,
    amount_minor bigint not null check (amount_minor >= 0),
    currency text not null,
    state payment_state not null,
    started_at timestamptz not null,
    settled_at timestamptz,
    -- The gateway's own name for the charge; only for captured ones.
    gateway_reference text,
    -- Why a card was declined, in words for the visitor.
    reason text,
    -- The same attempt sent twice is one payment.
    constraint payments_one_per_attempt unique (order_id, attempt),
    constraint payments_state_is_whole check (
        (state = 'started') = (settled_at is null)
        and (state = 'captured') = (gateway_reference is not null)
        and (state = 'declined') = (reason is not null)
    )
);
-- Money is taken at most once for an order. (A second capture would be an incident, not a second sale.)
create unique index payments_one_capture on payments (order_id) where state = 'captured';

create table refunds (
    -- One refund for a captured payment, however often it is asked for: the key says so.
    payment_id uuid primary key references payments,
    amount_minor bigint not null check (amount_minor >= 0),
    -- The end of the hold that the payment came too late for.
    hold_ended_at timestamptz not null,
    owed_since timestamptz not null,
    refunded_at timestamptz,
    gateway_reference text,
    check ((refunded_at is null) = (gateway_reference is null))
);

-- The simulated card processor's own books. A schema of its own: nothing of Matinee may join it.
create schema gateway;
create table gateway.charges (
    idempotency_key uuid primary key,
    reference text not null unique,
    amount_minor bigint not null,
    currency text not null,
    captured boolean not null,
    reason text,
    created_at timestamptz not null default clock_timestamp(),
    refund_reference text unique,
    refunded_at timestamptz
);
