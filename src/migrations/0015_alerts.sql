-- Alerts: what is wrong now, who was told of it on which channel, and what people do not want to hear.

create table dirsync.alert (
  id                  bigint generated always as identity primary key,
  rule                text not null,
  subject             text not null default '',
  severity            text not null check (severity in ('info', 'warning', 'critical')),
  state               text not null default 'pending' check (state in ('pending', 'firing', 'ended')),
  facts               jsonb not null default '{}',
  since               timestamptz not null,
  raised_at           timestamptz,
  gone_at             timestamptz,
  ended_at            timestamptz,
  acknowledged_by     text,
  acknowledged_at     timestamptz,
  acknowledged_reason text,
  returns             integer not null default 0 check (returns >= 0),
  check ((state = 'pending') = (raised_at is null)),
  check ((state = 'ended') = (ended_at is not null)),
  check ((acknowledged_by is null) = (acknowledged_at is null))
);
create unique index alert_standing on dirsync.alert (rule, subject) where state <> 'ended';
create index alert_ended_at on dirsync.alert (ended_at desc, id desc) where state = 'ended';

comment on table dirsync.alert is
  'What a rule found wrong: one row per rule and subject from the moment it holds until it is over. One '
  'that is gone before it was raised leaves no row. Kept for 180 days.';
comment on column dirsync.alert.id is 'Number of the alert.';
comment on column dirsync.alert.rule is 'Name of the rule, such as halt.';
comment on column dirsync.alert.subject is
  'What it is about, where a rule may find several things: scope of a halt, number or kind of a run, '
  'category, role, channel. Names no person.';
comment on column dirsync.alert.severity is 'info, warning or critical.';
comment on column dirsync.alert.state is
  'pending: not yet for as long as its rule wants; firing: raised; ended: over.';
comment on column dirsync.alert.facts is 'Figures and names for its text, as the latest check saw them.';
comment on column dirsync.alert.since is 'Since when it holds.';
comment on column dirsync.alert.raised_at is 'When it was raised; null: it is pending.';
comment on column dirsync.alert.gone_at is
  'When a check first found that it holds no more; null: it holds. It is over once it has been gone for '
  'a minute, so that one that comes and goes is one alert.';
comment on column dirsync.alert.ended_at is 'When it was over, which is when it was gone.';
comment on column dirsync.alert.acknowledged_by is
  'Who takes care of it, so that channels are not told of it again while it goes on; null: no one has said '
  'so.';
comment on column dirsync.alert.acknowledged_at is 'When they said so.';
comment on column dirsync.alert.acknowledged_reason is 'What they said; null: nothing.';
comment on column dirsync.alert.returns is
  'How often it came back within 15 minutes of being gone; more than 0: it is over only once it has been '
  'gone for as long.';

create table dirsync.alert_message (
  id           bigint generated always as identity primary key,
  channel      text not null,
  kind         text not null check (kind in ('alerts', 'summary')),
  content      jsonb not null,
  created_at   timestamptz not null default now(),
  state        text not null default 'waiting' check (state in ('waiting', 'sent', 'given_up')),
  attempts     integer not null default 0,
  not_before   timestamptz not null default now(),
  leased_until timestamptz,
  sent_at      timestamptz,
  answer       text,
  check ((state = 'sent') = (sent_at is not null))
);
-- While a message waits, whatever else happens goes into it.
create unique index alert_message_waiting on dirsync.alert_message (channel) where state = 'waiting';
create index alert_message_sent_at on dirsync.alert_message (channel, sent_at) where state = 'sent';
create index alert_message_created_at on dirsync.alert_message (created_at);

comment on table dirsync.alert_message is
  'Messages to channels, written before they are sent: if a process dies, another one sends its messages. '
  'At most one per channel waits; unless it is being sent, it is kept up to date. Kept for 30 days.';
comment on column dirsync.alert_message.id is
  'Number of the message; receivers may know a repeated one by it.';
comment on column dirsync.alert_message.channel is 'Name of the channel.';
comment on column dirsync.alert_message.kind is
  'alerts: what was raised, goes on or is over; summary: the channel has had its messages for this hour.';
comment on column dirsync.alert_message.content is 'What it says, in the channel''s language.';
comment on column dirsync.alert_message.created_at is 'When it was decided upon.';
comment on column dirsync.alert_message.state is 'waiting, sent, or given_up after a day of failures.';
comment on column dirsync.alert_message.attempts is 'How often it was tried.';
comment on column dirsync.alert_message.not_before is 'When to try (again).';
comment on column dirsync.alert_message.leased_until is
  'Until when a process may be sending it; null: none is.';
