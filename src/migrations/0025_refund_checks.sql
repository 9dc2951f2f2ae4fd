-- What each check of an order record found about a refund whose outcome was unknown, or that was accepted; and before
-- them, as said.when_sent, what its call failed with. Checks that follow each other and
-- found the same are one row. Checks from before this table have none.
create table dirsync.refund_check (
  id              bigint generated always as identity primary key,  -- Number of the row.
  outer_refund_no text not null references dirsync.refund on delete cascade,  -- The refund.
  first_at        timestamptz not null default now(),  -- When it was found first.
  last_at         timestamptz not null default now(),  -- When it was found last.
  times           integer not null default 1,          -- How many checks in a row found it.
  -- What the order record showed, or why it could not be read, for dirsync.in_language.
  message         jsonb not null
);
create index refund_check_of on dirsync.refund_check (outer_refund_no, id);

-- What was called rejected, and was carried out after all, or perhaps, for the alert money_contradicted.
alter table dirsync.refund add column contradicted_at timestamptz;
comment on column dirsync.refund.contradicted_at is
  'When the platform said that the refund was carried out although it had been called rejected. Of one that is called rejected: when more of its order was shown refunded than the other refunds make, or when the platform answered so although it had been called accepted (then settled_at is the same). Null: none of these.';
alter table dirsync.topup add column contradicted_at timestamptz;
comment on column dirsync.topup.contradicted_at is
  'When the platform said that the top-up was carried out although it had been called rejected, or the other way round; null: neither.';
create index refund_contradicted_at on dirsync.refund (contradicted_at) where contradicted_at is not null;
-- What the platform has accepted is completed later: nothing is sent for a refund that fails then.
alter table dirsync.refund add column shown_at timestamptz;
comment on column dirsync.refund.shown_at is
  'When the order record, or the mirror, was first seen to show this accepted refund; null: neither was, or its notification came.';
-- Those of before were not looked for, and nobody is to be told of all of them.
update dirsync.refund set shown_at = settled_at where state = 'accepted' and sent_at < now() - interval '7 days';
create index refund_unshown on dirsync.refund (sent_at)
  where state = 'accepted' and shown_at is null and resolved_by is null;
-- Those that may yet turn out to be carried out are compared with the mirror.
create index refund_may_still_come on dirsync.refund (outer_trade_no)
  where state = 'rejected' and (resolved_by is not null or platform_code is null or settle_attempts > 0);
create index topup_contradicted_at on dirsync.topup (contradicted_at) where contradicted_at is not null;

-- What was sent for an order or account, and what the platform answered under a trace id.
create index refund_trace_id on dirsync.refund (left(trace_id, 200));
create index topup_trace_id on dirsync.topup (left(trace_id, 200));
create index refund_outer_trade_no on dirsync.refund (outer_trade_no);
create index topup_account on dirsync.topup (account_openid);

-- The latest outcomes: pages that show money are fresh by them.
create index refund_settled_at on dirsync.refund (settled_at);
create index refund_notified_at on dirsync.refund (notified_at);
create index topup_settled_at on dirsync.topup (settled_at);
-- And what was notified with another order or amount, among all that other systems refund.
create index refused_notification_mismatch on dirsync.refused_notification (last_at) where reason = 'mismatch';
