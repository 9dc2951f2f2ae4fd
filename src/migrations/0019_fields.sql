-- Values that the platform accepts and does not keep.

alter table dirsync.employee add column overwritten jsonb not null default '{}';
comment on column dirsync.employee.overwritten is 'Per field that was sent, the hash of what the platform showed before; gone once it is seen to hold what was sent. Shown again beside an acknowledged value: not_applied.';
comment on column dirsync.dead_letter.category is 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';
comment on column dirsync.failed_syncs.category is 'Kind of failure: duplicate_mobile, missing_department, invalid_hr_row, not_on_platform, not_applied, left_hr, unknown_payer …';

-- Fields that are switched off: the block of a field is a case of the enterprise.

create table dirsync.field_refusal (
  enterprise_code text not null default '',
  field           text not null,
  userid          text not null,
  value_hash      text not null,
  codes           text[],
  run_id          bigint,
  refused_at      timestamptz not null default now(),
  primary key (enterprise_code, field, userid)
);
comment on table dirsync.field_refusal is 'Refusals that may mean that a field is switched off for everybody: the latest one per field and employee.';
comment on column dirsync.field_refusal.enterprise_code is 'Enterprise; empty for a single enterprise.';
comment on column dirsync.field_refusal.field is 'The field that the platform refused.';
comment on column dirsync.field_refusal.userid is 'Whose value it was.';
comment on column dirsync.field_refusal.value_hash is 'Hash of the value: refusals of different values are about the field.';
comment on column dirsync.field_refusal.codes is 'employee_attribute: the attributeCodes that the value had; else null.';
comment on column dirsync.field_refusal.run_id is 'Run in which it was refused.';
comment on column dirsync.field_refusal.refused_at is 'When.';

alter table dirsync.field_block
  add column codes         jsonb,
  add column message       text not null default '',
  add column probe_userid  text,
  add column probing       boolean not null default false,
  add column probes        integer not null default 0,
  add column next_probe_at timestamptz not null default now();
create index field_block_due on dirsync.field_block (next_probe_at);
comment on table dirsync.field_block is 'Fields that are withheld from an enterprise''s employees because the platform says that they are switched off. One dead letter of entity enterprise stands for each; the block goes when any employee gets the field through.';
comment on column dirsync.field_block.codes is 'employee_attribute: lists of attributeCodes; values that have all of one list are withheld. Null: the field as a whole.';
comment on column dirsync.field_block.message is 'What the platform said.';
comment on column dirsync.field_block.probe_userid is 'Who tries, or tried last, whether the field gets through; the next one in order follows.';
comment on column dirsync.field_block.probing is 'That employee has been asked to try.';
comment on column dirsync.field_block.probes is 'Probes that failed.';
comment on column dirsync.field_block.next_probe_at is 'When it is tried again, whatever a person decided about the dead letter.';

create index dead_letter_enterprise on dirsync.dead_letter (enterprise_code, field) where entity = 'enterprise';
alter table dirsync.dead_letter drop constraint dead_letter_entity_check;
alter table dirsync.dead_letter add constraint dead_letter_entity_check
  check (entity in ('employee', 'department', 'mirror', 'enterprise'));
comment on column dirsync.dead_letter.entity is 'employee, department, mirror, or enterprise: a field that is withheld from all of its employees.';
comment on column dirsync.dead_letter.entity_key is 'User id, department code, the mirror (orders, accounts, taxpayers), or the enterprise code, (single enterprise) where there is none.';
comment on column dirsync.dead_letter.resolution is 'succeeded: a later attempt went through; obsolete: nothing is left to be done; merged: the enterprise''s dead letter about the field stands for it.';
comment on column dirsync.failed_syncs.entity is 'employee, department, mirror, refund, topup, or enterprise: a field that is withheld from all of its employees.';
comment on column dirsync.failed_syncs.entity_key is 'User id, department code, the mirror (orders, accounts, taxpayers), the number of a refund or top-up, or the enterprise code, (single enterprise) where there is none.';

-- Blocks that are in force get their case, and are probed at once: one employee's wrong value made them.
insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field, category, platform_code,
                                 message, remedy, next_retry_at)
select b.enterprise_code, 'enterprise', coalesce(nullif(b.enterprise_code, ''), '(single enterprise)'),
       'update-employee', b.field, 'feature_disabled', b.platform_code,
       'The platform says that this field is switched off.',
       'Switch it on in the enterprise''s back office, or leave the column out of the mapping. Then retry this '
       || 'dead letter.', now()
from dirsync.field_block b;
update dirsync.field_block set message = 'The platform says that this field is switched off.';
insert into dirsync.dead_letter_event (dead_letter_id, event, note)
select id, 'opened', category from dirsync.dead_letter where entity = 'enterprise';
with merged as (
  update dirsync.dead_letter d
  set state = 'resolved', resolution = 'merged', resolved_by = 'dirsync', resolved_at = now(),
      next_retry_at = null, version = d.version + 1
  from dirsync.dead_letter b
  where b.entity = 'enterprise' and d.entity = 'employee' and d.enterprise_code = b.enterprise_code
    and d.operation = 'update-employee' and d.field = b.field and d.category = 'feature_disabled'
    and d.state <> 'resolved'
  returning d.id, d.enterprise_code, d.entity_key, d.field, b.id as into_id
), told as (
  insert into dirsync.dead_letter_event (dead_letter_id, event, note)
  select id, 'resolved', 'merged into dead letter ' || into_id from merged
)
update dirsync.employee e
set withheld = array(select unnest(e.withheld) union select unnest(m.fields) order by 1)
from (select enterprise_code, entity_key, array_agg(field) as fields from merged group by 1, 2) m
where e.enterprise_code = m.enterprise_code and e.userid = m.entity_key;
