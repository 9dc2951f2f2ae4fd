-- Mirrors: payment orders, limit accounts and taxpayers of the platform, kept here to be read.

-- What a run of a mirror still has to read, in this order, and how far it has come. A worker that takes it up
-- after a crash continues from here.
create table dirsync.mirror_task (
  -- The run.
  run_id          bigint not null references dirsync.sync_run on delete cascade,
  position        integer not null,             -- Order within the run.
  enterprise_code text not null default '',     -- Enterprise to ask for; empty for a single enterprise.
  -- What fails and heals together, as the field of its dead letter: an identification number; older_orders
  -- for orders asked for one by one; otherwise empty.
  part            text not null default '',
  -- orders: a day (yyyy-MM-dd, GMT+8) or the number of one order; taxpayers: the identification number;
  -- accounts: empty.
  entity_key      text not null default '',
  -- orders: day or order; taxpayers: the nature that is asked for; otherwise empty.
  detail          text not null default '',
  next_page       integer not null default 1,   -- The page to read next; those before it are stored.
  -- Counts the passes over the pages. Rows that moved between pages make another one necessary.
  pass            integer not null default 1,
  -- The most rows that the platform counted during the pass. If it counts fewer at the end, some may have
  -- slipped through.
  most            integer not null default 0,
  calls           integer not null default 0,   -- Calls to the platform so far.
  changed         integer not null default 0,   -- Rows written so far because they were new or different.
  attempts        smallint not null default 0,  -- Failed attempts in a row that count.
  -- Earliest moment of the next attempt.
  not_before      timestamptz not null default now(),
  primary key (run_id, position)
);

-- Days of payment orders that were read to the end.
create table dirsync.mirror_day (
  enterprise_code text not null default '',  -- Enterprise; empty for a single enterprise.
  day             date not null,             -- The day, in GMT+8.
  read_at         timestamptz not null,      -- When it was last read to the end.
  primary key (enterprise_code, day)
);

-- Payment orders (section 2.6) as the platform last showed them. The payer's name and the e-commerce detail
-- are not kept.
create table dirsync.payment_order (
  enterprise_code text not null default '',            -- Enterprise; empty for a single enterprise.
  trade_no        text not null,                       -- Payment order number.
  out_trade_no    text,                                -- Business order number.
  -- Who paid: the employee's user id, as in dirsync.employee.
  userid          text,
  subject         text,                                -- What was paid for.
  total_amount    numeric,                             -- Total amount.
  pay_amount      numeric,                             -- Amount actually paid.
  refund_amount   numeric,                             -- Refunded amount.
  -- 1 pending payment; 2 paying; 3 completed; 4 pending refund; 5 refunding; 6 refunded; 7 reversed.
  status          integer,
  -- What was paid with: POINT points; QUOTA quota; CASH cash; THIRD third-party asset.
  asset_code      text,
  created_at      timestamptz,                         -- When the order was made (create_time).
  paid_at         timestamptz,                         -- When it was paid (pay_time).
  refunded_at     timestamptz,                         -- When it was refunded (refund_time).
  -- The day, in GMT+8, under which the platform lists the order.
  listed_on       date,
  -- When dirsync last asked for this order alone: its day has left the window, and something was under way,
  -- or dirsync has refunded it.
  asked_at        timestamptz,
  first_seen_at   timestamptz not null default now(),  -- When dirsync first saw it.
  changed_at      timestamptz not null default now(),  -- When dirsync last saw it change.
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

-- The enterprise's limit accounts (section 2.7) as the platform last showed them.
create table dirsync.limit_account (
  enterprise_code  text not null default '',            -- Enterprise; empty for a single enterprise.
  account_openid   text not null,                       -- Account open id.
  name             text,                                -- Account name.
  -- Product type: 1 welfare quota; 2 staff lunch; 3 staff car use; 4 staff communication; 12 care quota;
  -- others occur.
  product_category integer,
  balance          numeric,                             -- Balance.
  status           integer,                             -- 1 valid; 2 invalid.
  first_seen_at    timestamptz not null default now(),  -- When dirsync first saw it.
  changed_at       timestamptz not null default now(),  -- When dirsync last saw it change.
  -- Since when the platform has not shown it any more; null while it does.
  gone_at          timestamptz,
  primary key (enterprise_code, account_openid)
);

-- Sub-accounts of the limit accounts, from which employees are granted.
create table dirsync.limit_sub_account (
  enterprise_code text not null default '',            -- Enterprise; empty for a single enterprise.
  account_openid  text not null,                       -- The account it belongs to.
  id              text not null,                       -- Sub-account id.
  name            text,                                -- Sub-account name.
  -- 1 valid; 2 invalid. Only valid ones can be granted from.
  status          integer,
  first_seen_at   timestamptz not null default now(),  -- When dirsync first saw it.
  changed_at      timestamptz not null default now(),  -- When dirsync last saw it change.
  -- Since when the platform has not shown it any more; null while it does.
  gone_at         timestamptz,
  primary key (enterprise_code, account_openid, id)
);

-- The enterprise's taxpayers (section 2.11) with the configured identification numbers, as the platform last
-- showed them.
create table dirsync.taxpayer (
  enterprise_code text not null default '',            -- Enterprise; empty for a single enterprise.
  identifier      text not null,                       -- Identification number.
  taxpayer_nature integer not null,                    -- 1 general taxpayer; 2 small-scale taxpayer.
  taxpayer_name   text not null,                       -- Name (title).
  status          integer,                             -- 1 normal; 2 disabled.
  first_seen_at   timestamptz not null default now(),  -- When dirsync first saw it.
  changed_at      timestamptz not null default now(),  -- When dirsync last saw it change.
  -- Since when the platform has not shown it any more; null while it does.
  gone_at         timestamptz,
  primary key (enterprise_code, identifier, taxpayer_nature, taxpayer_name)
);
