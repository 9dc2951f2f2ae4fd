-- Mirrors: payment orders, limit accounts and taxpayers of the platform, kept here to be read.

create table dirsync.mirror_task (
  run_id          bigint not null references dirsync.sync_run on delete cascade,
  position        integer not null,
  enterprise_code text not null default '',
  part            text not null default '',
  entity_key      text not null default '',
  detail          text not null default '',
  next_page       integer not null default 1,
  pass            integer not null default 1,
  most            integer not null default 0,
  calls           integer not null default 0,
  changed         integer not null default 0,
  attempts        smallint not null default 0,
  not_before      timestamptz not null default now(),
  primary key (run_id, position)
);

comment on table dirsync.mirror_task is
  'What a run of a mirror still has to read, in this order, and how far it has come. A worker that takes it '
  'up after a crash continues from here.';
comment on column dirsync.mirror_task.run_id is 'The run.';
comment on column dirsync.mirror_task.position is 'Order within the run.';
comment on column dirsync.mirror_task.enterprise_code is
  'Enterprise to ask for; empty for a single enterprise.';
comment on column dirsync.mirror_task.part is
  'What fails and heals together, as the field of its dead letter: an identification number; older_orders '
  'for orders asked for one by one; otherwise empty.';
comment on column dirsync.mirror_task.entity_key is
  'orders: a day (yyyy-MM-dd, GMT+8) or the number of one order; taxpayers: the identification number; '
  'accounts: empty.';
comment on column dirsync.mirror_task.detail is
  'orders: day or order; taxpayers: the nature that is asked for; otherwise empty.';
comment on column dirsync.mirror_task.next_page is 'The page to read next; those before it are stored.';
comment on column dirsync.mirror_task.pass is
  'Counts the passes over the pages. Rows that moved between pages make another one necessary.';
comment on column dirsync.mirror_task.most is
  'The most rows that the platform counted during the pass. If it counts fewer at the end, some may have '
  'slipped through.';
comment on column dirsync.mirror_task.calls is 'Calls to the platform so far.';
comment on column dirsync.mirror_task.changed is 'Rows written so far because they were new or different.';
comment on column dirsync.mirror_task.attempts is 'Failed attempts in a row that count.';
comment on column dirsync.mirror_task.not_before is 'Earliest moment of the next attempt.';

create table dirsync.mirror_day (
  enterprise_code text not null default '',
  day             date not null,
  read_at         timestamptz not null,
  primary key (enterprise_code, day)
);

comment on table dirsync.mirror_day is 'Days of payment orders that were read to the end.';
comment on column dirsync.mirror_day.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.mirror_day.day is 'The day, in GMT+8.';
comment on column dirsync.mirror_day.read_at is 'When it was last read to the end.';

create table dirsync.payment_order (
  enterprise_code text not null default '',
  trade_no        text not null,
  out_trade_no    text,
  userid          text,
  subject         text,
  total_amount    numeric,
  pay_amount      numeric,
  refund_amount   numeric,
  status          integer,
  asset_code      text,
  created_at      timestamptz,
  paid_at         timestamptz,
  refunded_at     timestamptz,
  listed_on       date,
  asked_at        timestamptz,
  first_seen_at   timestamptz not null default now(),
  changed_at      timestamptz not null default now(),
  primary key (enterprise_code, trade_no)
);
create index payment_order_userid on dirsync.payment_order (enterprise_code, userid, created_at desc);
create index payment_order_listed_on on dirsync.payment_order (listed_on, enterprise_code);
-- The payment orders behind an order that is refunded: they settle it, and its refund asks for them again.
create index payment_order_out_trade_no on dirsync.payment_order (out_trade_no);
-- Payment orders, refunds and top-ups page by page.
create index payment_order_latest
  on dirsync.payment_order (coalesce(created_at, first_seen_at), enterprise_code, trade_no);
create index payment_order_status
  on dirsync.payment_order (status, coalesce(created_at, first_seen_at), enterprise_code, trade_no);
create index payment_order_trade_no on dirsync.payment_order (trade_no collate "C");

comment on table dirsync.payment_order is
  'Payment orders (section 2.6) as the platform last showed them. The payer''s name and the e-commerce '
  'detail are not kept.';
comment on column dirsync.payment_order.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.payment_order.trade_no is 'Payment order number.';
comment on column dirsync.payment_order.out_trade_no is 'Business order number.';
comment on column dirsync.payment_order.userid is
  'Who paid: the employee''s user id, as in dirsync.employee.';