comment on column dirsync.alert_message.sent_at is 'When the channel took it.';
comment on column dirsync.alert_message.answer is
  'What the channel''s server answered last, cut short and without secrets.';

create table dirsync.alert_notice (
  alert_id   bigint not null references dirsync.alert on delete cascade,
  channel    text not null,
  event      text not null check (event in ('raised', 'repeated', 'acknowledged', 'recovered', 'withheld')),
  at         timestamptz not null default now(),
  message_id bigint references dirsync.alert_message on delete set null
);
create index alert_notice_alert on dirsync.alert_notice (alert_id, channel, at);
create index alert_notice_message on dirsync.alert_notice (message_id) where message_id is not null;

comment on table dirsync.alert_notice is 'Which channel was told what about an alert, and when.';
comment on column dirsync.alert_notice.alert_id is 'The alert.';
comment on column dirsync.alert_notice.channel is 'Name of the channel.';
comment on column dirsync.alert_notice.event is
  'raised, repeated, acknowledged, recovered; withheld: quiet hours or a mute kept it from the channel.';
comment on column dirsync.alert_notice.at is 'When that was decided.';
comment on column dirsync.alert_notice.message_id is
  'The message that says it; null where it was withheld, or the message is older than 30 days.';

create table dirsync.alert_channel (
  name          text primary key,
  kind          text not null,
  target        text not null,
  least         text not null check (least in ('info', 'warning', 'critical')),
  language      text not null,
  seen_at       timestamptz not null,
  last_sent_at  timestamptz,
  failing_since timestamptz,
  last_answer   text
);

comment on table dirsync.alert_channel is
  'The channels that the settings name, as the latest check knew them, and whether they work.';
comment on column dirsync.alert_channel.name is 'Name, from ALERT_CHANNEL_<NAME>, in lower case.';
comment on column dirsync.alert_channel.kind is 'mail, dingtalk, wecom, feishu, slack or webhook.';
comment on column dirsync.alert_channel.target is
  'Where messages go, without secrets: host, or mail addresses.';
comment on column dirsync.alert_channel.least is 'Alerts of a lesser severity are not sent there.';
comment on column dirsync.alert_channel.language is 'Language of its messages.';
comment on column dirsync.alert_channel.seen_at is 'When a process last had it among its settings.';
comment on column dirsync.alert_channel.last_sent_at is 'When it last took a message.';
comment on column dirsync.alert_channel.failing_since is 'Since when every message fails; null: none does.';
comment on column dirsync.alert_channel.last_answer is 'What its server answered last, without secrets.';

create table dirsync.alert_mute (
  rule     text not null,
  until    timestamptz not null,
  reason   text not null,
  muted_by text not null default dirsync.actor(),
  muted_at timestamptz not null default now(),
  subject  text
);
create unique index alert_mute_all on dirsync.alert_mute (rule) where subject is null;
create unique index alert_mute_one on dirsync.alert_mute (rule, subject) where subject is not null;

comment on table dirsync.alert_mute is
  'Rules whose alerts are sent to no channel for a time; they are still checked.';
comment on column dirsync.alert_mute.rule is 'Name of the rule.';
comment on column dirsync.alert_mute.until is 'When it may be heard again.';
comment on column dirsync.alert_mute.reason is 'Why.';
comment on column dirsync.alert_mute.muted_by is 'Who.';
comment on column dirsync.alert_mute.muted_at is 'When.';
comment on column dirsync.alert_mute.subject is
  'The subject of the alerts that it keeps back, such as the scope of a halt; null: all of the rule.';

create table dirsync.quiet_hours (
  one       boolean primary key default true check (one),
  starts    time not null,
  ends      time not null check (ends <> starts),
  time_zone text not null,
  set_by    text not null default dirsync.actor(),
  set_at    timestamptz not null default now()
);

comment on table dirsync.quiet_hours is
  'The hours of each day in which only critical alerts are sent; no row: there are none.';
comment on column dirsync.quiet_hours.one is 'There is one row at most.';
comment on column dirsync.quiet_hours.starts is 'First minute, in time_zone.';
comment on column dirsync.quiet_hours.ends is
  'The minute in which they are over; before starts: on the next day.';
