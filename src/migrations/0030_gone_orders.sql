-- An order that the platform no longer has keeps its last state, and is marked.

alter table dirsync.payment_order add column gone_at timestamptz;
comment on column dirsync.payment_order.gone_at is
  'Since when the platform has answered that there is no such order; null while it has it.';

comment on column dirsync.dead_letter.field is
  'The field that is held back (bind-openid: the merchant application id; mirror-taxpayers: the identification number; mirror-orders: the day or the order that could not be read, older_orders for all that are asked for one by one); empty: the whole entity.';
-- The views of cases have the table's comments.
do $$
declare
  same record;
begin
  for same in
    select v.attrelid::regclass as view, v.attname, col_description(t.attrelid, t.attnum) as text
    from pg_attribute v
    join pg_attribute t on t.attname = v.attname and t.attrelid = 'dirsync.dead_letter'::regclass
    where v.attrelid in ('dirsync.failure'::regclass, 'dirsync.failed_syncs'::regclass, 'dirsync.failed_syncs_zh'::regclass)
      and v.attname in ('state', 'field')
  loop
    execute format('comment on column %s.%I is %L', same.view, same.attname, same.text);
  end loop;
end $$;

-- The orders to ask for one by one, among all that are over.
create index payment_order_under_way on dirsync.payment_order (enterprise_code, listed_on)
  where status in (2, 4, 5) and gone_at is null;
