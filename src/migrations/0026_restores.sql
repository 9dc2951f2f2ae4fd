-- A database that was restored, or that a replica took over, may remember less than the platform was sent, and let in
-- whom it had shut out.

alter table dirsync.deployment add column incarnation text;
comment on column dirsync.deployment.incarnation is
  'Where this row was written (see dirsync.incarnation). Where it is another one now, the database was restored, copied or '
  'taken over by a replica; null: not known yet.';
alter table dirsync.deployment add column restored_at timestamptz;
comment on column dirsync.deployment.restored_at is
  'When that was last noticed, or doubt_memory was called: refunds and top-ups sent between the backup and then may be missing; '
  'null: never.';

comment on column dirsync.employee.acknowledged_hash is
  'Hash of the HR row of which the platform confirmed every field. Equal to source_hash: the employee is in '
  'sync. Ones: it confirmed some row, but the database was restored since (see dirsync.doubt_memory).';

create index employee_doubted on dirsync.employee (enterprise_code, userid)
  where acknowledged_hash = 'ffffffff-ffff-ffff-ffff-ffffffffffff' and status in ('waiting', 'held');

alter table dirsync.openid_binding add column doubted boolean not null default false;
comment on column dirsync.openid_binding.doubted is
  'The database was restored since, and the account may have been replaced meanwhile: runs of open ids ask for it again, of those in '
  'service whose enterprise has an HR source.';

-- pg_restore makes the table anew, a copied database has another number, another server another identifier, and a replica that
-- takes over or a recovery to a point in time begins a new timeline.
create function dirsync.incarnation() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  server text;
begin
  begin
    server := (select system_identifier from pg_control_system()) || ' '
              || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
  exception when others then
    -- A hosted server may refuse to tell, and a right may be taken away: then it counts as the one that was known.
    server := (select substring(d.incarnation from '^\S+ \S+') from dirsync.deployment d);
  end;
  return concat_ws(' ', coalesce(server, ''), (select oid from pg_database where datname = current_database()),
                   'dirsync.deployment'::regclass::oid);
end $$;
comment on function dirsync.incarnation is
  'Names the life of this database: server, timeline, database and table. A restart keeps it; a restored dump, a copy, a '
  'replica that takes over and a recovery to a point in time do not.';

create function dirsync.doubt_memory() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update dirsync.deployment set restored_at = now(), incarnation = dirsync.incarnation();
  -- In the order in which outcomes lock them.
  perform from dirsync.employee e
  where e.acknowledged_hash is not null or e.acknowledged <> '{}' or e.overwritten <> '{}' or e.queried_at is not null
  order by e.enterprise_code, e.userid for update;
  update dirsync.employee e
  set acknowledged_hash = case when e.acknowledged_hash is not null
                               then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid end,
      acknowledged = '{}', overwritten = '{}',
      -- So that the platform is asked before a department counts as empty.
      queried_at = null
  where e.acknowledged_hash is not null or e.acknowledged <> '{}' or e.overwritten <> '{}' or e.queried_at is not null;
  update dirsync.openid_binding b set doubted = true where not b.doubted;
  -- What was ended or used up since would be good again.
  update dirsync.console_session set revoked_at = now(), id_token = null
  where revoked_at is null and expires_at > now();
  update dirsync.sign_in_link set expires_at = now() where used_at is null and expires_at > now();
  update dirsync.sign_in_key set expires_at = now() where used_at is null and expires_at > now();
  update dirsync.console_user set rebinds_until = null where rebinds_until is not null;
  -- Executions that this database no longer knows may still be under way.
  perform setval('dirsync.execution', nextval('dirsync.execution') + 1000000);
  -- Nor does it know the latest messages: receivers take another one of the same number for a repetition.
  perform setval(messages, nextval(messages) + 1000000)
  from (select pg_get_serial_sequence('dirsync.alert_message', 'id')::regclass as messages) s;
  -- Programs that follow events have had the ones after the backup by these.
  perform setval('dirsync.event_position', nextval('dirsync.event_position') + 1000000);
  perform set_config('dirsync.actor', 'restore', true);
  perform dirsync.resync('full');
end $$;
comment on function dirsync.doubt_memory is
  'For a database that may be older than what was sent: no employee is in sync, and no department empty, until the '
  'platform was asked about them. '
  'Starts the full run that asks. Ends all sessions and sign-in links.';

create function dirsync.was_restored() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  -- Where it was written on a server that did not tell, the rest is compared.
  select exists (select from dirsync.deployment d where dirsync.incarnation() not like '%' || d.incarnation)
$$;
comment on function dirsync.was_restored is
  'Whether the database is not the one that wrote it, and no process has noticed yet.';

create function dirsync.notice_restore() returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  restored boolean;
begin
  if not exists (select from dirsync.deployment d where d.incarnation is distinct from dirsync.incarnation()) then
    return false;
  end if;
  perform from dirsync.deployment d for update;
  restored := dirsync.was_restored();
  update dirsync.deployment set incarnation = dirsync.incarnation();
  if restored then
    perform dirsync.doubt_memory();
  end if;
  return restored;
end $$;
comment on function dirsync.notice_restore is
  'Doubts the memory once where the database is not the one that wrote it. Every process calls it at its start and every few '
  'seconds. Returns whether it was so.';

-- Only the owner may call a function of this schema, and the reviewer where migrate grants it.
revoke execute on all functions in schema dirsync from public;
