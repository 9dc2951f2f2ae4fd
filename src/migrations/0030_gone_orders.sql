-- An order that the platform no longer has keeps its last state, and is marked.

alter table dirsync.payment_order add column gone_at timestamptz;
comment on column dirsync.payment_order.gone_at is
  'Since when the platform has answered that there is no such order; null while it has it.';

comment on column dirsync.dead_letter.field is
  'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: the day or the order that could not be read, older_orders for all that are asked for one by one); empty: the whole entity.';

-- The orders to ask for one by one, among all that are over.
create index payment_order_under_way on dirsync.payment_order (enterprise_code, listed_on)
  where status in (2, 4, 5) and gone_at is null;
