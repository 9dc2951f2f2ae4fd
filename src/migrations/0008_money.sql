-- What moves money is written down before it is sent, so that nothing is sent twice and nothing is forgotten.
-- An outcome that is not known to be a refusal is unknown, and stays so until it is found out.

-- Refunds that dirsync has sent: one row per external refund number, written before it is sent and never
-- deleted.
create table dirsync.refund (
  outer_refund_no   text primary key,            -- External refund number; never sent a second time.
  outer_trade_no    text not null,               -- External trade number of the refunded order.
  enterprise_code   text not null default '',    -- Enterprise; empty for a single enterprise.
  -- Amount of this refund.
  refund_amount     numeric(10, 2) not null check (refund_amount > 0),
  -- What the order record said had been refunded of the order before this refund; null: it did not say.
  refunded_before   numeric(10, 2) check (refunded_before >= 0),
  -- requested: being sent; unknown: sent, perhaps carried out; accepted; rejected: not carried out; notified:
  -- the platform has sent its notification.
  state             text not null default 'requested'
                    check (state in ('requested', 'unknown', 'accepted', 'rejected', 'notified')),
  requested_by      text not null,               -- Database user, and who asked.
  -- When it was written down. It was sent within half a minute of that, or not at all.
  sent_at           timestamptz not null default now(),
  settled_at        timestamptz,                 -- When its outcome became known.
  notified_at       timestamptz,                 -- When the platform's notification was stored.
  trade_no          text,                        -- Trade number of the platform.
  -- Error code that the platform answered with. The refund is unknown where the code is not listed as a
  -- refusal of refunds.
  platform_code     bigint,
  -- x-trace-id of the failed call: name it to the vendor's support.
  trace_id          text,
  -- What is known about the outcome, without personal data, for dirsync.in_language.
  message           jsonb,
  settle_attempts   integer not null default 0,  -- How often dirsync has asked the order record about it.
  -- When to ask the order record again; null: it cannot help, or the outcome is known.
  next_settle_at    timestamptz,
  -- Since when an unknown refund waits for a person, because asking again will not tell; null: the order
  -- record may still tell.
  left_to_person_at timestamptz,
  resolved_by       text,                        -- Who decided about an unknown outcome; null: no decision.
  resolution        text,                        -- The reason given with that decision.
  check ((state in ('requested', 'unknown')) = (settled_at is null)),
  check ((state = 'notified') = (notified_at is not null)),
  check ((resolved_by is null) = (resolution is null))
);
-- With two open refunds of one order, it could not be told which one the order record shows.
create unique index refund_open on dirsync.refund (outer_trade_no) where state in ('requested', 'unknown');
create index refund_sent_at on dirsync.refund (sent_at);
create index refund_shown
  on dirsync.refund ((state in ('requested', 'unknown')), sent_at, outer_refund_no);
create index refund_state on dirsync.refund (state, sent_at, outer_refund_no);

-- Top-up applications that dirsync has sent: one row per external business number, written before it is sent
-- and never deleted.
create table dirsync.topup (
  external_code       text primary key,          -- External business number; never sent a second time.
  account_openid      text not null,             -- Points account.
  enterprise_code     text not null default '',  -- Enterprise; empty for a single enterprise.
  -- Amount applied for.
  amount              numeric(20, 2) not null check (amount > 0),
  -- External business numbers of open top-ups of the same account that the requester named: this one was sent
  -- all the same.
  although_open       text[] not null default '{}',
  -- requested: being sent; unknown: sent, perhaps carried out, a person has to find out; accepted; rejected:
  -- not carried out.
  state               text not null default 'requested'
                      check (state in ('requested', 'unknown', 'accepted', 'rejected')),
  requested_by        text not null,             -- Database user, and who asked.
  -- When it was written down, just before it was sent.
  sent_at             timestamptz not null default now(),
  settled_at          timestamptz,               -- When its outcome became known.
  apply_charge_openid text,                      -- The platform's open id of the application.
  -- Error code that the platform answered with. The top-up is unknown where the code is not listed as a
  -- refusal of top-ups.
  platform_code       bigint,
  -- x-trace-id of the failed call: name it to the vendor's support.
  trace_id            text,
  -- What is known about the outcome, without personal data, for dirsync.in_language.
  message             jsonb,
  resolved_by         text,                      -- Who decided about an unknown outcome; null: no decision.
  resolution          text,                      -- The reason given with that decision.
  check ((state in ('requested', 'unknown')) = (settled_at is null)),
  check ((resolved_by is null) = (resolution is null))
);
-- While a top-up of an account is open, another one must name it to be sent.
create index topup_open on dirsync.topup (account_openid) where state in ('requested', 'unknown');
create index topup_sent_at on dirsync.topup (sent_at);
create index topup_shown on dirsync.topup ((state in ('requested', 'unknown')), sent_at, external_code);
create index topup_state on dirsync.topup (state, sent_at, external_code);

-- Signed refund notifications that fit no refund that dirsync sent, one row per refund number. A row goes
-- when its notification fits after all, or 30 days after the last one.
create table dirsync.refused_notification (
  outer_refund_no text primary key,                    -- External refund number that it names.
  -- unknown: dirsync never sent such a refund; mismatch: it is of another order or amount.
  reason          text not null check (reason in ('unknown', 'mismatch')),
  first_at        timestamptz not null default now(),  -- When it first came.
  -- When it last came: the platform repeats what is refused.
  last_at         timestamptz not null default now(),
  times           integer not null default 1           -- How often it came.
);
create index refused_notification_last_at on dirsync.refused_notification (last_at);
