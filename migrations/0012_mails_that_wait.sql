-- A mail that cannot leave waits by itself: the outbox is read on, so that one address never keeps the others waiting.

-- When its order asked for it.
alter table mails add column asked_at timestamptz not null default clock_timestamp();
alter table mails add column tries integer not null default 0;
-- When it is tried again.
alter table mails add column next_try_at timestamptz not null default '-infinity';
-- The mails that have neither left nor been refused for good.
create index mails_open on mails (next_try_at) where sent_at is null and refused is null;
comment on column mails.refused is 'Why it will never leave: the mail server refused it for good, or has put it off for days.';
