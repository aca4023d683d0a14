-- outbox
-- $1, $2, $3 position (transaction, order, event), $4 most. What follows the position, in the order of transactions. Only
-- below the oldest transaction that still runs: whatever it will commit sorts behind, and is found at a later reading.
select xid::text as "xid!", order_id, event::text as "event!", at, actor::text as "actor!", payment_id, why
from order_events
where (xid, order_id, event) > ($1::text::xid8, $2, $3::text::order_event)
  and xid < pg_snapshot_xmin(pg_current_snapshot())
order by xid, order_id, event
limit $4