comment on column dirsync.quiet_hours.time_zone is 'IANA name of a time zone, such as Asia/Shanghai.';
comment on column dirsync.quiet_hours.set_by is 'Who.';
comment on column dirsync.quiet_hours.set_at is 'When.';

create table dirsync.alert_judgement (
  one           boolean primary key default true check (one),
  judged_at     timestamptz not null,
  judged_by     uuid not null,
  watched_since timestamptz not null default now()
);

comment on table dirsync.alert_judgement is
  'When the rules were last checked. The process that updates it does the check: one at a time.';
comment on column dirsync.alert_judgement.one is 'There is one row at most.';
comment on column dirsync.alert_judgement.judged_at is 'When.';
comment on column dirsync.alert_judgement.judged_by is 'The process (dirsync.process) that did.';
comment on column dirsync.alert_judgement.watched_since is
  'Since when rules have been checked without a break: the first check after three minutes without one.';

create table dirsync.heartbeat_call (
  one          boolean primary key default true check (one),
  run_id       bigint not null,
  called_at    timestamptz,
  attempts     integer not null default 0,
  not_before   timestamptz not null default now(),
  leased_until timestamptz,
  answer       text
);

comment on table dirsync.heartbeat_call is
  'The latest good run that HEARTBEAT_URL was told of: a monitor elsewhere that misses the call raises its '
  'alarm.';
comment on column dirsync.heartbeat_call.one is 'There is one row at most.';
comment on column dirsync.heartbeat_call.run_id is 'The run.';
comment on column dirsync.heartbeat_call.called_at is 'When the monitor took it; null: not yet.';
comment on column dirsync.heartbeat_call.attempts is 'How often it was tried.';
comment on column dirsync.heartbeat_call.not_before is 'When to try (again).';
comment on column dirsync.heartbeat_call.leased_until is
  'Until when a process may be calling it; null: none is.';
comment on column dirsync.heartbeat_call.answer is 'What the monitor answered last.';

-- What people ask for ---------------------------------------------------------

create function dirsync.acknowledge_alert(id bigint, reason text default null) returns boolean
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
  set acknowledged_by = dirsync.actor(), acknowledged_at = now(),
      acknowledged_reason = nullif(btrim(reason), '')
  where a.id = acknowledge_alert.id;
  return true;
end $$;
comment on function dirsync.acknowledge_alert is
  'Says that you take care of an alert: its channels are told so once, and not again until it is over. '
  'Returns false if it is over already, or another person was first.';

create function dirsync.mute_alert(
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

create function dirsync.unmute_alert(rule text, subject text default null) returns boolean
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

create function dirsync.set_quiet_hours(starts time, ends time, time_zone text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if starts is null or ends is null or starts = ends then
    raise exception 'quiet hours need a beginning and another end' using errcode = '22023',
      hint = 'select dirsync.set_quiet_hours(''22:00'', ''07:00'', ''Asia/Shanghai'')';
  end if;
  if not exists (select from pg_timezone_names z where z.name = time_zone) then
    raise exception 'there is no time zone %', coalesce(time_zone, 'null') using errcode = '22023';
  end if;
  perform dirsync.note_command('set_quiet_hours', null,
    jsonb_build_object('starts', starts, 'ends', ends, 'time_zone', time_zone));
  insert into dirsync.quiet_hours as q (starts, ends, time_zone) values (starts, ends, time_zone)
  on conflict on constraint quiet_hours_pkey do update
  set (starts, ends, time_zone, set_by, set_at)
    = (excluded.starts, excluded.ends, excluded.time_zone, excluded.set_by, now());
end $$;
comment on function dirsync.set_quiet_hours is
  'Sends only critical alerts in these hours of each day. What still holds at their end is told then.';

create function dirsync.clear_quiet_hours() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from dirsync.quiet_hours) then
    return false;
  end if;
  perform dirsync.note_command('clear_quiet_hours', null, '{}');
  delete from dirsync.quiet_hours;
  return true;
end $$;
comment on function dirsync.clear_quiet_hours is 'Ends quiet hours for good. Returns whether there were any.';

create function dirsync.is_quiet(at timestamptz) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(
    (select case when q.starts < q.ends then l.clock >= q.starts and l.clock < q.ends
                 else l.clock >= q.starts or l.clock < q.ends end
     from dirsync.quiet_hours q
     cross join lateral (select (at at time zone q.time_zone)::time as clock) l),
    false)
$$;
comment on function dirsync.is_quiet is
  'Whether a moment falls into the quiet hours, by the clocks of their time zone.';
