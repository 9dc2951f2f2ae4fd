-- Who waits for whom: an update of unknown outcome is remembered until an outcome settles it.

alter table dirsync.pending add column sent_unknown boolean not null default false;

comment on column dirsync.pending.sent_unknown is 'True while an earlier execution may have changed the platform without telling: it died, or its answer was lost. The outcome that ends the work releases whoever waits for the employee.';

alter table dirsync.dead_letter add column swap_id bigint;
create index dead_letter_swap_id on dirsync.dead_letter (swap_id) where swap_id is not null;

comment on column dirsync.dead_letter.swap_id is 'Of employees who want each other''s mobile number or e-mail address: the group of their cases, named by the oldest of them. None can go first; see the remedy. A retry of one retries all.';
comment on column dirsync.dead_letter.blocked_by is 'What has to change first: for a duplicate mobile or e-mail address the user id of its holder. The case is retried as soon as that changes.';

create or replace view dirsync.failed_syncs as
select *
from (
  select id, enterprise_code, entity, entity_key, operation, nullif(field, '') as field, category, platform_code,
         message, remedy, blocked_by, occurrences, first_failed_at, last_failed_at, state, next_retry_at,
         swap_id
  from dirsync.dead_letter
  where state not in ('resolved', 'ignored')
  union all
  select null, enterprise_code, 'refund', outer_refund_no, 'send-refund', null, 'outcome_unknown', platform_code,
         coalesce(message, 'whether it was carried out is unknown'),
         case when waits
              then 'Find out from the vendor whether it was carried out, then: dirsync refund resolve '
                   || outer_refund_no || ' --as accepted (or rejected) --reason "…"'
              else 'Nothing yet: the service asks the order record by itself. Now: dirsync refund settle '
                   || outer_refund_no
         end,
         null, 1, sent_at, sent_at, case when waits then 'open' else 'retry_scheduled' end, next_settle_at,
         null::bigint
  from dirsync.refund, lateral (select next_settle_at is null or left_to_person_at is not null as waits) as person
  where state = 'unknown'
  union all
  select null, enterprise_code, 'topup', external_code, 'send-topup', null, 'outcome_unknown', platform_code,
         coalesce(message, 'whether it was carried out is unknown'),
         'See in the platform''s back office whether it is there, then: dirsync topup resolve '
         || external_code || ' --as accepted (or rejected) --reason "…"',
         null, 1, sent_at, sent_at, 'open', null, null
  from dirsync.topup
  where state = 'unknown'
) as failed
order by state <> 'open', last_failed_at desc, id desc;

do $$
declare
  same record;
begin
  for same in
    select v.attname, col_description(t.attrelid, t.attnum) as text
    from pg_attribute v join pg_attribute t on t.attname = v.attname and t.attrelid = 'dirsync.dead_letter'::regclass
    where v.attrelid = 'dirsync.failed_syncs'::regclass and v.attname in ('swap_id', 'blocked_by')
  loop
    execute format('comment on column dirsync.failed_syncs.%I is %L', same.attname, same.text);
  end loop;
end $$;
