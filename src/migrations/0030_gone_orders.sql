-- An order that the platform no longer has keeps its last state, and is marked.

alter table dirsync.payment_order add column gone_at timestamptz;
comment on column dirsync.payment_order.gone_at is
  'Since when the platform has answered that there is no such order; null while it has it.';
