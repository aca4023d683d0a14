-- The outbox's readers, and the mails that one of them sends.

-- A consumer remembers how far it has read order_events: everything up to and with this row.
create table consumers (
    name text primary key,
    xid xid8 not null default '0',
    order_id uuid not null default '00000000-0000-0000-0000-000000000000',
    event order_event not null default 'held',
    -- Whoever reads for this consumer has it to itself until then; a reader that dies is followed by another.
    leased_until timestamptz not null default '-infinity'
);

-- Where the visitor wants the tickets sent, if anywhere.
alter table orders add column email text check (length(email) <= 254);

-- One mail of a kind for an order, whatever is repeated: written before the mail leaves, completed when it has left.
create type mail_kind as enum ('tickets', 'refund');
create table mails (
    order_id uuid not null references orders,
    kind mail_kind not null,
    recipient text not null,
    claimed_at timestamptz not null,
    sent_at timestamptz,
    -- Why the mail server refused it for good.
    refused text,
    primary key (order_id, kind)
);
