alter table dirsync.process add column queue_error text;
comment on column dirsync.process.queue_error is
  'What the latest operation on the queue failed with, while queue_away_since is set; null: nothing.';

-- Mutes of one thing that a rule finds ----------------------------------------

alter table dirsync.alert_mute drop constraint alert_mute_pkey;
alter table dirsync.alert_mute add column subject text;
comment on column dirsync.alert_mute.subject is
  'The subject of the alerts that it keeps back, such as the scope of a halt; null: all of the rule.';
create unique index alert_mute_all on dirsync.alert_mute (rule) where subject is null;
create unique index alert_mute_one on dirsync.alert_mute (rule, subject) where subject is not null;

drop function dirsync.mute_alert(text, timestamptz, text);
create or replace function dirsync.mute_alert(
  rule text, until timestamptz, reason text, subject text default null) returns timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(rule), '') = '' then
    raise exception 'mute_alert needs a rule' using errcode = '22023';
  end if;
  if coalesce(btrim(reason), '') = '' then
    raise exception 'mute_alert needs a reason' using errcode = '22023',
      hint = 'select dirsync.mute_alert(''held_run'', now() + interval ''4 hours'', ''we are on it'')';
  end if;
  if until is null or until <= now() or until > now() + interval '30 days' then
    raise exception 'mute_alert needs a time within the next 30 days' using errcode = '22023';
  end if;
  perform dirsync.note_command('mute_alert', null, jsonb_strip_nulls(
    jsonb_build_object('rule', btrim(rule), 'subject', subject, 'until', until, 'reason', btrim(reason))));
  delete from dirsync.alert_mute m
  where m.rule = btrim(mute_alert.rule) and m.subject is not distinct from mute_alert.subject;
  insert into dirsync.alert_mute (rule, subject, until, reason)
  values (btrim(rule), subject, until, btrim(reason));
  return until;
end $$;
comment on function dirsync.mute_alert is
  'Keeps a rule''s alerts from all channels until a time within 30 days, or those about one subject alone. '
  'Returns the time.';

drop function dirsync.unmute_alert(text);
create or replace function dirsync.unmute_alert(rule text, subject text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from dirsync.alert_mute m
                 where m.rule = unmute_alert.rule and m.subject is not distinct from unmute_alert.subject
                   and m.until > now()) then
    return false;
  end if;
  perform dirsync.note_command('unmute_alert', null,
                               jsonb_strip_nulls(jsonb_build_object('rule', rule, 'subject', subject)));
  delete from dirsync.alert_mute m
  where m.rule = unmute_alert.rule and m.subject is not distinct from unmute_alert.subject;
  return true;
end $$;
comment on function dirsync.unmute_alert is
  'Ends a mute before its time: of a rule, or of one subject of it. Returns whether there was one.';

revoke execute on function
  dirsync.mute_alert(text, timestamptz, text, text),
  dirsync.unmute_alert(text, text)
from public;
