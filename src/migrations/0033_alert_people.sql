-- What people need to read times and alerts aright: which deployment, and in which zone its schedules are read.

comment on column dirsync.deployment.name is
  'What people call the deployment, as DEPLOYMENT_NAME says; null: it has no name. Each start writes it.';

alter table dirsync.job_schedule add column time_zone text;
comment on column dirsync.job_schedule.time_zone is
  'Time zone in which the scheduler reads the expression, such as Asia/Shanghai; null: an older version wrote the row.';

alter table dirsync.alert
  add column acknowledged_by text,
  add column acknowledged_at timestamptz,
  add column acknowledged_reason text,
  add check ((acknowledged_by is null) = (acknowledged_at is null));
comment on column dirsync.alert.acknowledged_by is
  'Who takes care of it, so that channels are not told of it again while it goes on; null: no one has said so.';
comment on column dirsync.alert.acknowledged_at is 'When they said so.';
comment on column dirsync.alert.acknowledged_reason is 'What they said; null: nothing.';

alter table dirsync.alert_notice
  drop constraint alert_notice_event_check,
  add constraint alert_notice_event_check
    check (event in ('raised', 'repeated', 'acknowledged', 'recovered', 'withheld'));
comment on column dirsync.alert_notice.event is
  'raised, repeated, acknowledged, recovered; withheld: quiet hours or a mute kept it from the channel.';

create or replace function dirsync.acknowledge_alert(id bigint, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if acknowledge_alert.id is null then
    raise exception 'acknowledge_alert needs the number of an alert' using errcode = '22023',
      hint = 'select dirsync.acknowledge_alert(71, ''we are on it'')';
  end if;
  perform from dirsync.alert a
  where a.id = acknowledge_alert.id and a.state = 'firing' and a.acknowledged_by is null for update;
  if not found then
    return false;
  end if;
  perform dirsync.note_command('acknowledge_alert', null, jsonb_strip_nulls(
    jsonb_build_object('alert', id, 'reason', nullif(btrim(reason), ''))));
  update dirsync.alert a
  set acknowledged_by = dirsync.actor(), acknowledged_at = now(), acknowledged_reason = nullif(btrim(reason), '')
  where a.id = acknowledge_alert.id;
  return true;
end $$;
comment on function dirsync.acknowledge_alert is
  'Says that you take care of an alert: its channels are told so once, and not again until it is over. Returns false '
  'where it is over already, or somebody was first.';
revoke execute on function dirsync.acknowledge_alert(bigint, text) from public;
