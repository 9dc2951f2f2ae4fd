-- What moves money is written down before it is sent, so that nothing is sent twice and nothing is forgotten.
-- An outcome that is not known to be a refusal is unknown, and stays so until it is found out.

create table dirsync.refund (
  outer_refund_no   text primary key,
  outer_trade_no    text not null,
  enterprise_code   text not null default '',
  refund_amount     numeric(10, 2) not null check (refund_amount > 0),
  refunded_before   numeric(10, 2) check (refunded_before >= 0),
  state             text not null default 'requested'
                    check (state in ('requested', 'unknown', 'accepted', 'rejected', 'notified')),
  requested_by      text not null,
  sent_at           timestamptz not null default now(),
  settled_at        timestamptz,
  notified_at       timestamptz,
  trade_no          text,
  platform_code     bigint,
  trace_id          text,
  message           jsonb,
  settle_attempts   integer not null default 0,
  next_settle_at    timestamptz,
  left_to_person_at timestamptz,
  resolved_by       text,
  resolution        text,
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

comment on table dirsync.refund is
  'Refunds that dirsync has sent: one row per external refund number, written before it is sent and never '
  'deleted.';
comment on column dirsync.refund.outer_refund_no is 'External refund number; never sent a second time.';
comment on column dirsync.refund.outer_trade_no is 'External trade number of the refunded order.';
comment on column dirsync.refund.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.refund.refund_amount is 'Amount of this refund.';
comment on column dirsync.refund.refunded_before is
  'What the order record said had been refunded of the order before this refund; null: it did not say.';
comment on column dirsync.refund.state is
  'requested: being sent; unknown: sent, perhaps carried out; accepted; rejected: not carried out; '
  'notified: the platform has sent its notification.';
comment on column dirsync.refund.requested_by is 'Database user, and who asked.';
comment on column dirsync.refund.sent_at is
  'When it was written down. It was sent within half a minute of that, or not at all.';
comment on column dirsync.refund.settled_at is 'When its outcome became known.';
comment on column dirsync.refund.notified_at is 'When the platform''s notification was stored.';
comment on column dirsync.refund.trade_no is 'Trade number of the platform.';
comment on column dirsync.refund.platform_code is
  'Error code that the platform answered with. The refund is unknown where the code is not listed as a '
  'refusal of refunds.';
comment on column dirsync.refund.trace_id is
  'x-trace-id of the failed call: name it to the vendor''s support.';
comment on column dirsync.refund.message is
  'What is known about the outcome, without personal data, for dirsync.in_language.';
comment on column dirsync.refund.settle_attempts is 'How often dirsync has asked the order record about it.';
comment on column dirsync.refund.next_settle_at is
  'When to ask the order record again; null: it cannot help, or the outcome is known.';
comment on column dirsync.refund.left_to_person_at is
  'Since when an unknown refund waits for a person, because asking again will not tell; null: the order '
  'record may still tell.';
comment on column dirsync.refund.resolved_by is 'Who decided about an unknown outcome; null: no decision.';
comment on column dirsync.refund.resolution is 'The reason given with that decision.';

create table dirsync.topup (
  external_code       text primary key,
  account_openid      text not null,
  enterprise_code     text not null default '',
  amount              numeric(20, 2) not null check (amount > 0),
  although_open       text[] not null default '{}',
  state               text not null default 'requested'
                      check (state in ('requested', 'unknown', 'accepted', 'rejected')),
  requested_by        text not null,
  sent_at             timestamptz not null default now(),
  settled_at          timestamptz,
  apply_charge_openid text,
  platform_code       bigint,
  trace_id            text,
  message             jsonb,
  resolved_by         text,
  resolution          text,
  check ((state in ('requested', 'unknown')) = (settled_at is null)),
  check ((resolved_by is null) = (resolution is null))
);
-- While a top-up of an account is open, another one must name it to be sent.
create index topup_open on dirsync.topup (account_openid) where state in ('requested', 'unknown');
create index topup_sent_at on dirsync.topup (sent_at);
create index topup_shown on dirsync.topup ((state in ('requested', 'unknown')), sent_at, external_code);
create index topup_state on dirsync.topup (state, sent_at, external_code);

comment on table dirsync.topup is
  'Top-up applications that dirsync has sent: one row per external business number, written before it is '
  'sent and never deleted.';
comment on column dirsync.topup.external_code is 'External business number; never sent a second time.';
comment on column dirsync.topup.account_openid is 'Points account.';
comment on column dirsync.topup.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.topup.amount is 'Amount applied for.';
comment on column dirsync.topup.although_open is
  'External business numbers of open top-ups of the same account that the requester named: this one was '
  'sent all the same.';
comment on column dirsync.topup.state is
  'requested: being sent; unknown: sent, perhaps carried out, a person has to find out; accepted; rejected: '
  'not carried out.';
comment on column dirsync.topup.requested_by is 'Database user, and who asked.';
comment on column dirsync.topup.sent_at is 'When it was written down, just before it was sent.';
comment on column dirsync.topup.settled_at is 'When its outcome became known.';
comment on column dirsync.topup.apply_charge_openid is 'The platform''s open id of the application.';
comment on column dirsync.topup.platform_code is
  'Error code that the platform answered with. The top-up is unknown where the code is not listed as a '
  'refusal of top-ups.';
comment on column dirsync.topup.trace_id is
  'x-trace-id of the failed call: name it to the vendor''s support.';
comment on column dirsync.topup.message is
  'What is known about the outcome, without personal data, for dirsync.in_language.';
comment on column dirsync.topup.resolved_by is 'Who decided about an unknown outcome; null: no decision.';
comment on column dirsync.topup.resolution is 'The reason given with that decision.';

create table dirsync.refused_notification (
  outer_refund_no text primary key,
  reason          text not null check (reason in ('unknown', 'mismatch')),
  first_at        timestamptz not null default now(),
  last_at         timestamptz not null default now(),
  times           integer not null default 1
);
create index refused_notification_last_at on dirsync.refused_notification (last_at);

comment on table dirsync.refused_notification is
  'Signed refund notifications that fit no refund that dirsync sent, one row per refund number. A row goes '
  'when its notification fits after all, or 30 days after the last one.';
comment on column dirsync.refused_notification.outer_refund_no is 'External refund number that it names.';
comment on column dirsync.refused_notification.reason is
  'unknown: dirsync never sent such a refund; mismatch: it is of another order or amount.';
comment on column dirsync.refused_notification.first_at is 'When it first came.';
comment on column dirsync.refused_notification.last_at is
  'When it last came: the platform repeats what is refused.';
comment on column dirsync.refused_notification.times is 'How often it came.';
