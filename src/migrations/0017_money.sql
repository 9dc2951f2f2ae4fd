-- Money moves once: what is not known to be refused is unknown, and waits for whoever can find out.

comment on column dirsync.refund.platform_code is
  'Error code that the platform answered with. '
  'The refund is unknown where the code is not listed as a refusal of refunds.';
comment on column dirsync.topup.platform_code is
  'Error code that the platform answered with. '
  'The top-up is unknown where the code is not listed as a refusal of top-ups.';

alter table dirsync.refund add column left_to_person_at timestamptz;
comment on column dirsync.refund.left_to_person_at is
  'Since when an unknown refund waits for a person, because asking again will not tell; '
  'null: the order record may still tell.';
-- The payment orders behind an order that is refunded: they settle it, and its refund asks for them again.
create index payment_order_out_trade_no on dirsync.payment_order (out_trade_no);

-- While a top-up of an account is open, another one is sent only by whoever names it.
alter table dirsync.topup add column although_open text[] not null default '{}';
comment on column dirsync.topup.although_open is
  'External business numbers of open top-ups of the same account, beside which it was wanted all the same.';
create index topup_open on dirsync.topup (account_openid) where state in ('requested', 'unknown');

create or replace view dirsync.failed_syncs as
select *
from (
  select id, enterprise_code, entity, entity_key, operation, nullif(field, '') as field, category,
         platform_code, message, remedy, blocked_by, occurrences, first_failed_at, last_failed_at, state,
         next_retry_at
  from dirsync.dead_letter
  where state not in ('resolved', 'ignored')
  union all
  select null, enterprise_code, 'refund', outer_refund_no, 'send-refund', null, 'outcome_unknown',
         platform_code, coalesce(message, 'whether it was carried out is unknown'),
         case when waits
              then 'Find out from the vendor whether it was carried out, then: dirsync refund resolve '
                   || outer_refund_no || ' --as accepted (or rejected) --reason "…"'
              else 'Nothing yet: the service asks the order record by itself. Now: dirsync refund settle '
                   || outer_refund_no
         end,
         null, 1, sent_at, sent_at, case when waits then 'open' else 'retry_scheduled' end, next_settle_at
  from dirsync.refund,
       lateral (select next_settle_at is null or left_to_person_at is not null as waits) as person
  where state = 'unknown'
  union all
  select null, enterprise_code, 'topup', external_code, 'send-topup', null, 'outcome_unknown',
         platform_code, coalesce(message, 'whether it was carried out is unknown'),
         'See in the platform''s back office whether it is there, then: dirsync topup resolve '
         || external_code || ' --as accepted (or rejected) --reason "…"',
         null, 1, sent_at, sent_at, 'open', null
  from dirsync.topup
  where state = 'unknown'
) as failed
order by state <> 'open', last_failed_at desc, id desc;

comment on view dirsync.failed_syncs is
  'What a reviewer reads first: every case that is neither resolved nor ignored, and every refund and top-up '
  'of unknown outcome, open ones first, the latest on top. Act with dirsync.retry(id), ignore(id, reason), '
  'snooze(id, until, reason). A refund or top-up has no id, for none of these may send money again or hide '
  'that it is missing: its remedy says what to do.';
comment on column dirsync.failed_syncs.id is
  'Number of the case, for retry, ignore and snooze; null for a refund or top-up, see its remedy.';
comment on column dirsync.failed_syncs.entity is 'employee, department, mirror, refund or topup.';
comment on column dirsync.failed_syncs.entity_key is
  'User id, department code, or the mirror: orders, accounts, taxpayers; of a refund its external refund '
  'number, of a top-up its external business number.';
comment on column dirsync.failed_syncs.operation is
  'The job that failed: update-employee, delete-department, bind-openid, mirror-orders, mirror-accounts, '
  'mirror-taxpayers; or send-refund, send-topup.';

comment on column dirsync.payment_order.asked_at is
  'When the order was last asked for by itself: its day has left the window, and something was under way, '
  'or dirsync has refunded it.';
