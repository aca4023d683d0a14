-- The simulated card processor is a service of its own now, spoken to over HTTP only. These are its books, and only it
-- may read them: no foreign key and no join leads out of this schema.

alter table gateway.charges rename to charges_until_now;
-- Names of indexes belong to the schema, and the new table wants these two.
alter index gateway.charges_pkey rename to charges_until_now_pkey;
alter index gateway.charges_reference_key rename to charges_until_now_reference_key;

-- `processing`: the bank thinks. Whoever waits for the answer is told nothing before it has become another one.
create type gateway.charge_status as enum ('processing', 'requires_action', 'captured', 'declined', 'canceled');

create table gateway.charges (
    id text primary key,
    -- The order of creation, which reconciliation pages by. Times may be equal.
    nth bigint generated always as identity unique,
    -- Not unique: a key may be used anew once it has lapsed.
    idempotency_key text not null,
    amount_minor bigint not null check (amount_minor >= 0),
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    -- All that is kept of a card. Null for charges older than this column.
    last4 text check (last4 ~ '^[0-9]{4}$'),
    status gateway.charge_status not null,
    created_at timestamptz not null default clock_timestamp(),
    -- When the bank will have thought: should the gateway that waits for it die, whoever asks after this decides.
    decides_at timestamptz,
    captured_at timestamptz,
    decline_reason text,
    -- The address of the hosted page; knowing it is the permission to decide.
    action_token text unique,
    return_url text,
    metadata jsonb not null default '{}',
    -- The sum of this charge's refunds, here so that a check can bound it whoever comes at once.
    refunded_minor bigint not null default 0,
    -- How many of the next refunds fail on purpose.
    refund_failures smallint not null default 0 check (refund_failures >= 0),
    constraint charges_refunds_fit check (
        refunded_minor between 0 and case when status = 'captured' then amount_minor else 0 end
    ),
    constraint charges_status_is_whole check (
        (status = 'captured') = (captured_at is not null)
        and (status = 'declined') = (decline_reason is not null)
        and (status <> 'processing' or decides_at is not null)
        and (status <> 'requires_action' or (action_token is not null and return_url is not null))
    )
);
create index charges_by_key on gateway.charges (idempotency_key, nth);

-- Who used an idempotency key. A key lapses 24 hours after its use: a timestamp says so, nothing removes the row.
create table gateway.keys (
    key text primary key,
    -- What was asked with it. Null when nobody charged with it yet, or when nobody wrote down what was asked.
    fingerprint text,
    charge_id text unique references gateway.charges,
    -- How often a charge was tried with it, for the card that fails once.
    tries integer not null default 0,
    used_at timestamptz not null default clock_timestamp(),
    -- Somebody asked what became of it and relies on the answer, so it starts no charge any more; this does not lapse.
    closed_at timestamptz
);

create table gateway.refunds (
    id text primary key,
    charge_id text not null references gateway.charges,
    -- Does not lapse: giving money back a second time is never what was meant.
    idempotency_key text not null constraint refunds_one_per_key unique,
    amount_minor bigint not null check (amount_minor >= 0),
    created_at timestamptz not null default clock_timestamp()
);
create index refunds_by_charge on gateway.refunds (charge_id);

-- What is told to the merchant, written in the transaction of what it tells.
create table gateway.events (
    id text primary key,
    type text not null,
    -- The charge or refund it tells of.
    about text not null,
    -- As it is sent, byte for byte: it is signed.
    body text not null,
    created_at timestamptz not null default clock_timestamp(),
    -- Told only after that one; for the card whose events come in the wrong order.
    after_event text references gateway.events,
    -- How often it will still be told; more than once only for the card whose event comes five times.
    deliveries_left smallint not null default 1 check (deliveries_left >= 0),
    -- Failures in a row.
    tries integer not null default 0,
    -- Also a lease: moved on before the merchant is called, so that no other gateway calls at the same time.
    next_try_at timestamptz not null default clock_timestamp(),
    delivered_at timestamptz
);
create index events_due on gateway.events (next_try_at) where deliveries_left > 0;
create index events_by_subject on gateway.events (about);

-- What an old database has. A charge neither captured nor with a reason was a closed key and no charge at all.
insert into gateway.charges (id, idempotency_key, amount_minor, currency, status, created_at, captured_at, decline_reason,
                             refunded_minor)
select reference, idempotency_key::text, amount_minor, currency,
       case when captured then 'captured' else 'declined' end::gateway.charge_status, created_at,
       case when captured then created_at end, case when not captured then reason end,
       case when captured and refund_reference is not null then amount_minor else 0 end
from gateway.charges_until_now where captured or reason is not null order by created_at, reference;

insert into gateway.keys (key, charge_id, tries, used_at, closed_at)
select o.idempotency_key::text, c.id, 1, o.created_at, case when c.id is null then o.created_at end
from gateway.charges_until_now o left join gateway.charges c on c.id = o.reference;

insert into gateway.refunds (id, charge_id, idempotency_key, amount_minor, created_at)
select refund_reference, reference, idempotency_key::text, amount_minor, coalesce(refunded_at, created_at)
from gateway.charges_until_now where captured and refund_reference is not null;

drop table gateway.charges_until_now;
