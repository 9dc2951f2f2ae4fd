-- An employee whom the platform confirmed once more, with nothing new, is not written for 15 days: the attempt tells.

comment on column dirsync.employee.acknowledged_at is
  'When the platform last confirmed anything of which this row had to be written. Later confirmations of the same, for 15 '
  'days, are attempts: see dirsync.confirmed_at.';
comment on column dirsync.employee.queried_at is
  'When the platform last answered about the employee, or refused to, or it was seen that it cannot be asked, and this row had '
  'to be written for it; see acknowledged_at. Null: never, or not since the database was restored or HR lost the enterprise.';

create function dirsync.confirmed_at(employee dirsync.employee) returns timestamptz
language sql stable as $$
  -- Attempts outlast a switch of the account. The new one has confirmed nothing before it confirmed something new.
  select case when employee.acknowledged_at is not null then greatest(
    employee.acknowledged_at,
    (select a.started_at from dirsync.attempt a
     where a.enterprise_code = employee.enterprise_code and a.entity_key = employee.userid
       and a.operation = 'update-employee' and a.outcome = 'in_sync'
     order by a.id desc limit 1)) end
$$;
comment on function dirsync.confirmed_at is
  'When the platform last confirmed anything of this employee: select userid, dirsync.confirmed_at(e) from dirsync.employee e. '
  'Where that was more than 30 days ago, the time may be up to 15 days too early.';

-- When HR's files were last delivered --------------------------------------------------------------

-- The latest delivery of each HR source of files, for the alert files_overdue.
create table dirsync.hr_delivery (
  -- Name of the source; empty where there is only one HR system.
  source  text primary key,
  stamp   text not null,                      -- Identifies its latest complete delivery.
  since   timestamptz not null default now(), -- When a run first read it.
  read_at timestamptz not null default now()  -- When one last did.
);

-- When an alert grew beyond what was acknowledged ---------------------------------------------------

alter table dirsync.alert add column grew_at timestamptz;
comment on column dirsync.alert.grew_at is
  'When there was last more of it than someone had acknowledged, so that channels are told again; null: never.';
comment on function dirsync.acknowledge_alert is
  'Says that you take care of an alert: its channels are told so once, and not again until it is over, or a further refund '
  'or top-up comes to it. Returns false if it is over already, or another person was first.';

-- Where each process has the queue -------------------------------------------------------------------

alter table dirsync.process add column queue_address text;
comment on column dirsync.process.queue_address is
  'Where the process has the queue, without user and password; PostgreSQL: in this database. Null: it is of an earlier version. '
  'A worker on another queue than the scheduler''s gets no work.';

alter table dirsync.process add column secret_print text;
comment on column dirsync.process.secret_print is
  '32 bits of a key derived from the platform''s application secret and id, to tell different secrets apart; null: it is of an '
  'earlier version.';

alter table dirsync.process add column oidc_issuer text;
comment on column dirsync.process.oidc_issuer is
  'OIDC_ISSUER of its console; null: none is set, it has no console, or is of an earlier version.';

alter table dirsync.process
  add column aside_for text check (aside_for in ('secret', 'unreachable')),
  add column asked_at  timestamptz;
comment on column dirsync.process.aside_for is
  'Why the process leaves all work to others while any works: secret, the platform refuses its application secret; '
  'unreachable, it cannot reach the platform. Null: it works.';
comment on column dirsync.process.asked_at is
  'When a process that stands aside last asked the platform whether that is over.';

-- What counts of a row whose employee has left -----------------------------------------------------

-- Nothing but that, from now on: all such rows have one hash (src/directory/hash.ts). Otherwise the first plan would take everyone who
-- left long ago for leaving now.
do $$
declare
  gone constant uuid := '360f8403-5942-243c-6a36-537ae2f86734';
  -- No row has this hash: the next plan looks at them anew.
  anew constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  update dirsync.planned_work w set previous_hash = gone
  from dirsync.sync_run r, dirsync.employee e
  where r.id = w.run_id and r.finished_at is null and w.operation = 'update-employee'
    and e.enterprise_code = w.enterprise_code and e.userid = w.entity_key
    and not e.active and e.source_hash = w.previous_hash and e.source_hash <> anew;
  update dirsync.planned_work w set source_hash = gone
  from dirsync.sync_run r
  where r.id = w.run_id and r.finished_at is null and w.operation = 'update-employee'
    and not w.active and w.source_hash is not null;
  update dirsync.dead_letter d set source_hash = gone
  from dirsync.employee e
  where e.enterprise_code = d.enterprise_code and e.userid = d.entity_key and d.entity = 'employee'
    and not e.active and e.source_hash = d.source_hash and d.state <> 'resolved';
  update dirsync.employee set held_hash = gone where held_gone and held_hash is not null;
  update dirsync.employee
  set source_hash = gone,
      acknowledged_hash = case when acknowledged_hash = source_hash then gone else acknowledged_hash end,
      parked_hash = case when parked_hash = source_hash then gone else parked_hash end
  where not active and source_hash <> anew;
end $$;

revoke execute on all functions in schema dirsync from public;