comment on column dirsync.payment_order.subject is 'What was paid for.';
comment on column dirsync.payment_order.total_amount is 'Total amount.';
comment on column dirsync.payment_order.pay_amount is 'Amount actually paid.';
comment on column dirsync.payment_order.refund_amount is 'Refunded amount.';
comment on column dirsync.payment_order.status is
  '1 pending payment; 2 paying; 3 completed; 4 pending refund; 5 refunding; 6 refunded; 7 reversed.';
comment on column dirsync.payment_order.asset_code is
  'What was paid with: POINT points; QUOTA quota; CASH cash; THIRD third-party asset.';
comment on column dirsync.payment_order.created_at is 'When the order was made (create_time).';
comment on column dirsync.payment_order.paid_at is 'When it was paid (pay_time).';
comment on column dirsync.payment_order.refunded_at is 'When it was refunded (refund_time).';
comment on column dirsync.payment_order.listed_on is
  'The day, in GMT+8, under which the platform lists the order.';
comment on column dirsync.payment_order.asked_at is
  'When dirsync last asked for this order alone: its day has left the window, and something was under way, '
  'or dirsync has refunded it.';
comment on column dirsync.payment_order.first_seen_at is 'When dirsync first saw it.';
comment on column dirsync.payment_order.changed_at is 'When dirsync last saw it change.';

create table dirsync.limit_account (
  enterprise_code  text not null default '',
  account_openid   text not null,
  name             text,
  product_category integer,
  balance          numeric,
  status           integer,
  first_seen_at    timestamptz not null default now(),
  changed_at       timestamptz not null default now(),
  gone_at          timestamptz,
  primary key (enterprise_code, account_openid)
);

comment on table dirsync.limit_account is
  'The enterprise''s limit accounts (section 2.7) as the platform last showed them.';
comment on column dirsync.limit_account.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.limit_account.account_openid is 'Account open id.';
comment on column dirsync.limit_account.name is 'Account name.';
comment on column dirsync.limit_account.product_category is
  'Product type: 1 welfare quota; 2 staff lunch; 3 staff car use; 4 staff communication; 12 care quota; '
  'others occur.';
comment on column dirsync.limit_account.balance is 'Balance.';
comment on column dirsync.limit_account.status is '1 valid; 2 invalid.';
comment on column dirsync.limit_account.first_seen_at is 'When dirsync first saw it.';
comment on column dirsync.limit_account.changed_at is 'When dirsync last saw it change.';
comment on column dirsync.limit_account.gone_at is
  'Since when the platform has not shown it any more; null while it does.';

create table dirsync.limit_sub_account (
  enterprise_code text not null default '',
  account_openid  text not null,
  id              text not null,
  name            text,
  status          integer,
  first_seen_at   timestamptz not null default now(),
  changed_at      timestamptz not null default now(),
  gone_at         timestamptz,
  primary key (enterprise_code, account_openid, id)
);

comment on table dirsync.limit_sub_account is
  'Sub-accounts of the limit accounts, from which employees are granted.';
comment on column dirsync.limit_sub_account.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.limit_sub_account.account_openid is 'The account it belongs to.';
comment on column dirsync.limit_sub_account.id is 'Sub-account id.';
comment on column dirsync.limit_sub_account.name is 'Sub-account name.';
comment on column dirsync.limit_sub_account.status is
  '1 valid; 2 invalid. Only valid ones can be granted from.';
comment on column dirsync.limit_sub_account.first_seen_at is 'When dirsync first saw it.';
comment on column dirsync.limit_sub_account.changed_at is 'When dirsync last saw it change.';
comment on column dirsync.limit_sub_account.gone_at is
  'Since when the platform has not shown it any more; null while it does.';

create table dirsync.taxpayer (
  enterprise_code text not null default '',
  identifier      text not null,
  taxpayer_nature integer not null,
  taxpayer_name   text not null,
  status          integer,
  first_seen_at   timestamptz not null default now(),
  changed_at      timestamptz not null default now(),
  gone_at         timestamptz,
  primary key (enterprise_code, identifier, taxpayer_nature, taxpayer_name)
);

comment on table dirsync.taxpayer is
  'The enterprise''s taxpayers (section 2.11) with the configured identification numbers, as the platform '
  'last showed them.';
comment on column dirsync.taxpayer.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.taxpayer.identifier is 'Identification number.';
comment on column dirsync.taxpayer.taxpayer_nature is '1 general taxpayer; 2 small-scale taxpayer.';
comment on column dirsync.taxpayer.taxpayer_name is 'Name (title).';
comment on column dirsync.taxpayer.status is '1 normal; 2 disabled.';
comment on column dirsync.taxpayer.first_seen_at is 'When dirsync first saw it.';
comment on column dirsync.taxpayer.changed_at is 'When dirsync last saw it change.';
comment on column dirsync.taxpayer.gone_at is
  'Since when the platform has not shown it any more; null while it does.';
