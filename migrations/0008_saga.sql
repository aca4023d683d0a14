-- The saga's memory: what happened to each order, and what is to be done with money that could not buy its seats.

-- Every change of an order's state appends its rows here, in the same statement: the order's story for people, and the
-- outbox from which consumers (mails, say) are served.
-- In the order in which they follow each other where one statement tells two.
create type order_event as enum (
    'held', 'released', 'payment_started', 'payment_declined', 'payment_failed', 'payment_captured', 'sold', 'refund_owed',
    'refunded'
);
-- Who made it happen: the visitor's own command, the gateway's message, or whoever looked next and finished what was open.
create type actor as enum ('visitor', 'gateway', 'recovery');

create table order_events (
    -- The writing transaction. Consumers read only below the oldest transaction that is still running, in this order: so an
    -- event that a slow transaction commits late is never skipped. A number from a sequence would be drawn before the
    -- commit, and cost a hold twice as much.
    xid xid8 not null default pg_current_xact_id(),
    order_id uuid not null,
    at timestamptz not null,
    event order_event not null,
    actor actor not null,
    payment_id uuid,
    -- Why, where the event's name does not say it.
    why text,
    primary key (xid, order_id, event)
);
create index order_events_by_order on order_events (order_id);
create trigger order_events_only_grow before update or delete on order_events
    for each row execute function refuse_change();

-- A payment of the two or more that an order may have is the one that bought its tickets.
alter table payments add column bought boolean not null default false;
-- What the gateway says it took: normally what was asked for.
alter table payments add column captured_minor bigint, add column captured_currency text;
-- The card's last four digits, for the receipt; and because the same attempt with another card is another request. No more
-- of a card is ever kept: even a digest of all its digits could be guessed.
alter table payments add column card_ending text check (card_ending ~ '^[0-9]{4}$');
-- Whoever asks the gateway about an open payment, or makes a refund, notes it here first, so that others leave it alone for
-- a while. No lock is kept while the gateway answers.
alter table payments add column asked_at timestamptz;
alter table refunds add column asked_at timestamptz;
update payments p set captured_minor = amount_minor, captured_currency = currency,
                      bought = exists (select from orders o where o.id = p.order_id and o.state = 'sold')
where state = 'captured';
alter table payments add constraint payments_captured_is_whole check (
    (state = 'captured') = (captured_minor is not null) and (state = 'captured') = (captured_currency is not null)
    and (state = 'captured' or not bought)
);

-- Money may be taken twice for an order (two cards, a lost answer); it buys once, and all the rest is given back.
drop index payments_one_capture;
create unique index payments_one_buys on payments (order_id) where bought;

create type refund_reason as enum ('too_late', 'paid_twice', 'given_back', 'wrong_amount');
alter table refunds add column reason refund_reason not null default 'too_late';
alter table refunds alter column reason drop default;
alter table refunds add column currency text;
update refunds r set currency = p.currency from payments p where p.id = r.payment_id;
alter table refunds alter column currency set not null;

-- What nobody expected, with its evidence, for a person to look at. Money in it is either being refunded (then there is a
-- row in refunds) or set aside.
create type incident_kind as enum ('wrong_amount', 'unknown_charge');
create table incidents (
    charge text not null,
    kind incident_kind not null,
    payment_id uuid,
    amount_minor bigint not null,
    currency text not null,
    -- What the gateway said, word for word.
    evidence jsonb not null,
    at timestamptz not null default clock_timestamp(),
    primary key (charge, kind)
);

-- Whether an order is owed other refunds than this one. Volatile, so that it sees what was committed while the caller waited
-- for the order: the caller's own snapshot is older.
create function owes_another_refund(of_order uuid, than uuid) returns boolean language plpgsql volatile as $$
begin
    return exists (select from refunds r join payments p on p.id = r.payment_id
                   where p.order_id = of_order and r.payment_id <> than and r.refunded_at is null);
end
$$;

-- What recovery asks for: payments whose fate is open, and refunds that are owed. Both are few.
create index payments_open on payments (started_at) where state = 'started';
create index refunds_owed on refunds (owed_since) where refunded_at is null;
