-- A payment that waits for the card's holder says where; the order's page leads there.
alter table payments add column action_url text;
-- A message of the gateway about a refund names the charge.
create index payments_by_charge on payments (gateway_reference) where gateway_reference is not null;
